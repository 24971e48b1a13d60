-- What operators ask of all companies costs what is told, however many
-- companies, and emails that wait, there are.

CREATE INDEX email_by_trouble_of_all ON email (last_event)
	WHERE last_event IN
	('delivery_delayed', 'bounced', 'failed', 'complained');

-- The open emails by last_event. Triggers of email keep it.
CREATE TABLE open_count (
	last_event TEXT PRIMARY KEY,
	count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO open_count (last_event, count)
	VALUES ('sent', 0), ('delivery_delayed', 0);
UPDATE open_count SET count = (SELECT count(*) FROM email e
	WHERE e.last_event IN ('sent', 'delivery_delayed') AND e.closed = 0
	AND e.last_event = open_count.last_event);

CREATE TRIGGER email_opened AFTER UPDATE OF last_event, closed ON email
	WHEN new.closed = 0 AND new.last_event IN ('sent', 'delivery_delayed')
	AND (old.closed <> 0 OR old.last_event IS NOT new.last_event) BEGIN
	UPDATE open_count SET count = count + 1 WHERE last_event = new.last_event;
END;
CREATE TRIGGER email_open_no_more AFTER UPDATE OF last_event, closed ON email
	WHEN old.closed = 0 AND old.last_event IN ('sent', 'delivery_delayed')
	AND (new.closed <> 0 OR old.last_event IS NOT new.last_event) BEGIN
	UPDATE open_count SET count = count - 1 WHERE last_event = old.last_event;
END;
CREATE TRIGGER email_open_added AFTER INSERT ON email
	WHEN new.closed = 0 AND new.last_event IN ('sent', 'delivery_delayed') BEGIN
	UPDATE open_count SET count = count + 1 WHERE last_event = new.last_event;
END;
CREATE TRIGGER email_open_removed AFTER DELETE ON email
	WHEN old.closed = 0 AND old.last_event IN ('sent', 'delivery_delayed') BEGIN
	UPDATE open_count SET count = count - 1 WHERE last_event = old.last_event;
END;

-- Times of which lines of the log are still missing.
CREATE INDEX gap_open ON gap (source, why) WHERE repaired_us = 0;
