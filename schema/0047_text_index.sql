-- What emails are searched by: their subjects, addresses, names and Message-IDs, as plain text
-- without letter case, those of many emails of one company beside each other. postern-httpd fills
-- it behind the emails, so that staging one costs nothing here.
CREATE TABLE text_block (
	block INTEGER PRIMARY KEY,
	company_id TEXT NOT NULL,
	-- the oldest and the newest email in it
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	-- for each: a line break, its seq as 16 hexadecimal digits, a tab, its text
	text BLOB NOT NULL
) STRICT;
-- Blocks of a company have no email in common, nor one between two of another.
CREATE UNIQUE INDEX text_block_by_company ON text_block (company_id, last, first);

-- The one row: blocks have the emails from low to high. New ones come behind high; those that
-- were there before, down from low.
CREATE TABLE text_range (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	low INTEGER NOT NULL,
	high INTEGER NOT NULL
) STRICT;
INSERT INTO text_range (one, low, high)
	SELECT 1, coalesce(max(seq), 0) + 1, coalesce(max(seq), 0) FROM email;

-- Emails of which a block says something that is true no longer: the email, or a recipient of
-- it, was removed.
CREATE TABLE text_stale (
	seq INTEGER PRIMARY KEY,
	company_id TEXT NOT NULL
) STRICT;
CREATE TRIGGER text_of_email_gone AFTER DELETE ON email BEGIN
	INSERT OR IGNORE INTO text_stale (seq, company_id)
		SELECT old.seq, old.company_id FROM text_range
		WHERE old.seq BETWEEN low AND high;
	-- The next email may get the number of the newest one that was removed.
	UPDATE text_range SET (high, low) =
			(SELECT coalesce(max(seq), 0), min(low, coalesce(max(seq), 0) + 1) FROM email)
		WHERE high > (SELECT coalesce(max(seq), 0) FROM email);
END;
CREATE TRIGGER text_of_recipient_gone AFTER DELETE ON email_recipient
	WHEN EXISTS (SELECT 1 FROM email WHERE seq = old.email) BEGIN
	INSERT OR IGNORE INTO text_stale (seq, company_id)
		SELECT old.email, old.company_id FROM text_range
		WHERE old.email BETWEEN low AND high;
END;
