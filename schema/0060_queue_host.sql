-- Queue ids are unique on their host alone, and the log tells times to the second: messages of two hosts may have
-- both in common.
ALTER TABLE queue_message RENAME TO old_queue_message;
DROP INDEX hop_by_email;
CREATE TABLE queue_message (
	host TEXT NOT NULL DEFAULT '',
	queue_id TEXT NOT NULL,
	since_us INTEGER NOT NULL,
	email INTEGER NOT NULL REFERENCES email (seq) ON DELETE CASCADE,
	-- all that is said of it concerns this recipient; NULL: its addresses tell
	n INTEGER,
	-- the queue id of the message that it came from
	parent TEXT,
	how TEXT NOT NULL CHECK (how IN
		('milter', 'forwarded', 'queued_as', 'orig_id', 'message_id')),
	-- when it left the queue; 0: not yet
	closed_us INTEGER NOT NULL DEFAULT 0,
	ended TEXT,
	ended_us INTEGER NOT NULL DEFAULT 0,
	recipients INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (queue_id, since_us, host)
) STRICT, WITHOUT ROWID;
INSERT INTO queue_message (queue_id, since_us, email, n, parent, how, closed_us, ended, ended_us, recipients)
	SELECT queue_id, since_us, email, n, parent, how, closed_us, ended, ended_us, recipients
	FROM old_queue_message;
DROP TABLE old_queue_message;
CREATE INDEX queue_message_by_email ON queue_message (email);

ALTER TABLE ticket_message RENAME TO old_ticket_message;
DROP INDEX ticket_message_by_end;
DROP INDEX ticket_message_by_email;
CREATE TABLE ticket_message (
	host TEXT NOT NULL DEFAULT '',
	queue_id TEXT NOT NULL,
	since_us INTEGER NOT NULL,
	email INTEGER NOT NULL REFERENCES email (seq) ON DELETE CASCADE,
	-- left: it left as it was; expired: it was in the queue for too long;
	-- NULL: neither is known
	ended TEXT,
	ended_us INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (queue_id, since_us, host)
) STRICT, WITHOUT ROWID;
INSERT INTO ticket_message (queue_id, since_us, email, ended, ended_us)
	SELECT queue_id, since_us, email, ended, ended_us
	FROM old_ticket_message;
DROP TABLE old_ticket_message;
CREATE INDEX ticket_message_by_end ON ticket_message (ended, ended_us)
	WHERE ended IS NOT NULL;
CREATE INDEX ticket_message_by_email ON ticket_message (email);
