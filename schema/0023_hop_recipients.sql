-- To how many addresses a message in the queue is delivered, as the queue manager
-- says: until so many are told, a member of an alias may be missing. 0: to as
-- many as the email has recipients, or it is not known.
ALTER TABLE hop ADD COLUMN recipients INTEGER NOT NULL DEFAULT 0;
