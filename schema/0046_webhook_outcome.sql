-- When the last attempt succeeded, when the last one failed, and why, as people are shown it.
ALTER TABLE webhook ADD COLUMN succeeded_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook ADD COLUMN failed_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook ADD COLUMN failure TEXT;

-- Those that need somebody.
CREATE INDEX webhook_in_trouble ON webhook (created_us, id)
	WHERE failing_us > 0 OR disabled_us > 0;
CREATE INDEX webhook_in_trouble_of_company ON webhook (company_id, created_us, id)
	WHERE failing_us > 0 OR disabled_us > 0;

-- Which lists of suppressed addresses are full.
CREATE INDEX company_count_of_suppressions ON company_count (count)
	WHERE kind = 'suppressions';
