-- Endpoints of companies that are told by HTTP what becomes of emails, and what they are told.
CREATE TABLE webhook (
	id TEXT NOT NULL PRIMARY KEY,
	company_id TEXT NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- the events of this domain alone; NULL: those of all of the company
	domain TEXT,
	-- in which shape: json, form
	dialect TEXT NOT NULL,
	endpoint TEXT NOT NULL,
	-- the types that it asked for, in its own words: a JSON array
	events TEXT NOT NULL,
	-- by which deliveries are signed, and the one before, which counts for a day
	secret BLOB NOT NULL,
	old_secret BLOB NOT NULL,
	rotated_us INTEGER NOT NULL DEFAULT 0,
	enabled INTEGER NOT NULL,
	created_us INTEGER NOT NULL,
	-- since when all attempts have failed; 0: the last one has not
	failing_us INTEGER NOT NULL DEFAULT 0,
	-- when that disabled it; 0: it did not
	disabled_us INTEGER NOT NULL DEFAULT 0,
	-- it is told of events behind this one (event.seq)
	from_seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_by_company ON webhook (company_id, created_us, id);
CREATE INDEX webhook_by_domain ON webhook (company_id, domain, created_us, id);
CREATE INDEX webhook_by_age ON webhook (created_us, id);

-- What an endpoint is told: the bytes that every attempt sends.
CREATE TABLE webhook_event (
	seq INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	-- no reference: what a removed one leaves goes in steps
	webhook_id TEXT NOT NULL,
	-- NULL: a test
	event INTEGER REFERENCES event (seq) ON DELETE CASCADE,
	type TEXT NOT NULL,
	body TEXT NOT NULL,
	-- pending, attempting, success, failed
	status TEXT NOT NULL,
	attempts INTEGER NOT NULL DEFAULT 0,
	-- of the next attempt; 0: there is none; 1: at once, since somebody wants it sent
	-- once more, after which it is due as then_us says
	due_us INTEGER NOT NULL,
	then_us INTEGER NOT NULL DEFAULT 0,
	created_us INTEGER NOT NULL
) STRICT;
CREATE INDEX webhook_event_by_webhook ON webhook_event (webhook_id, seq);
CREATE INDEX webhook_event_by_event ON webhook_event (event);
CREATE INDEX webhook_event_by_age ON webhook_event (created_us);
CREATE INDEX webhook_event_due ON webhook_event (webhook_id, due_us) WHERE due_us > 0;

CREATE TABLE webhook_attempt (
	seq INTEGER PRIMARY KEY,
	id TEXT NOT NULL,
	event INTEGER NOT NULL REFERENCES webhook_event (seq) ON DELETE CASCADE,
	-- 0: there was no answer, and error says why
	http_status INTEGER NOT NULL,
	response TEXT NOT NULL,
	error TEXT,
	sent_us INTEGER NOT NULL,
	took_us INTEGER NOT NULL
) STRICT;
CREATE INDEX webhook_attempt_by_event ON webhook_attempt (event, seq);

-- Up to which event all endpoints have theirs. One row.
CREATE TABLE webhook_cursor (
	seq INTEGER NOT NULL
) STRICT;
INSERT INTO webhook_cursor (seq) SELECT seq FROM event_last;

-- Removed endpoints whose events are still there.
CREATE TABLE webhook_gone (
	webhook_id TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- By which all deliveries of a company in the shape of the form API are signed.
CREATE TABLE webhook_key (
	company_id TEXT NOT NULL PRIMARY KEY REFERENCES company (id) ON DELETE CASCADE,
	secret BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER webhook_removed AFTER DELETE ON webhook BEGIN
	INSERT OR IGNORE INTO webhook_gone VALUES (old.id);
	UPDATE company_count SET count = count - 1
		WHERE company_id = old.company_id AND kind = 'webhooks';
END;
CREATE TRIGGER webhook_counted AFTER INSERT ON webhook BEGIN
	INSERT INTO company_count VALUES (new.company_id, 'webhooks', 1)
		ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER webhook_of_removed_domain AFTER DELETE ON domain WHEN old.pending = 0 BEGIN
	DELETE FROM webhook WHERE company_id = old.company_id AND domain = old.name;
END;
