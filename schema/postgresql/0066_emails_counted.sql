-- postern-events changes many emails by one statement. They are counted once for each statement: each version of a row
-- of open_count_part stays until the transaction ends, and the next change walks over all of them.
CREATE FUNCTION emails_counted() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
BEGIN
	INSERT INTO open_count_part (last_event, part, count)
		SELECT what, pg_backend_pid() % 1024, sum(change)
		FROM (SELECT email_open_as(o) AS what, -1 AS change FROM old_rows o
			UNION ALL SELECT email_open_as(n), 1 FROM new_rows n) AS changed
		WHERE what IS NOT NULL
		GROUP BY what
		HAVING sum(change) <> 0
		ON CONFLICT (last_event, part)
		DO UPDATE SET count = open_count_part.count + excluded.count;
	RETURN NULL;
END
	$$;
DROP TRIGGER email_changed ON email;
CREATE TRIGGER emails_changed AFTER UPDATE ON email
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION emails_counted();
