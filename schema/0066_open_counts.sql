-- Where an INSERT has a trigger, SQLite copies each page that it changes, so that it could undo the statement alone. That of
-- an email changes a page of each index, that of its content, which follows it, few.
DROP TRIGGER email_open_added;
DROP TRIGGER email_staged_added;
CREATE TRIGGER email_added AFTER INSERT ON email_content BEGIN
	UPDATE open_count SET count = count + 1 WHERE last_event = (
		SELECT CASE WHEN last_event IS NULL AND state = 'staged' AND queue_id IS NULL
			THEN 'staged'
			WHEN closed = 0 THEN last_event END
		FROM email WHERE seq = new.seq);
END;
