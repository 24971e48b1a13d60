-- What becomes of an email for each of its recipients, as Postfix's log tells.

-- Besides `queued`, `state` is a word of core/store/store_fate.c. What was said
-- last, and by whom:
ALTER TABLE email_recipient ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE email_recipient ADD COLUMN changed_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE email_recipient ADD COLUMN relay TEXT;
ALTER TABLE email_recipient ADD COLUMN dsn TEXT;
ALTER TABLE email_recipient ADD COLUMN text TEXT;

-- Nobody has read the log of what was sent before this.
UPDATE email_recipient SET state = 'unknown' WHERE state IS NOT NULL
	AND email IN (SELECT seq FROM email WHERE state = 'sent');

CREATE INDEX email_by_queue_id ON email (queue_id, decided_us)
	WHERE queue_id IS NOT NULL;
-- Those of which more is to come; one leaves it with its last recipient.
CREATE INDEX email_open ON email (decided_us)
	WHERE last_event IN ('sent', 'delivery_delayed');

-- The messages in Postfix's queue that carry an email: the one that the milter
-- has seen, and those that an alias, a content filter or a requeue made of it.
-- Postfix uses short ids again, so the time belongs to the name.
CREATE TABLE hop (
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
	PRIMARY KEY (queue_id, since_us)
) STRICT, WITHOUT ROWID;

CREATE INDEX hop_by_email ON hop (email);

-- Facts, in the order of being recorded: seq and recorded_us only rise, also
-- when the newest rows are removed.
CREATE TABLE event (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	-- a hash of what was said: the same fact is stored once, whatever source
	-- tells of it, and however often. It is the event's public id as well.
	key BLOB NOT NULL UNIQUE CHECK (length(key) = 16),
	email INTEGER NOT NULL REFERENCES email (seq) ON DELETE CASCADE,
	n INTEGER NOT NULL,
	-- the email's
	domain TEXT NOT NULL,
	kind TEXT NOT NULL,
	-- of how many so far
	attempt INTEGER NOT NULL,
	occurred_us INTEGER NOT NULL,
	recorded_us INTEGER NOT NULL,
	-- where an alias led; NULL: the recipient itself
	address TEXT,
	relay TEXT,
	dsn TEXT,
	text TEXT,
	source TEXT NOT NULL CHECK (source IN ('log', 'queue', 'dsn', 'report'))
) STRICT;

CREATE INDEX event_by_email ON event (email);
CREATE INDEX event_by_domain ON event (domain, recorded_us);

-- Where postern-events goes on reading.
CREATE TABLE log_cursor (
	source TEXT NOT NULL PRIMARY KEY,
	position TEXT NOT NULL,
	changed_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Times of which lines may be missing.
CREATE TABLE gap (
	seq INTEGER PRIMARY KEY,
	source TEXT NOT NULL,
	why TEXT NOT NULL,
	from_us INTEGER NOT NULL,
	to_us INTEGER NOT NULL,
	count INTEGER NOT NULL,
	-- when the queue was compared after it; 0: not yet
	repaired_us INTEGER NOT NULL DEFAULT 0
) STRICT;
