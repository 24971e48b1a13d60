-- The domain that bounces of a domain's emails come back to; NULL: to their senders.
ALTER TABLE domain ADD COLUMN return_path TEXT;
