-- Several hosts share one database. `host` is the name of a host (core/db/db.h, db_host()): '' where there is
-- only one, as with SQLite, and in rows of the time before.

-- The programs of each host, with their heartbeats.
CREATE TABLE host_part (
	host TEXT NOT NULL,
	-- httpd, milter, events, webhook
	part TEXT NOT NULL,
	version TEXT NOT NULL,
	-- its first heartbeat ever, the first since its start, and the last one
	first_us INTEGER NOT NULL,
	started_us INTEGER NOT NULL,
	seen_us INTEGER NOT NULL,
	-- grows with each heartbeat, so that nobody has to compare the clocks of two hosts
	beat INTEGER NOT NULL,
	-- how often another host has taken over its outbox
	taken INTEGER NOT NULL DEFAULT 0,
	-- what is wrong with it, in words; '': nothing
	problem TEXT NOT NULL,
	PRIMARY KEY (host, part)
) STRICT, WITHOUT ROWID;

-- The host that submits the email, or whose milter has recorded it; its Postfix has the queue id.
ALTER TABLE email ADD COLUMN host TEXT NOT NULL DEFAULT '';

-- The host that has the email in its outbox.
ALTER TABLE outbox ADD COLUMN host TEXT NOT NULL DEFAULT '';
CREATE INDEX outbox_of_host ON outbox (host) WHERE host <> '';
CREATE INDEX outbox_due_of_host ON outbox (host, due_us) WHERE due_us > 0;
CREATE INDEX outbox_due_of_turn ON outbox (host, company_id, due_us) WHERE due_us > 0;

DROP TRIGGER outbox_waits;
DROP TRIGGER outbox_waits_again;
DROP TABLE outbox_turn;
CREATE TABLE outbox_turn (
	host TEXT NOT NULL,
	company_id TEXT NOT NULL,
	-- when it has its next turn: no later than the first of its emails is due, but
	-- behind those who were due when it had its last one
	turn_us INTEGER NOT NULL,
	-- when that was
	served_us INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (host, company_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_turn_next ON outbox_turn (host, turn_us);

INSERT INTO outbox_turn (host, company_id, turn_us)
	SELECT host, company_id, min(due_us) FROM outbox WHERE due_us > 0 GROUP BY host, company_id;

CREATE TRIGGER outbox_waits AFTER INSERT ON outbox WHEN new.due_us > 0 BEGIN
	INSERT INTO outbox_turn (host, company_id, turn_us)
		VALUES (new.host, new.company_id, new.due_us)
		ON CONFLICT DO UPDATE SET turn_us = max(excluded.turn_us, served_us)
		WHERE max(excluded.turn_us, served_us) < turn_us;
END;
CREATE TRIGGER outbox_waits_again AFTER UPDATE OF due_us, host ON outbox WHEN new.due_us > 0 BEGIN
	INSERT INTO outbox_turn (host, company_id, turn_us)
		VALUES (new.host, new.company_id, new.due_us)
		ON CONFLICT DO UPDATE SET turn_us = max(excluded.turn_us, served_us)
		WHERE max(excluded.turn_us, served_us) < turn_us;
END;

ALTER TABLE outbox_break ADD COLUMN host TEXT NOT NULL DEFAULT '';

-- What belongs to the Postfix of one host: its hold queue, its log, its settings.
ALTER TABLE held RENAME TO old_held;
DROP INDEX held_id;
DROP INDEX held_open;
DROP INDEX held_decided;
CREATE TABLE held (
	seq INTEGER PRIMARY KEY,
	queue_id TEXT NOT NULL,
	held_us INTEGER NOT NULL,
	reason TEXT NOT NULL,
	domain TEXT NOT NULL,
	header_from TEXT NOT NULL,
	id TEXT NOT NULL DEFAULT '',
	read_us INTEGER NOT NULL DEFAULT 0,
	sender TEXT NOT NULL DEFAULT '',
	recipients TEXT NOT NULL DEFAULT '',
	subject TEXT NOT NULL DEFAULT '',
	header TEXT NOT NULL DEFAULT '',
	size INTEGER NOT NULL DEFAULT 0,
	decision TEXT CHECK (decision IN ('recheck', 'release', 'drop')),
	decided_us INTEGER NOT NULL DEFAULT 0,
	-- what came of the last decision that left it where it is
	answer TEXT NOT NULL DEFAULT '',
	host TEXT NOT NULL DEFAULT '',
	UNIQUE (queue_id, host)
) STRICT;
INSERT INTO held (seq, queue_id, held_us, reason, domain, header_from, id, read_us, sender, recipients, subject,
		header, size, decision, decided_us, answer)
	SELECT seq, queue_id, held_us, reason, domain, header_from, id, read_us, sender, recipients, subject,
		header, size, decision, decided_us, answer
	FROM old_held;
DROP TABLE old_held;
CREATE UNIQUE INDEX held_id ON held (id);
CREATE INDEX held_open ON held (seq) WHERE decision IS NOT NULL OR read_us = 0;
CREATE INDEX held_decided ON held (decided_us) WHERE decision IS NOT NULL;

ALTER TABLE log_cursor RENAME TO old_log_cursor;
CREATE TABLE log_cursor (
	host TEXT NOT NULL DEFAULT '',
	source TEXT NOT NULL,
	position TEXT NOT NULL,
	changed_us INTEGER NOT NULL,
	end_us INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (host, source)
) STRICT, WITHOUT ROWID;
INSERT INTO log_cursor (source, position, changed_us, end_us)
	SELECT source, position, changed_us, end_us FROM old_log_cursor;
DROP TABLE old_log_cursor;

ALTER TABLE gap ADD COLUMN host TEXT NOT NULL DEFAULT '';
DROP INDEX gap_open;
CREATE INDEX gap_open ON gap (host, source, why) WHERE repaired_us = 0;

ALTER TABLE probe ADD COLUMN host TEXT NOT NULL DEFAULT '';

DROP TABLE postfix_notes;
CREATE TABLE postfix_notes (
	host TEXT NOT NULL PRIMARY KEY,
	reloaded_us INTEGER NOT NULL,
	taken_us INTEGER NOT NULL -- the queue manager has taken a message
) STRICT, WITHOUT ROWID;

DROP TABLE later_refusal;
CREATE TABLE later_refusal (
	host TEXT NOT NULL,
	queue_id TEXT NOT NULL,
	refused_us INTEGER NOT NULL,
	-- what the refusal said
	text TEXT NOT NULL,
	PRIMARY KEY (host, queue_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX later_refusal_by_time ON later_refusal (refused_us);
