-- What is to be submitted to Postfix, and the messages; schema/README.md.

-- The message of an email, as it goes to Postfix. It stays for retention.messages
-- when it has left the outbox.
CREATE TABLE message (
	email INTEGER PRIMARY KEY REFERENCES email (seq) ON DELETE CASCADE,
	size INTEGER NOT NULL,
	-- NULL: a file beside the database, which has the id of the email as its
	-- name
	content BLOB
) STRICT;

CREATE TABLE outbox (
	email INTEGER PRIMARY KEY REFERENCES email (seq) ON DELETE CASCADE,
	-- both are the email's and the message's
	company_id TEXT NOT NULL,
	size INTEGER NOT NULL,
	-- when postern-httpd looks at it next; 0: it has it in hand
	due_us INTEGER NOT NULL DEFAULT 0,
	-- submissions that Postfix or the milter have put off
	attempts INTEGER NOT NULL DEFAULT 0,
	-- 1: a message with the present ticket may be on its way to the milter
	ticket_used INTEGER NOT NULL DEFAULT 0,
	-- when Postfix's queue did not have the recorded message; 0: it was not
	-- looked at
	looked_us INTEGER NOT NULL DEFAULT 0,
	-- why the last attempt failed, or what it waits for
	reason TEXT
) STRICT;
-- What is in hand costs these nothing.
CREATE INDEX outbox_due ON outbox (due_us) WHERE due_us > 0;
CREATE INDEX outbox_due_of_company ON outbox (company_id, due_us)
	WHERE due_us > 0;

-- 1: the client was told the id before the milter had decided: the email is found
-- from then on, whatever becomes of it.
ALTER TABLE email ADD COLUMN answered INTEGER NOT NULL DEFAULT 0;

-- That a message came by SMTP was proof of nothing until now.
UPDATE email SET way = 'any'
	WHERE last_event IN ('sent', 'delivery_delayed') AND closed = 0
	AND way = 'smtp';
