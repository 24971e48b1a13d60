-- By which links to attachments are signed, so that every host knows those of the others, and a restart ends none.
CREATE TABLE link_key (
	one smallint PRIMARY KEY CHECK (one = 1),
	key bytea NOT NULL CHECK (length(key) = 32)
);
