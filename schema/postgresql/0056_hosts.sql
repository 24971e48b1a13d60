-- Several hosts share one database. `host` is the name of a host (core/db/db.h, db_host()): '' where there is
-- only one, as with SQLite, and in rows of the time before.

-- The programs of each host, with their heartbeats.
CREATE TABLE host_part (
	host text COLLATE "C" NOT NULL,
	-- httpd, milter, events, webhook
	part text COLLATE "C" NOT NULL,
	version text COLLATE "C" NOT NULL,
	-- its first heartbeat ever, the first since its start, and the last one
	first_us bigint NOT NULL,
	started_us bigint NOT NULL,
	seen_us bigint NOT NULL,
	-- grows with each heartbeat, so that nobody has to compare the clocks of two hosts
	beat bigint NOT NULL,
	-- how often another host has taken over its outbox
	taken bigint NOT NULL DEFAULT 0,
	-- what is wrong with it, in words; '': nothing
	problem text COLLATE "C" NOT NULL,
	PRIMARY KEY (host, part)
);

-- The host that submits the email, or whose milter has recorded it; its Postfix has the queue id.
ALTER TABLE email ADD COLUMN host text COLLATE "C" NOT NULL DEFAULT '';

-- The host that has the email in its outbox.
ALTER TABLE outbox ADD COLUMN host text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX outbox_of_host ON outbox (host, email) WHERE host <> '';
CREATE INDEX outbox_due_of_host ON outbox (host, due_us, email) WHERE due_us > 0;
CREATE INDEX outbox_due_of_turn ON outbox (host, company_id, due_us, email) WHERE due_us > 0;

ALTER TABLE outbox_turn ADD COLUMN host text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE outbox_turn ALTER COLUMN host DROP DEFAULT;
ALTER TABLE outbox_turn DROP CONSTRAINT outbox_turn_pkey;
ALTER TABLE outbox_turn ADD PRIMARY KEY (host, company_id);
DROP INDEX outbox_turn_next;
CREATE INDEX outbox_turn_next ON outbox_turn (host, turn_us);

CREATE OR REPLACE FUNCTION outbox_waits() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
BEGIN
	INSERT INTO outbox_turn (host, company_id, turn_us)
		VALUES (new.host, new.company_id, new.due_us)
		ON CONFLICT (host, company_id)
		DO UPDATE SET turn_us = greatest(excluded.turn_us, outbox_turn.served_us)
		WHERE greatest(excluded.turn_us, outbox_turn.served_us) < outbox_turn.turn_us;
	RETURN NULL;
END
	$$;
DROP TRIGGER outbox_waits_again ON outbox;
CREATE TRIGGER outbox_waits_again AFTER UPDATE OF due_us, host ON outbox
	FOR EACH ROW WHEN (new.due_us > 0) EXECUTE FUNCTION outbox_waits();

ALTER TABLE outbox_break ADD COLUMN host text COLLATE "C" NOT NULL DEFAULT '';

-- What belongs to the Postfix of one host: its hold queue, its log, its settings.
ALTER TABLE held ADD COLUMN host text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE held DROP CONSTRAINT held_queue_id_key;
ALTER TABLE held ADD UNIQUE (queue_id, host);

ALTER TABLE log_cursor ADD COLUMN host text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE log_cursor DROP CONSTRAINT log_cursor_pkey;
ALTER TABLE log_cursor ADD PRIMARY KEY (host, source);

ALTER TABLE gap ADD COLUMN host text COLLATE "C" NOT NULL DEFAULT '';
DROP INDEX gap_open;
CREATE INDEX gap_open ON gap (host, source, why, seq) WHERE repaired_us = 0;

ALTER TABLE probe ADD COLUMN host text COLLATE "C" NOT NULL DEFAULT '';

DROP TABLE postfix_notes;
CREATE TABLE postfix_notes (
	host text COLLATE "C" NOT NULL PRIMARY KEY,
	reloaded_us bigint NOT NULL,
	taken_us bigint NOT NULL -- the queue manager has taken a message
);

DROP TABLE later_refusal;
CREATE TABLE later_refusal (
	host text COLLATE "C" NOT NULL,
	queue_id text COLLATE "C" NOT NULL,
	refused_us bigint NOT NULL,
	-- what the refusal said
	text text COLLATE "C" NOT NULL,
	PRIMARY KEY (host, queue_id)
);
CREATE INDEX later_refusal_by_time ON later_refusal (refused_us);
