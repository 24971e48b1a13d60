-- Tickets of no email: postfix-conf/check submits a message for one and finds
-- out by it whether Postfix asks the milter.
CREATE TABLE probe (
	ticket TEXT NOT NULL PRIMARY KEY,
	created_us INTEGER NOT NULL,
	-- when the milter was asked about the message, and as which
	seen_us INTEGER NOT NULL DEFAULT 0,
	queue_id TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
