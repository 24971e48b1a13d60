-- What an admin has paused, and how the outbox does.

-- The emails of a company, of one of its domains or of one of its keys stay in the
-- outbox. Those that wait for a pause have its number in outbox.due_us, behind
-- 4611686018427387904 (2^62): they are due when the row is gone, whatever removed it.
CREATE TABLE outbox_pause (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	company_id TEXT NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- both NULL: all of the company
	domain_id TEXT REFERENCES domain (id) ON DELETE CASCADE,
	key_id TEXT REFERENCES api_key (id) ON DELETE CASCADE,
	reason TEXT NOT NULL,
	created_us INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX outbox_pause_of ON outbox_pause
	(company_id, coalesce(domain_id, ''), coalesce(key_id, ''));
CREATE INDEX outbox_pause_of_domain ON outbox_pause (domain_id)
	WHERE domain_id IS NOT NULL;
CREATE INDEX outbox_pause_of_key ON outbox_pause (key_id)
	WHERE key_id IS NOT NULL;

-- When a pause of it ended: its lifetime counts from then.
ALTER TABLE outbox ADD COLUMN resumed_us INTEGER NOT NULL DEFAULT 0;

-- How many emails left the outbox in each minute of the last hour.
CREATE TABLE outbox_flow (
	minute_us INTEGER PRIMARY KEY,
	emails INTEGER NOT NULL
) STRICT;

-- When the circuit breaker was open, the last hundred times.
CREATE TABLE outbox_break (
	seq INTEGER PRIMARY KEY,
	-- away, no_records
	cause TEXT NOT NULL,
	words TEXT NOT NULL,
	opened_us INTEGER NOT NULL,
	-- 0: it is open
	closed_us INTEGER NOT NULL DEFAULT 0
) STRICT;
