-- When an email is to go out; 0: at once.
ALTER TABLE email ADD COLUMN scheduled_us INTEGER NOT NULL DEFAULT 0;

-- What its client has canceled is no refusal.
DROP TRIGGER email_refused_counted;
CREATE TRIGGER email_refused_counted AFTER UPDATE OF state ON email
	WHEN new.state = 'refused' AND old.state <> 'refused'
		AND new.last_event <> 'canceled' BEGIN
	INSERT INTO event_count (company_id, hour_us, domain, kind, count)
		VALUES (new.company_id,
			new.decided_us - new.decided_us % 3600000000,
			new.domain, 'refused', 1)
		ON CONFLICT DO UPDATE SET count = count + excluded.count;
END;
