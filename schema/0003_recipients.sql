-- The recipients of an email, one row each, in the order to, cc, bcc. They lie
-- beside each other, so that all of one email cost one look-up.
CREATE TABLE email_recipient (
	email INTEGER NOT NULL REFERENCES email (seq) ON DELETE CASCADE,
	n INTEGER NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('to', 'cc', 'bcc')),
	-- as the envelope has it
	address TEXT NOT NULL,
	-- as it was given, `Name <address>`; NULL: the address alone
	mailbox TEXT,
	-- what became of the email for this recipient; NULL: the row is not in
	-- the envelope, because only the header names it, or an earlier row does
	state TEXT,
	PRIMARY KEY (email, n)
) STRICT, WITHOUT ROWID;

-- Each line of the three lists becomes a row: `address` or `Name <address>`,
-- with the address behind the last ` <`.
WITH RECURSIVE
	list (email, part, kind, lines) AS (
		SELECT seq, 1, 'to', header_to || char(10) FROM email
			WHERE header_to <> ''
		UNION ALL SELECT seq, 2, 'cc', header_cc || char(10) FROM email
			WHERE header_cc <> ''
		UNION ALL SELECT seq, 3, 'bcc', bcc || char(10) FROM email
			WHERE bcc <> ''),
	line (email, part, kind, i, text, rest) AS (
		SELECT email, part, kind, 0,
			substr(lines, 1, instr(lines, char(10)) - 1),
			substr(lines, instr(lines, char(10)) + 1) FROM list
		UNION ALL SELECT email, part, kind, i + 1,
			substr(rest, 1, instr(rest, char(10)) - 1),
			substr(rest, instr(rest, char(10)) + 1)
			FROM line WHERE rest <> ''),
	-- behind: what follows the first ` <`, then the next, until none follows;
	-- NULL: there is no name
	tail (email, part, kind, i, text, behind) AS (
		SELECT email, part, kind, i, text,
			CASE WHEN text LIKE '% <%>'
				THEN substr(text, instr(text, ' <') + 2) END
			FROM line
		UNION ALL SELECT email, part, kind, i, text,
			substr(behind, instr(behind, ' <') + 2)
			FROM tail WHERE behind LIKE '% <%>'),
	one (email, part, kind, i, text, address) AS (
		SELECT email, part, kind, i, text,
			coalesce(substr(behind, 1, length(behind) - 1), text)
			FROM tail WHERE behind IS NULL OR behind NOT LIKE '% <%>')
INSERT INTO email_recipient (email, n, kind, address, mailbox, state)
	SELECT email,
		row_number() OVER (PARTITION BY email ORDER BY part, i) - 1,
		kind, address, CASE WHEN address <> text THEN text END,
		CASE WHEN row_number() OVER (PARTITION BY email, address
			ORDER BY part, i) = 1 THEN 'queued' END
	FROM one;

ALTER TABLE email DROP COLUMN recipients;
ALTER TABLE email DROP COLUMN header_to;
ALTER TABLE email DROP COLUMN header_cc;
ALTER TABLE email DROP COLUMN bcc;
