-- What is sent again is put into the outbox by whoever asks for it.

-- 1: by another program than postern-httpd, or by an operation; it counts for
-- outbox.max_bytes from when postern-httpd takes it.
ALTER TABLE outbox ADD COLUMN joined INTEGER NOT NULL DEFAULT 0;
