-- Events are stored by the thousand: an index of random keys would touch a page
-- for each of them, and AUTOINCREMENT and words that are checked cost as much as
-- the row. The key is unique within its email, whose events lie together.
CREATE TABLE event_new (
	seq INTEGER PRIMARY KEY,
	-- a hash of what was said: the same fact is stored once, whatever source
	-- tells of it, and however often. It is the event's public id as well.
	key BLOB NOT NULL,
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
	-- log, queue, dsn, report
	source TEXT NOT NULL,
	UNIQUE (email, key)
) STRICT;

INSERT INTO event_new (seq, key, email, n, domain, kind, attempt, occurred_us,
		recorded_us, address, relay, dsn, text, source)
	SELECT seq, key, email, n, domain, kind, attempt, occurred_us,
		recorded_us, address, relay, dsn, text, source FROM event;

-- The highest that there were: both only rise, also when the newest rows are
-- removed. One row.
CREATE TABLE event_last (
	seq INTEGER NOT NULL,
	recorded_us INTEGER NOT NULL
) STRICT;

INSERT INTO event_last (seq, recorded_us)
	SELECT max(coalesce((SELECT seq FROM sqlite_sequence
			WHERE name = 'event'), 0), coalesce(max(seq), 0)),
		coalesce(max(recorded_us), 0) FROM event;

DROP TABLE event;
ALTER TABLE event_new RENAME TO event;
CREATE INDEX event_by_domain ON event (domain, recorded_us, seq, kind);
