-- What each email costs the server besides its rows. The checks of words and the statements of triggers are set up
-- again for each statement: of the instructions for an email's row and its record these checks took a tenth, and
-- counting in a function of its own a sixth. The words are those of core/store, and SQLite checks them as before, as it
-- checks that an email has a refusal if it is refused (email_check).
ALTER TABLE email DROP CONSTRAINT email_state_check, DROP CONSTRAINT email_check;
ALTER TABLE email_recipient DROP CONSTRAINT email_recipient_kind_check;

DROP TRIGGER email_added ON email;
DROP TRIGGER email_removed ON email;
DROP TRIGGER emails_changed ON email;
DROP FUNCTION email_counted();
DROP FUNCTION emails_counted();
DROP FUNCTION open_count_add(bigint, bigint, bigint);

-- Each function has one statement in the usual case. The row of a connection is missing until its first count. What
-- changes no count writes nothing.
DO $do$
DECLARE
	name text;
	how text;
BEGIN
	FOREACH name IN ARRAY ARRAY['email_added', 'email_removed'] LOOP
		how := CASE name WHEN 'email_added' THEN '+ CASE WHEN new' ELSE '- CASE WHEN old' END;
		EXECUTE format($create$
CREATE FUNCTION %2$I() RETURNS trigger
	LANGUAGE plpgsql
	AS $$
BEGIN
	LOOP
		UPDATE %1$I.open_count_part
			SET staged = staged %3$s.state = 'staged' AND %4$s.queue_id IS NULL
					AND %4$s.last_event IS NULL THEN 1 ELSE 0 END,
				sent = sent %3$s.closed = 0 AND %4$s.last_event = 'sent' THEN 1 ELSE 0 END,
				delayed = delayed %3$s.closed = 0 AND %4$s.last_event = 'delivery_delayed'
					THEN 1 ELSE 0 END
			WHERE part = pg_backend_pid() %% 1024;
		EXIT WHEN FOUND;
		INSERT INTO %1$I.open_count_part (part) VALUES (pg_backend_pid() %% 1024)
			ON CONFLICT DO NOTHING;
	END LOOP;
	RETURN NULL;
END
	$$
		$create$, current_schema(), name, how, right(how, 3));
	END LOOP;
	EXECUTE format($create$
CREATE FUNCTION emails_counted() RETURNS trigger
	LANGUAGE plpgsql
	AS $$
BEGIN
	FOR attempt IN 1..2 LOOP
		UPDATE %1$I.open_count_part
			SET staged = staged + more_staged, sent = sent + more_sent, delayed = delayed + more_delayed
			FROM (
				SELECT
					sum(CASE WHEN state = 'staged' AND queue_id IS NULL AND last_event IS NULL
						THEN change ELSE 0 END) AS more_staged,
					sum(CASE WHEN closed = 0 AND last_event = 'sent'
						THEN change ELSE 0 END) AS more_sent,
					sum(CASE WHEN closed = 0 AND last_event = 'delivery_delayed'
						THEN change ELSE 0 END) AS more_delayed
				FROM (
					SELECT -1 AS change, state, queue_id, last_event, closed FROM old_rows
					UNION ALL
					SELECT 1, state, queue_id, last_event, closed FROM new_rows) AS changes) AS counted
			WHERE part = pg_backend_pid() %% 1024
				AND (more_staged <> 0 OR more_sent <> 0 OR more_delayed <> 0);
		EXIT WHEN FOUND;
		INSERT INTO %1$I.open_count_part (part) VALUES (pg_backend_pid() %% 1024)
			ON CONFLICT DO NOTHING;
	END LOOP;
	RETURN NULL;
END
	$$
	$create$, current_schema());
END
$do$;
CREATE TRIGGER email_added AFTER INSERT ON email
	FOR EACH ROW EXECUTE FUNCTION email_added();
CREATE TRIGGER email_removed AFTER DELETE ON email
	FOR EACH ROW WHEN (old.closed = 0 OR old.state = 'staged') EXECUTE FUNCTION email_removed();
CREATE TRIGGER emails_changed AFTER UPDATE ON email
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION emails_counted();
