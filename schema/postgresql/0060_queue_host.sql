-- As ../0060_queue_host.sql.
ALTER TABLE queue_message ADD COLUMN host text COLLATE "C" NOT NULL DEFAULT '';
UPDATE queue_message SET host = e.host FROM email e WHERE e.seq = queue_message.email AND e.host <> '';
ALTER TABLE queue_message DROP CONSTRAINT queue_message_pkey;
ALTER TABLE queue_message ADD PRIMARY KEY (queue_id, since_us, host);
ALTER INDEX hop_by_email RENAME TO queue_message_by_email;

ALTER TABLE ticket_message ADD COLUMN host text COLLATE "C" NOT NULL DEFAULT '';
UPDATE ticket_message SET host = e.host FROM email e WHERE e.seq = ticket_message.email AND e.host <> '';
ALTER TABLE ticket_message DROP CONSTRAINT ticket_message_pkey;
ALTER TABLE ticket_message ADD PRIMARY KEY (queue_id, since_us, host);
