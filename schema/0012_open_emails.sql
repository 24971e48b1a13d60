-- Emails of which more is to come, without those whose fate nobody will tell.

-- 1: no recipient is queued, deferred or handed on, whatever last_event says, as
-- that of an unknown fate; or it is a test, which goes to nobody
ALTER TABLE email ADD COLUMN closed INTEGER NOT NULL DEFAULT 0;

UPDATE email SET closed = 1
	WHERE last_event IN ('sent', 'delivery_delayed') AND (queue_id = ''
	OR NOT EXISTS (SELECT 1 FROM email_recipient r WHERE r.email = email.seq
		AND r.state IN ('queued', 'deferred', 'handed_on')));

DROP INDEX email_open;
CREATE INDEX email_open ON email (decided_us, last_event)
	WHERE last_event IN ('sent', 'delivery_delayed') AND closed = 0;
