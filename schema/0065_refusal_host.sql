-- The host with the message of queue_id; '': there is one host, or the row is older.
ALTER TABLE refusal ADD COLUMN host TEXT NOT NULL DEFAULT '';
