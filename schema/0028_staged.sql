-- What waits for the milter costs what is told of it, however much is scheduled,
-- was stopped before the milter was asked, or waits.

-- last_event NULL: it waits; else it has come to its end without the milter. The
-- time is that from which on it waits: staged, or due.
DROP INDEX email_staged;
CREATE INDEX email_staged ON email
	(company_id, last_event, max(created_us, scheduled_us))
	WHERE state = 'staged' AND queue_id IS NULL;

INSERT INTO open_count (last_event, count) SELECT 'staged', count(*) FROM email
	WHERE state = 'staged' AND queue_id IS NULL AND last_event IS NULL;

CREATE TRIGGER email_staged_added AFTER INSERT ON email
	WHEN new.state = 'staged' AND new.queue_id IS NULL
	AND new.last_event IS NULL BEGIN
	UPDATE open_count SET count = count + 1 WHERE last_event = 'staged';
END;
CREATE TRIGGER email_staged_again
	AFTER UPDATE OF state, queue_id, last_event ON email
	WHEN new.state = 'staged' AND new.queue_id IS NULL
	AND new.last_event IS NULL AND NOT (old.state = 'staged'
		AND old.queue_id IS NULL AND old.last_event IS NULL) BEGIN
	UPDATE open_count SET count = count + 1 WHERE last_event = 'staged';
END;
CREATE TRIGGER email_staged_no_more
	AFTER UPDATE OF state, queue_id, last_event ON email
	WHEN old.state = 'staged' AND old.queue_id IS NULL
	AND old.last_event IS NULL AND NOT (new.state = 'staged'
		AND new.queue_id IS NULL AND new.last_event IS NULL) BEGIN
	UPDATE open_count SET count = count - 1 WHERE last_event = 'staged';
END;
CREATE TRIGGER email_staged_removed AFTER DELETE ON email
	WHEN old.state = 'staged' AND old.queue_id IS NULL
	AND old.last_event IS NULL BEGIN
	UPDATE open_count SET count = count - 1 WHERE last_event = 'staged';
END;
