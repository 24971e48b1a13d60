-- By which links to attachments are signed, so that every host knows those of the others, and a restart ends none.
CREATE TABLE link_key (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	key BLOB NOT NULL CHECK (length(key) = 32)
) STRICT;
