-- What a domain has in the DNS, and the keys by which its mail is signed.

-- A key by which the signer signs (DKIM). The private half is the signer's file.
CREATE TABLE dkim_key (
	id TEXT PRIMARY KEY,
	company_id TEXT NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	domain_id TEXT NOT NULL REFERENCES domain (id) ON DELETE CASCADE,
	selector TEXT NOT NULL,
	-- base64 of a SubjectPublicKeyInfo
	public_key TEXT NOT NULL,
	-- new: to be published; signing: the one by which mail is signed; old: it signs no
	-- more, and stays published for mail that is under way
	state TEXT NOT NULL CHECK (state IN ('new', 'signing', 'old')),
	created_us INTEGER NOT NULL,
	-- when it came into this state
	changed_us INTEGER NOT NULL,
	UNIQUE (domain_id, selector)
) STRICT;
CREATE UNIQUE INDEX dkim_key_signing ON dkim_key (domain_id) WHERE state = 'signing';
CREATE UNIQUE INDEX dkim_key_new ON dkim_key (domain_id) WHERE state = 'new';
CREATE INDEX dkim_key_of_company ON dkim_key (company_id);

-- What the last look into the DNS has found for a domain.
CREATE TABLE domain_check (
	domain_id TEXT PRIMARY KEY REFERENCES domain (id) ON DELETE CASCADE,
	checked_us INTEGER NOT NULL,
	-- JSON: an array of objects with record, type, name, value, status, text
	records TEXT NOT NULL
) STRICT;
