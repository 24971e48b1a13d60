-- Canceled emails are found like those in trouble, and are none that was refused.

DROP INDEX email_by_trouble;
CREATE INDEX email_by_trouble ON email (last_event, company_id)
	WHERE last_event IN
	('delivery_delayed', 'bounced', 'failed', 'complained', 'canceled');
DROP INDEX email_by_trouble_of_all;
CREATE INDEX email_by_trouble_of_all ON email (last_event)
	WHERE last_event IN
	('delivery_delayed', 'bounced', 'failed', 'complained', 'canceled');

DROP INDEX email_refused;
CREATE INDEX email_refused ON email (decided_us)
	WHERE state = 'refused' AND last_event IS NOT 'canceled';
DROP INDEX email_refused_by_company;
CREATE INDEX email_refused_by_company ON email (company_id, decided_us)
	WHERE state = 'refused' AND last_event IS NOT 'canceled';

-- Nor is what was not handed to Postfix; both have events, which are counted.
DROP TRIGGER email_refused_counted;
CREATE TRIGGER email_refused_counted AFTER UPDATE OF state ON email
	WHEN new.state = 'refused' AND old.state <> 'refused'
		AND new.queue_id IS NOT NULL AND new.last_event <> 'canceled' BEGIN
	INSERT INTO event_count (company_id, hour_us, domain, kind, count)
		VALUES (new.company_id,
			new.decided_us - new.decided_us % 3600000000,
			new.domain, 'refused', 1)
		ON CONFLICT DO UPDATE SET count = count + excluded.count;
END;
