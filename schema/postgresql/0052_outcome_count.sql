-- As ../0052_outcome_count.sql.
CREATE TABLE outcome_count (
	company_id text COLLATE "C" NOT NULL,
	aspect text COLLATE "C" NOT NULL CHECK (aspect IN ('reason', 'provider', 'delay')),
	step text COLLATE "C" NOT NULL CHECK (step IN ('hour', 'day')),
	time_us bigint NOT NULL,
	name text COLLATE "C" NOT NULL,
	kind text COLLATE "C" NOT NULL,
	count bigint NOT NULL,
	PRIMARY KEY (company_id, aspect, step, time_us, name, kind)
);
CREATE INDEX outcome_count_by_hour ON outcome_count (time_us) WHERE step = 'hour';

CREATE TABLE backlog_sample (
	time_us bigint PRIMARY KEY,
	outbox bigint NOT NULL,
	queue bigint NOT NULL
);
