-- The counts of outcomes by domain; under '' of all domains.
CREATE TABLE outcome_count_new (
	company_id TEXT NOT NULL,
	domain TEXT NOT NULL,
	aspect TEXT NOT NULL CHECK (aspect IN ('reason', 'provider', 'delay')),
	step TEXT NOT NULL CHECK (step IN ('hour', 'day')),
	time_us INTEGER NOT NULL,
	name TEXT NOT NULL,
	kind TEXT NOT NULL,
	count INTEGER NOT NULL,
	PRIMARY KEY (company_id, domain, aspect, step, time_us, name, kind)
) STRICT, WITHOUT ROWID;
INSERT INTO outcome_count_new
	SELECT company_id, '', aspect, step, time_us, name, kind, count
	FROM outcome_count;
DROP TABLE outcome_count;
ALTER TABLE outcome_count_new RENAME TO outcome_count;
CREATE INDEX outcome_count_by_hour ON outcome_count (time_us) WHERE step = 'hour';

-- Events that were recorded before the migration are counted afterwards, in small steps, from the
-- newest to the oldest.
CREATE TABLE outcome_fill (
	-- the next event to count; 0: all are counted
	next_seq INTEGER NOT NULL,
	-- the counts over all domains have the events that were recorded since then
	counted_us INTEGER NOT NULL
) STRICT;
INSERT INTO outcome_fill (next_seq, counted_us)
	SELECT coalesce((SELECT max(seq) FROM event), 0),
		coalesce((SELECT applied_us FROM schema_migration WHERE version = 52), 0);

-- The highest number of emails of a company in the outbox, by the hour; hours without any have no row.
CREATE TABLE backlog_company (
	company_id TEXT NOT NULL,
	time_us INTEGER NOT NULL,
	outbox INTEGER NOT NULL,
	PRIMARY KEY (company_id, time_us)
) STRICT, WITHOUT ROWID;
CREATE INDEX backlog_company_by_time ON backlog_company (time_us);
