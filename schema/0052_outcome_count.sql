-- What became of emails, counted by more than the kind of the event: why they bounced, whose
-- servers they went to, and how long they took. By the hour for some weeks, and by the day.
CREATE TABLE outcome_count (
	-- '': the sum of all companies
	company_id TEXT NOT NULL,
	aspect TEXT NOT NULL CHECK (aspect IN ('reason', 'provider', 'delay')),
	step TEXT NOT NULL CHECK (step IN ('hour', 'day')),
	-- the begin of the step, in UTC
	time_us INTEGER NOT NULL,
	-- a word of core/store/outcome.c; of a delay the number of its class
	name TEXT NOT NULL,
	kind TEXT NOT NULL,
	count INTEGER NOT NULL,
	PRIMARY KEY (company_id, aspect, step, time_us, name, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX outcome_count_by_hour ON outcome_count (time_us) WHERE step = 'hour';

-- How many emails were in the outbox, and how many Postfix was still delivering, now and then.
CREATE TABLE backlog_sample (
	time_us INTEGER PRIMARY KEY,
	outbox INTEGER NOT NULL,
	queue INTEGER NOT NULL
) STRICT;
