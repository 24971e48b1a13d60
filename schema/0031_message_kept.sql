-- The messages of emails that have left the outbox, by when they did: they go after
-- retention.messages. A row whose email is gone says nothing.
CREATE TABLE message_kept (
	left_us INTEGER NOT NULL,
	email INTEGER NOT NULL,
	PRIMARY KEY (left_us, email)
) STRICT, WITHOUT ROWID;
