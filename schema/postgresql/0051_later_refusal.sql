-- Messages that the milter let pass and that Postfix refused afterwards, mostly for another milter.
-- core/store/store_later_refusal.h.
CREATE TABLE later_refusal (
	queue_id text COLLATE "C" NOT NULL PRIMARY KEY,
	refused_us bigint NOT NULL,
	-- what the refusal said
	text text COLLATE "C" NOT NULL
);
CREATE INDEX later_refusal_by_time ON later_refusal (refused_us);
