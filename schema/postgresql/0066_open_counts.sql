-- The counts of open emails are the columns of one row, so that a change of an email updates one row instead of two.
-- The functions name their schema: a search_path of its own is set and unset by each call, which took as long as the
-- rest of it. Emails that a statement changes are counted once for the statement: each version of a row of
-- open_count_part stays until the transaction ends, and the next change walks over all of them.
DROP TRIGGER email_added ON email;
DROP TRIGGER email_changed ON email;
DROP TRIGGER email_removed ON email;
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
CREATE FUNCTION open_count_add(more_staged bigint, more_sent bigint, more_delayed bigint) RETURNS void
	LANGUAGE plpgsql
	AS $$
BEGIN
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
END
	$$
	$create$, current_schema());
	EXECUTE format($create$
CREATE FUNCTION email_counted() RETURNS trigger
	LANGUAGE plpgsql
	AS $$
DECLARE
	change bigint := 1;
	what text;
BEGIN
	IF TG_OP = 'INSERT' THEN
		what := CASE
			WHEN new.state = 'staged' AND new.queue_id IS NULL AND new.last_event IS NULL THEN 'staged'
			WHEN new.closed = 0 THEN new.last_event END;
	ELSE
		change := -1;
		what := CASE
			WHEN old.state = 'staged' AND old.queue_id IS NULL AND old.last_event IS NULL THEN 'staged'
			WHEN old.closed = 0 THEN old.last_event END;
	END IF;
	IF what = 'staged' THEN
		PERFORM %1$I.open_count_add(change, 0, 0);
	ELSIF what = 'sent' THEN
		PERFORM %1$I.open_count_add(0, change, 0);
	ELSIF what = 'delivery_delayed' THEN
		PERFORM %1$I.open_count_add(0, 0, change);
	END IF;
	RETURN NULL;
END
	$$
	$create$, current_schema());
	EXECUTE format($create$
CREATE FUNCTION emails_counted() RETURNS trigger
	LANGUAGE plpgsql
	AS $$
DECLARE
	more_staged bigint;
	more_sent bigint;
	more_delayed bigint;
BEGIN
	SELECT coalesce(sum(change) FILTER (WHERE what = 'staged'), 0),
		coalesce(sum(change) FILTER (WHERE what = 'sent'), 0),
		coalesce(sum(change) FILTER (WHERE what = 'delivery_delayed'), 0)
		INTO more_staged, more_sent, more_delayed
		FROM (
			SELECT -1 AS change, CASE
				WHEN state = 'staged' AND queue_id IS NULL AND last_event IS NULL THEN 'staged'
				WHEN closed = 0 THEN last_event END AS what
			FROM old_rows
			UNION ALL
			SELECT 1, CASE
				WHEN state = 'staged' AND queue_id IS NULL AND last_event IS NULL THEN 'staged'
				WHEN closed = 0 THEN last_event END
			FROM new_rows) AS changed;
	PERFORM %1$I.open_count_add(more_staged, more_sent, more_delayed);
	RETURN NULL;
END
	$$
	$create$, current_schema());
END
$do$;
CREATE TRIGGER email_added AFTER INSERT ON email
	FOR EACH ROW EXECUTE FUNCTION email_counted();
CREATE TRIGGER emails_changed AFTER UPDATE ON email
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION emails_counted();
CREATE TRIGGER email_removed AFTER DELETE ON email
	FOR EACH ROW EXECUTE FUNCTION email_counted();
