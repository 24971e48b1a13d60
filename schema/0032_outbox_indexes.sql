-- What is canceled of a company is found without those of others.
CREATE INDEX outbox_of_company ON outbox (company_id);

-- What was put off after an attempt is found among however much is scheduled.
CREATE INDEX outbox_put_off ON outbox (due_us)
	WHERE due_us > 0 AND (attempts > 0 OR ticket_used);
