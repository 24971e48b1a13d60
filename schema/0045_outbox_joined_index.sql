-- What is sent again is counted without all that waits.
CREATE INDEX outbox_joined ON outbox (company_id, size) WHERE joined = 1;
