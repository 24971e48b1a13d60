-- What statements of both engines need.

-- Tags are stored in lower case from now on.
UPDATE email_tag SET tag = lower(tag) WHERE tag COLLATE BINARY <> lower(tag);

DROP INDEX outbox_put_off;
CREATE INDEX outbox_put_off ON outbox (due_us)
	WHERE due_us > 0 AND (attempts > 0 OR ticket_used <> 0);
DROP INDEX outbox_put_off_of_company;
CREATE INDEX outbox_put_off_of_company ON outbox (company_id, due_us)
	WHERE due_us > 0 AND (attempts > 0 OR ticket_used <> 0);
