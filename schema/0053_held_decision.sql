-- What the queue file of a held message says, as root has read it, and what an admin has decided about the
-- message, until root has done it: only root may read and change Postfix's queue.
ALTER TABLE held ADD COLUMN id TEXT NOT NULL DEFAULT '';
UPDATE held SET id = lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2)
	|| '-8' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)));
CREATE UNIQUE INDEX held_id ON held (id);
ALTER TABLE held ADD COLUMN read_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE held ADD COLUMN sender TEXT NOT NULL DEFAULT '';
ALTER TABLE held ADD COLUMN recipients TEXT NOT NULL DEFAULT '';
ALTER TABLE held ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE held ADD COLUMN header TEXT NOT NULL DEFAULT '';
ALTER TABLE held ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE held ADD COLUMN decision TEXT CHECK (decision IN ('recheck', 'release', 'drop'));
ALTER TABLE held ADD COLUMN decided_us INTEGER NOT NULL DEFAULT 0;
-- what came of the last decision that left it where it is
ALTER TABLE held ADD COLUMN answer TEXT NOT NULL DEFAULT '';
CREATE INDEX held_open ON held (seq) WHERE decision IS NOT NULL OR read_us = 0;
CREATE INDEX held_decided ON held (decided_us) WHERE decision IS NOT NULL;
