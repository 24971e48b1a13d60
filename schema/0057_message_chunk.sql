-- Large messages in a database that several hosts share: any of them can read them. Rows are written before the
-- email that has this id. With SQLite they are files, and there are no rows.
CREATE TABLE message_chunk (
	email_id TEXT NOT NULL,
	n INTEGER NOT NULL,
	created_us INTEGER NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (email_id, n)
) STRICT;
CREATE INDEX message_chunk_by_age ON message_chunk (created_us, email_id) WHERE n = 0;
