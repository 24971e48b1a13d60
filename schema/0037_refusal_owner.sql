-- What was noted of a domain while it was of the same company as now.
CREATE INDEX refusal_by_owner ON refusal (company_id, domain, last_us);
CREATE INDEX refusal_learnt_by_owner ON refusal (company_id, domain, last_us)
	WHERE outcome = 'learnt';
