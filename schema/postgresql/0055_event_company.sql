-- The events of a company in the order in which they were recorded, for those who watch them.
CREATE INDEX event_by_company ON event (company_id, seq);
