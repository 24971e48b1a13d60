-- Of the words after IN, SQLite fills a table in memory for each row that it writes, if they are
-- more than two, or in a trigger: for a CHECK, for the condition of an index, for an UPDATE. These
-- are the tables that each email writes to. The rows stay as they are.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
	SET sql = replace(sql, 'state IN (''staged'', ''sent'', ''refused'')',
		'state = ''staged'' OR state = ''sent'' OR state = ''refused''')
	WHERE type = 'table' AND name = 'email';
UPDATE sqlite_schema
	SET sql = replace(sql, 'kind IN (''to'', ''cc'', ''bcc'')',
		'kind = ''to'' OR kind = ''cc'' OR kind = ''bcc''')
	WHERE type = 'table' AND name = 'email_recipient';
UPDATE sqlite_schema
	SET sql = replace(sql, 'aspect IN (''reason'', ''provider'', ''delay'')',
		'aspect = ''reason'' OR aspect = ''provider'' OR aspect = ''delay''')
	WHERE type = 'table' AND name = 'outcome_count';
PRAGMA writable_schema = RESET;

DROP INDEX email_by_trouble;
CREATE INDEX email_by_trouble ON email (last_event, company_id)
	WHERE last_event = 'delivery_delayed' OR last_event = 'bounced' OR last_event = 'failed'
	OR last_event = 'suppressed' OR last_event = 'complained' OR last_event = 'canceled';
DROP INDEX email_by_trouble_of_all;
CREATE INDEX email_by_trouble_of_all ON email (last_event)
	WHERE last_event = 'delivery_delayed' OR last_event = 'bounced' OR last_event = 'failed'
	OR last_event = 'suppressed' OR last_event = 'complained' OR last_event = 'canceled';
DROP INDEX email_recipient_by_state;
CREATE INDEX email_recipient_by_state ON email_recipient (state, company_id)
	WHERE state = 'deferred' OR state = 'bounced' OR state = 'expired' OR state = 'discarded'
	OR state = 'removed' OR state = 'unknown' OR state = 'complained' OR state = 'suppressed';

DROP TRIGGER event_count_changed;
CREATE TRIGGER event_count_changed AFTER UPDATE OF count ON event_count BEGIN
	UPDATE event_day SET count = count + new.count - old.count
		WHERE company_id = new.company_id
		AND day_us = new.hour_us - new.hour_us % 86400000000
		AND domain = new.domain AND kind = new.kind;
	UPDATE event_total SET count = count + new.count - old.count
		WHERE company_id = new.company_id
		AND hour_us = new.hour_us AND kind = new.kind;
	UPDATE event_total SET count = count + new.count - old.count
		WHERE company_id = ''
		AND hour_us = new.hour_us AND kind = new.kind;
END;
