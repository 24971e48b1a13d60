-- What a company looks for is found among its own rows: indexes that lead to
-- emails, or to events, by a value that two companies may have in common say
-- whose each row is.

-- The email's.
ALTER TABLE email_recipient ADD COLUMN company_id TEXT NOT NULL DEFAULT '';
ALTER TABLE email_tag ADD COLUMN company_id TEXT NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN company_id TEXT NOT NULL DEFAULT '';

DROP INDEX email_recipient_by_address;
UPDATE email_recipient SET company_id = e.company_id
	FROM email e WHERE e.seq = email_recipient.email;
CREATE INDEX email_recipient_by_address
	ON email_recipient (address COLLATE NOCASE, company_id);

DROP INDEX email_tag_by_tag;
UPDATE email_tag SET company_id = e.company_id
	FROM email e WHERE e.seq = email_tag.email;
CREATE INDEX email_tag_by_tag ON email_tag (tag, company_id);

DROP INDEX event_by_domain;
UPDATE event SET company_id = e.company_id
	FROM email e WHERE e.seq = event.email;
CREATE INDEX event_by_domain
	ON event (company_id, domain, recorded_us, seq, kind);

DROP INDEX email_by_domain;
CREATE INDEX email_by_domain ON email (domain, company_id);
DROP INDEX email_by_trouble;
CREATE INDEX email_by_trouble ON email (last_event, company_id)
	WHERE last_event IN
	('delivery_delayed', 'bounced', 'failed', 'complained');
DROP INDEX email_chosen;
CREATE INDEX email_chosen ON email (message_id, company_id)
	WHERE substr(message_id, 2, 36) <> id;
DROP INDEX email_staged;
CREATE INDEX email_staged ON email (company_id, created_us)
	WHERE state = 'staged' AND queue_id IS NULL;
CREATE INDEX email_refused_by_company ON email (company_id, decided_us)
	WHERE state = 'refused';
