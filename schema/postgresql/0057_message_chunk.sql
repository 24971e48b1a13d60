-- Large messages in a database that several hosts share: any of them can read them. Rows are written before the
-- email that has this id. With SQLite they are files, and there are no rows.
CREATE TABLE message_chunk (
	email_id text COLLATE "C" NOT NULL,
	n bigint NOT NULL,
	created_us bigint NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY (email_id, n)
);
-- Most of a message does not get smaller by compression, which would cost CPU time.
ALTER TABLE message_chunk ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX message_chunk_by_age ON message_chunk (created_us, email_id) WHERE n = 0;
