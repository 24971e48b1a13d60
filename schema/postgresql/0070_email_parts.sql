-- What each email costs the server besides its rows, as 0068_cheaper_email.sql.

-- A reference is looked up by a statement of its own for each row, which also locks the email. The parts of an email are
-- written in the transaction that stages it, and its events in one that has read its recipients with the lock of all
-- who write, so the email is there. A trigger removes them with it, as the references did.
ALTER TABLE email_content DROP CONSTRAINT email_content_seq_fkey;
ALTER TABLE email_recipient DROP CONSTRAINT email_recipient_email_fkey;
ALTER TABLE message DROP CONSTRAINT message_email_fkey;
ALTER TABLE outbox DROP CONSTRAINT outbox_email_fkey;
ALTER TABLE event DROP CONSTRAINT event_email_fkey;

CREATE FUNCTION email_parts_gone() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
BEGIN
	DELETE FROM email_content WHERE seq = old.seq;
	DELETE FROM email_recipient WHERE email = old.seq;
	DELETE FROM message WHERE email = old.seq;
	DELETE FROM outbox WHERE email = old.seq;
	DELETE FROM event WHERE email = old.seq;
	RETURN NULL;
END
	$$;
CREATE TRIGGER email_parts_gone AFTER DELETE ON email
	FOR EACH ROW EXECUTE FUNCTION email_parts_gone();

-- The condition of a trigger for rows is read and planned again by each statement that may fire it, so the trigger for
-- statements, which reads all rows anyway, finds those that are refused, too.
DROP TRIGGER email_refused_counted ON email;
DROP FUNCTION email_refused_counted();
DO $do$
BEGIN
	EXECUTE format($create$
CREATE OR REPLACE FUNCTION emails_counted() RETURNS trigger
	LANGUAGE plpgsql
	AS $$
DECLARE
	more_staged bigint;
	more_sent bigint;
	more_delayed bigint;
	refused bigint;
BEGIN
	SELECT
			sum(CASE WHEN state = 'staged' AND queue_id IS NULL AND last_event IS NULL
				THEN change ELSE 0 END),
			sum(CASE WHEN closed = 0 AND last_event = 'sent'
				THEN change ELSE 0 END),
			sum(CASE WHEN closed = 0 AND last_event = 'delivery_delayed'
				THEN change ELSE 0 END),
			sum(CASE WHEN state = 'refused' THEN change ELSE 0 END)
		INTO more_staged, more_sent, more_delayed, refused
		FROM (
			SELECT -1 AS change, state, queue_id, last_event, closed FROM old_rows
			UNION ALL
			SELECT 1, state, queue_id, last_event, closed FROM new_rows) AS changes;
	WHILE more_staged <> 0 OR more_sent <> 0 OR more_delayed <> 0 LOOP
		UPDATE %1$I.open_count_part
			SET staged = staged + more_staged, sent = sent + more_sent, delayed = delayed + more_delayed
			WHERE part = pg_backend_pid() %% 1024;
		EXIT WHEN FOUND;
		INSERT INTO %1$I.open_count_part (part) VALUES (pg_backend_pid() %% 1024)
			ON CONFLICT DO NOTHING;
	END LOOP;
	IF refused > 0 THEN
		INSERT INTO %1$I.event_count (company_id, hour_us, domain, kind, count)
			SELECT n.company_id, n.decided_us - n.decided_us %% 3600000000, n.domain, 'refused', count(*)
			FROM new_rows n
			JOIN old_rows o ON o.seq = n.seq
			WHERE n.state = 'refused' AND o.state <> 'refused'
				AND n.queue_id IS NOT NULL AND n.last_event <> 'canceled'
			GROUP BY 1, 2, 3
			ON CONFLICT (company_id, hour_us, domain, kind)
			DO UPDATE SET count = event_count.count + excluded.count;
	END IF;
	RETURN NULL;
END
	$$
	$create$, current_schema());
END
$do$;
