-- The tables of Postern; schema/README.md has their picture.
--
-- Ids are UUIDs in lower case. Times are microseconds since 1970 in UTC; 0 is
-- never. Lists of mailboxes have one on each line.

CREATE TABLE company (
	id TEXT NOT NULL PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	created_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE domain (
	id TEXT NOT NULL PRIMARY KEY,
	company_id TEXT NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- A-labels in lower case, no dot at the end
	name TEXT NOT NULL CHECK (name <> '' AND name = lower(name)),
	active INTEGER NOT NULL CHECK (active IN (0, 1)),
	-- who but the company's keys sends as the domain, see schema/README.md
	policy TEXT NOT NULL DEFAULT 'exclusive'
		CHECK (policy IN ('exclusive', 'learn', 'shared')),
	-- whether all this holds for the names below it too
	subdomains TEXT NOT NULL DEFAULT 'own'
		CHECK (subdomains IN ('own', 'covered')),
	-- 1: its company asked for it and nobody let it have it yet. Such a row
	-- reserves nothing and has no effect on mail but that company's own.
	pending INTEGER NOT NULL DEFAULT 0
		CHECK (pending IN (0, 1) AND pending + active < 2),
	created_us INTEGER NOT NULL,
	UNIQUE (company_id, name),
	-- for the reference of api_key
	UNIQUE (company_id, id)
) STRICT, WITHOUT ROWID;

-- One owner for each name; any number of companies may ask for it.
CREATE UNIQUE INDEX domain_registered ON domain (name) WHERE pending = 0;

-- Who sends as an exclusive domain without a key.
CREATE TABLE exemption (
	id TEXT NOT NULL PRIMARY KEY,
	domain_id TEXT NOT NULL REFERENCES domain (id) ON DELETE CASCADE,
	kind TEXT NOT NULL CHECK (kind IN ('login', 'client', 'sender')),
	-- a SASL login, an address or network, an address of the domain
	value TEXT NOT NULL CHECK (value <> ''),
	created_us INTEGER NOT NULL,
	UNIQUE (domain_id, kind, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_key (
	id TEXT NOT NULL PRIMARY KEY,
	company_id TEXT NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- restricted to this domain; NULL: to none
	domain_id TEXT,
	name TEXT NOT NULL,
	-- SHA-256 of the token, which is stored nowhere
	hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
	-- sum of 1 sending, 2 reading, 4 managing
	scopes INTEGER NOT NULL CHECK (scopes > 0),
	created_us INTEGER NOT NULL,
	last_used_us INTEGER NOT NULL DEFAULT 0,
	revoked_us INTEGER NOT NULL DEFAULT 0,
	-- A key is restricted to a domain of its own company, and goes with it:
	-- SET NULL would widen the key.
	FOREIGN KEY (company_id, domain_id) REFERENCES domain (company_id, id)
		ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Also serves the reference to company alone, and the list of its keys.
CREATE INDEX api_key_by_domain ON api_key (company_id, domain_id);

-- An email outlives its company, domain and key, so it refers to none of them:
-- whoever asks later whether a message went out gets an answer.
CREATE TABLE email (
	-- in the order of being staged: newest first is seq descending
	seq INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	ticket TEXT NOT NULL UNIQUE,
	company_id TEXT NOT NULL,
	key_id TEXT NOT NULL,
	domain TEXT NOT NULL,
	sender TEXT NOT NULL,
	-- the envelope: 16 hexadecimal digits of the SHA-256 of each address,
	-- sorted; NULL when Postfix shows the milter others than it was given
	recipients TEXT,
	header_from TEXT NOT NULL,
	header_to TEXT NOT NULL,
	header_cc TEXT NOT NULL,
	bcc TEXT NOT NULL,
	reply_to TEXT NOT NULL,
	subject TEXT NOT NULL,
	message_id TEXT NOT NULL,
	created_us INTEGER NOT NULL,
	state TEXT NOT NULL DEFAULT 'staged'
		CHECK (state IN ('staged', 'sent', 'refused')),
	-- since when it is sent or refused
	decided_us INTEGER NOT NULL DEFAULT 0,
	queue_id TEXT,
	last_event TEXT,
	refusal TEXT CHECK ((refusal IS NOT NULL) = (state = 'refused')),
	-- NULL: that it is sent proves that Postfix has it; else it does as long
	-- as this is the run of the system and of Postfix; '': never
	run TEXT
) STRICT;

-- Rows of one company, or of one domain, lie in these in the order of seq.
CREATE INDEX email_by_company ON email (company_id);
CREATE INDEX email_by_domain ON email (domain);
-- Few emails are refused; the others cost this nothing.
CREATE INDEX email_refused ON email (decided_us) WHERE state = 'refused';
-- Only those that the client chose; the others begin with the id.
CREATE INDEX email_chosen ON email (message_id)
	WHERE substr(message_id, 2, 36) <> id;
-- For removing what is too old: what is on its way, or never became anything.
CREATE INDEX email_staged ON email (created_us)
	WHERE state = 'staged' AND queue_id IS NULL;

-- Apart, so that the milter's note on an email rewrites nothing large.
CREATE TABLE email_content (
	seq INTEGER PRIMARY KEY REFERENCES email (seq) ON DELETE CASCADE,
	html TEXT NOT NULL,
	text TEXT NOT NULL,
	-- what the client said about the email, as JSON: an array of objects
	-- with name and value, and an object
	tags TEXT NOT NULL DEFAULT '[]',
	variables TEXT NOT NULL DEFAULT '{}'
) STRICT;

-- Tickets that were taken from an email when it was given another one. They
-- stay when the email goes: as long as a message that carries one may come, it
-- must not pass.
CREATE TABLE superseded_ticket (
	ticket TEXT NOT NULL PRIMARY KEY,
	email_id TEXT NOT NULL,
	-- of the email
	created_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- For removing what is too old.
CREATE INDEX superseded_ticket_by_age ON superseded_ticket (created_us);

-- What was answered to the requests of a company that had an Idempotency-Key.
CREATE TABLE idempotency (
	company_id TEXT NOT NULL,
	-- SHA-256 of the key, and of the request
	key_hash BLOB NOT NULL CHECK (length(key_hash) = 32),
	payload BLOB NOT NULL CHECK (length(payload) = 32),
	created_us INTEGER NOT NULL,
	-- 1: the results are final; 0: what became of the emails tells
	settled INTEGER NOT NULL CHECK (settled IN (0, 1)),
	-- a line for each email: its id, or ! and why it was not sent
	results TEXT NOT NULL,
	PRIMARY KEY (company_id, key_hash)
) STRICT, WITHOUT ROWID;

-- For removing what is too old.
CREATE INDEX idempotency_by_age ON idempotency (created_us);

-- Mail without a ticket that the rules stopped, or would have; equal ones are
-- one row. Texts are those of strangers, cut; '' stands for none.
CREATE TABLE refusal (
	seq INTEGER PRIMARY KEY,
	outcome TEXT NOT NULL CHECK
		(outcome IN ('rejected', 'held', 'discarded', 'learnt')),
	reason TEXT NOT NULL,
	domain TEXT NOT NULL,
	origin TEXT NOT NULL,
	client TEXT NOT NULL,
	login TEXT NOT NULL,
	sender TEXT NOT NULL,
	header_from TEXT NOT NULL,
	count INTEGER NOT NULL DEFAULT 1,
	first_us INTEGER NOT NULL,
	last_us INTEGER NOT NULL,
	-- of the last one
	queue_id TEXT NOT NULL,
	UNIQUE (domain, outcome, reason, origin, client, login, sender,
		header_from)
) STRICT;

CREATE INDEX refusal_by_time ON refusal (last_us);
CREATE INDEX refusal_by_domain ON refusal (domain, last_us);

-- Mail that the milter has had Postfix hold: the queue file says neither that it
-- was the rules, nor why. A row may outlive its message.
CREATE TABLE held (
	seq INTEGER PRIMARY KEY,
	queue_id TEXT NOT NULL UNIQUE,
	held_us INTEGER NOT NULL,
	reason TEXT NOT NULL,
	domain TEXT NOT NULL,
	header_from TEXT NOT NULL
) STRICT;
