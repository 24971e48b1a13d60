-- What one company has that was put off after an attempt, however much it has scheduled.
CREATE INDEX outbox_put_off_of_company ON outbox (company_id, due_us)
	WHERE due_us > 0 AND (attempts > 0 OR ticket_used);
