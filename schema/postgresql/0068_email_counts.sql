-- The counts of open emails are the columns of one row, so that a change of an email updates one row instead of two.
-- The function names its schema: a search_path of its own is set and unset by each call, which took as long as the
-- rest of it. Each row of email is counted by itself again: for the fifty rows of a statement that takes as long as to
-- collect them and add them up, and for a single one less than half.
DROP TRIGGER email_added ON email;
DROP TRIGGER emails_changed ON email;
DROP TRIGGER email_removed ON email;
DROP FUNCTION emails_counted();
DROP FUNCTION email_counted();
DROP FUNCTION email_open_as(email);
DROP VIEW open_count;
ALTER TABLE open_count_part RENAME TO old_count_part;
ALTER TABLE old_count_part RENAME CONSTRAINT open_count_part_pkey TO old_count_part_pkey;

CREATE TABLE open_count_part (
	-- of the connections of several writers, so that they do not wait for each other
	part bigint NOT NULL PRIMARY KEY,
	-- in each part some may be below 0
	staged bigint NOT NULL DEFAULT 0,
	sent bigint NOT NULL DEFAULT 0,
	delayed bigint NOT NULL DEFAULT 0
);
INSERT INTO open_count_part (part, staged, sent, delayed)
	SELECT 0, coalesce(sum(count) FILTER (WHERE last_event = 'staged'), 0),
		coalesce(sum(count) FILTER (WHERE last_event = 'sent'), 0),
		coalesce(sum(count) FILTER (WHERE last_event = 'delivery_delayed'), 0)
	FROM old_count_part;
DROP TABLE old_count_part;
CREATE VIEW open_count AS
	SELECT CAST('staged' AS text) COLLATE "C" AS last_event, CAST(sum(staged) AS bigint) AS count
	FROM open_count_part
	UNION ALL
	SELECT 'sent', CAST(sum(sent) AS bigint) FROM open_count_part
	UNION ALL
	SELECT 'delivery_delayed', CAST(sum(delayed) AS bigint) FROM open_count_part;

DO $do$
BEGIN
	EXECUTE format($create$
CREATE FUNCTION email_counted() RETURNS trigger
	LANGUAGE plpgsql
	AS $$
DECLARE
	more_staged integer := 0;
	more_sent integer := 0;
	more_delayed integer := 0;
BEGIN
	IF TG_OP <> 'INSERT' THEN
		IF old.state = 'staged' AND old.queue_id IS NULL AND old.last_event IS NULL THEN
			more_staged := -1;
		ELSIF old.closed <> 0 THEN
			NULL;
		ELSIF old.last_event = 'sent' THEN
			more_sent := -1;
		ELSIF old.last_event = 'delivery_delayed' THEN
			more_delayed := -1;
		END IF;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		IF new.state = 'staged' AND new.queue_id IS NULL AND new.last_event IS NULL THEN
			more_staged := more_staged + 1;
		ELSIF new.closed <> 0 THEN
			NULL;
		ELSIF new.last_event = 'sent' THEN
			more_sent := more_sent + 1;
		ELSIF new.last_event = 'delivery_delayed' THEN
			more_delayed := more_delayed + 1;
		END IF;
	END IF;
	IF more_staged <> 0 OR more_sent <> 0 OR more_delayed <> 0 THEN
		UPDATE %1$I.open_count_part
			SET staged = staged + more_staged, sent = sent + more_sent, delayed = delayed + more_delayed
			WHERE part = pg_backend_pid() %% 1024;
		IF NOT FOUND THEN
			INSERT INTO %1$I.open_count_part AS own (part, staged, sent, delayed)
				VALUES (pg_backend_pid() %% 1024, more_staged, more_sent, more_delayed)
				ON CONFLICT (part) DO UPDATE
				SET staged = own.staged + excluded.staged, sent = own.sent + excluded.sent,
				delayed = own.delayed + excluded.delayed;
		END IF;
	END IF;
	RETURN NULL;
END
	$$
	$create$, current_schema());
END
$do$;
CREATE TRIGGER email_added AFTER INSERT ON email
	FOR EACH ROW EXECUTE FUNCTION email_counted();
CREATE TRIGGER email_changed AFTER UPDATE OF state, queue_id, last_event, closed ON email
	FOR EACH ROW EXECUTE FUNCTION email_counted();
CREATE TRIGGER email_removed AFTER DELETE ON email
	FOR EACH ROW EXECUTE FUNCTION email_counted();
