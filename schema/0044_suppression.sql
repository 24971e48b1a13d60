-- Whom a company sends nothing to: recipients of its emails with an address of
-- this list are not handed to Postfix. core/store/store_suppression.h.
CREATE TABLE suppression (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	company_id TEXT NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- what was sent as this domain; '': as any domain of the company
	domain TEXT NOT NULL,
	-- folded (core/address/addr.h)
	address TEXT NOT NULL,
	reason TEXT NOT NULL
		CHECK (reason IN ('bounce', 'complaint', 'unsubscribe', 'manual')),
	-- as the JSON API calls it
	origin TEXT NOT NULL GENERATED ALWAYS AS
		(iif(reason = 'unsubscribe', 'manual', reason)) VIRTUAL,
	-- the email that it became known by; NULL: none
	email_id TEXT,
	-- what the remote said: its SMTP code, its words
	code TEXT,
	text TEXT,
	-- of an unsubscribe: a JSON array of tags; NULL: all
	tags TEXT,
	created_us INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX suppression_of ON suppression
	(address, company_id, domain, reason);
CREATE INDEX suppression_by_address ON suppression
	(company_id, domain, reason, address);
CREATE INDEX suppression_newest_of_company ON suppression
	(company_id, created_us, id);
CREATE INDEX suppression_newest_of_origin ON suppression
	(company_id, origin, created_us, id);
CREATE INDEX suppression_newest_of_domain ON suppression
	(company_id, domain, origin, created_us, id);
CREATE INDEX suppression_newest ON suppression (created_us, id);

-- Addresses and domains for which no bounce is put into the list.
CREATE TABLE suppression_allowed (
	company_id TEXT NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- what was sent as this domain
	domain TEXT NOT NULL,
	-- an address, folded, or a domain
	value TEXT NOT NULL,
	reason TEXT NOT NULL,
	created_us INTEGER NOT NULL,
	PRIMARY KEY (company_id, domain, value)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER suppression_counted AFTER INSERT ON suppression BEGIN
	INSERT INTO company_count VALUES (new.company_id, 'suppressions', 1)
		ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER suppression_uncounted AFTER DELETE ON suppression BEGIN
	UPDATE company_count SET count = count - 1
		WHERE company_id = old.company_id AND kind = 'suppressions';
END;
CREATE TRIGGER suppression_allowed_counted AFTER INSERT ON suppression_allowed BEGIN
	INSERT INTO company_count VALUES (new.company_id, 'suppressions', 1)
		ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER suppression_allowed_uncounted AFTER DELETE ON suppression_allowed BEGIN
	UPDATE company_count SET count = count - 1
		WHERE company_id = old.company_id AND kind = 'suppressions';
END;

-- Emails that were suppressed are found like those in trouble.
DROP INDEX email_by_trouble;
CREATE INDEX email_by_trouble ON email (last_event, company_id)
	WHERE last_event IN
	('delivery_delayed', 'bounced', 'failed', 'suppressed', 'complained', 'canceled');
DROP INDEX email_by_trouble_of_all;
CREATE INDEX email_by_trouble_of_all ON email (last_event)
	WHERE last_event IN
	('delivery_delayed', 'bounced', 'failed', 'suppressed', 'complained', 'canceled');
