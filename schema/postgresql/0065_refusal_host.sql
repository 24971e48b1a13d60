-- As ../0065_refusal_host.sql.
ALTER TABLE refusal ADD COLUMN host text COLLATE "C" NOT NULL DEFAULT '';
