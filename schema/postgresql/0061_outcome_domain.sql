-- As ../0061_outcome_domain.sql.
ALTER TABLE outcome_count ADD COLUMN domain text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE outcome_count ALTER COLUMN domain DROP DEFAULT;
ALTER TABLE outcome_count DROP CONSTRAINT outcome_count_pkey;
ALTER TABLE outcome_count ADD PRIMARY KEY (company_id, domain, aspect, step, time_us, name, kind);

CREATE TABLE outcome_fill (
	next_seq bigint NOT NULL,
	counted_us bigint NOT NULL
);
INSERT INTO outcome_fill (next_seq, counted_us)
	SELECT coalesce((SELECT max(seq) FROM event), 0),
		coalesce((SELECT applied_us FROM schema_migration WHERE version = 52), 0);

CREATE TABLE backlog_company (
	company_id text COLLATE "C" NOT NULL,
	time_us bigint NOT NULL,
	outbox bigint NOT NULL,
	PRIMARY KEY (company_id, time_us)
);
CREATE INDEX backlog_company_by_time ON backlog_company (time_us);
