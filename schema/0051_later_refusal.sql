-- Messages that the milter let pass and that Postfix refused afterwards, mostly for another milter.
-- core/store/store_later_refusal.h.
CREATE TABLE later_refusal (
	queue_id TEXT PRIMARY KEY,
	refused_us INTEGER NOT NULL,
	-- what the refusal said
	text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX later_refusal_by_time ON later_refusal (refused_us);
