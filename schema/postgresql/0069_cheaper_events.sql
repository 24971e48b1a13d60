-- As 0068_cheaper_email.sql, for the tables that postern-events writes for each batch of lines: the words are those of
-- core/store, and SQLite checks them as before.
ALTER TABLE queue_message DROP CONSTRAINT queue_message_how_check;
ALTER TABLE outcome_count DROP CONSTRAINT outcome_count_aspect_check, DROP CONSTRAINT outcome_count_step_check;

-- The counts of a statement are added up together.
DROP TRIGGER event_count_added ON event_count;
DROP TRIGGER event_count_changed ON event_count;
DROP FUNCTION event_count_summed();

DO $do$
DECLARE
	name text;
	changes text;
	domains text;
BEGIN
	FOREACH name IN ARRAY ARRAY['event_counts_added', 'event_counts_changed'] LOOP
		IF name = 'event_counts_added' THEN
			changes := 'new_rows';
			domains := format($domains$
	INSERT INTO %1$I.event_domain (domain, company_id)
		SELECT DISTINCT domain, company_id FROM new_rows
		ON CONFLICT DO NOTHING;
			$domains$, current_schema());
		ELSE
			changes := '(SELECT * FROM new_rows UNION ALL
				SELECT company_id, hour_us, domain, kind, -count FROM old_rows) AS changes';
			domains := '';
		END IF;
		EXECUTE format($create$
CREATE FUNCTION %2$I() RETURNS trigger
	LANGUAGE plpgsql
	AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM new_rows) THEN
		RETURN NULL;
	END IF;
	INSERT INTO %1$I.event_day (company_id, day_us, domain, kind, count)
		SELECT company_id, hour_us - hour_us %% 86400000000, domain, kind, sum(count)
		FROM %3$s
		GROUP BY 1, 2, 3, 4
		ON CONFLICT (company_id, day_us, domain, kind)
		DO UPDATE SET count = event_day.count + excluded.count;
	INSERT INTO %1$I.event_total (company_id, hour_us, kind, count)
		SELECT owner, hour_us, kind, sum(count)
		FROM %3$s
		CROSS JOIN LATERAL (VALUES (company_id), ('')) AS owners (owner)
		GROUP BY 1, 2, 3
		ON CONFLICT (company_id, hour_us, kind)
		DO UPDATE SET count = event_total.count + excluded.count;
	%4$s
	RETURN NULL;
END
	$$
		$create$, current_schema(), name, changes, domains);
	END LOOP;
END
$do$;
CREATE TRIGGER event_counts_added AFTER INSERT ON event_count
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION event_counts_added();
CREATE TRIGGER event_counts_changed AFTER UPDATE ON event_count
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION event_counts_changed();
