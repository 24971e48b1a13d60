-- What is canceled of a company is found without those of others.
CREATE INDEX outbox_of_company ON outbox (company_id);
