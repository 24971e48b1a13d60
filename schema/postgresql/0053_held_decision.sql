-- What the queue file of a held message says, as root has read it, and what an admin has decided about the
-- message, until root has done it: only root may read and change Postfix's queue.
ALTER TABLE held ADD COLUMN id text COLLATE "C" NOT NULL DEFAULT '';
UPDATE held SET id = gen_random_uuid()::text;
CREATE UNIQUE INDEX held_id ON held (id);
ALTER TABLE held ADD COLUMN read_us bigint NOT NULL DEFAULT 0;
ALTER TABLE held ADD COLUMN sender text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE held ADD COLUMN recipients text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE held ADD COLUMN subject text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE held ADD COLUMN header text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE held ADD COLUMN size bigint NOT NULL DEFAULT 0;
ALTER TABLE held ADD COLUMN decision text COLLATE "C"
	CHECK (decision IN ('recheck', 'release', 'drop'));
ALTER TABLE held ADD COLUMN decided_us bigint NOT NULL DEFAULT 0;
-- what came of the last decision that left it where it is
ALTER TABLE held ADD COLUMN answer text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX held_open ON held (seq) WHERE decision IS NOT NULL OR read_us = 0;
CREATE INDEX held_decided ON held (decided_us) WHERE decision IS NOT NULL;
