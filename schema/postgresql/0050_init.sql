-- The tables of Postern for PostgreSQL: what the steps of schema/ up to this number make of a
-- database of SQLite. schema/README.md has their picture, and explains both folders.
--
-- Texts are compared byte by byte, and their letter case is that of ASCII, whatever the locale
-- of the database: hence COLLATE "C". Flags are 0 and 1, as in SQLite. An index of SQLite ends
-- with the key of its table by itself; here the key is written down.

-- Functions of SQLite that statements of both engines call.

CREATE FUNCTION instr(whole text, part text) RETURNS integer
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT strpos(whole, part) $$;

CREATE FUNCTION iif(condition boolean, a anycompatible, b anycompatible) RETURNS anycompatible
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT CASE WHEN condition THEN a ELSE b END $$;

CREATE FUNCTION hex(data bytea) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT upper(encode(data, 'hex')) $$;

CREATE FUNCTION hex(data text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT upper(encode(convert_to(data, 'UTF8'), 'hex')) $$;

CREATE FUNCTION max(a bigint, b bigint) RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT CASE WHEN a >= b THEN a WHEN a < b THEN b END $$;

CREATE FUNCTION max(a bigint, b bigint, c bigint) RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT max(max(a, b), c) $$;

CREATE FUNCTION min(a bigint, b bigint) RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT CASE WHEN a <= b THEN a WHEN a > b THEN b END $$;

CREATE FUNCTION group_concat_step(state text, item text, separator text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$
	SELECT CASE WHEN item IS NULL THEN state ELSE coalesce(state || separator, '') || item END
	$$;

CREATE AGGREGATE group_concat(item text, separator text) (
	SFUNC = group_concat_step,
	STYPE = text
);

-- The elements of an array. Found before pg_catalog.json_each(json), since its argument is a text.
CREATE TYPE json_element AS (
	key bigint,
	value text COLLATE "C"
);
CREATE FUNCTION json_each(elements text) RETURNS SETOF json_element
	LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10
	AS $$
	SELECT n - 1, value
	FROM json_array_elements_text(elements::json) WITH ORDINALITY AS e (value, n)
	$$;

-- An object without one of its members; the path is `$.name`.
CREATE FUNCTION json_remove(object text, path text) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	AS $$
	SELECT '{' || coalesce(string_agg(to_json(key)::text || ':' || value, ',' ORDER BY n), '') || '}'
	FROM pg_catalog.json_each(object::json) WITH ORDINALITY AS m (key, value, n)
	WHERE key <> substr(path, 3)
	$$;

CREATE FUNCTION json_group_array_step(state text, item text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT coalesce(state || ',', '') || coalesce(to_json(item)::text, 'null') $$;

CREATE FUNCTION json_group_array_end(state text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT '[' || coalesce(state, '') || ']' $$;

CREATE AGGREGATE json_group_array(item text) (
	SFUNC = json_group_array_step,
	STYPE = text,
	FINALFUNC = json_group_array_end
);

CREATE TABLE company (
	id text COLLATE "C" NOT NULL PRIMARY KEY,
	name text COLLATE "C" NOT NULL UNIQUE,
	created_us bigint NOT NULL
);

CREATE TABLE domain (
	id text COLLATE "C" NOT NULL PRIMARY KEY,
	company_id text COLLATE "C" NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- A-labels in lower case, no dot at the end
	name text COLLATE "C" NOT NULL CHECK (name <> '' AND name = lower(name)),
	active smallint NOT NULL CHECK (active IN (0, 1)),
	-- who but the company's keys sends as the domain, see schema/README.md
	policy text COLLATE "C" NOT NULL DEFAULT 'exclusive'
		CHECK (policy IN ('exclusive', 'learn', 'shared')),
	-- whether all this holds for the names below it too
	subdomains text COLLATE "C" NOT NULL DEFAULT 'own'
		CHECK (subdomains IN ('own', 'covered')),
	-- 1: its company asked for it and nobody let it have it yet. Such a row
	-- reserves nothing and has no effect on mail but that company's own.
	pending smallint NOT NULL DEFAULT 0
		CHECK (pending IN (0, 1) AND pending + active < 2),
	created_us bigint NOT NULL,
	return_path text COLLATE "C",
	unsubscribe text COLLATE "C" NOT NULL DEFAULT 'off'
		CHECK (unsubscribe IN ('off', 'on')),
	UNIQUE (company_id, name),
	-- for the reference of api_key
	UNIQUE (company_id, id)
);
CREATE UNIQUE INDEX domain_registered ON domain (name) WHERE pending = 0;
CREATE INDEX domain_by_name ON domain (name, id);
CREATE INDEX domain_by_age ON domain (company_id, created_us, id);
CREATE INDEX domain_pending ON domain (company_id, name) WHERE pending = 1;
CREATE INDEX domain_learning ON domain (company_id, name) WHERE policy = 'learn' AND pending = 0;

CREATE TABLE exemption (
	id text COLLATE "C" NOT NULL PRIMARY KEY,
	domain_id text COLLATE "C" NOT NULL REFERENCES domain (id) ON DELETE CASCADE,
	kind text COLLATE "C" NOT NULL CHECK (kind IN ('login', 'client', 'sender')),
	-- a SASL login, an address or network, an address of the domain
	value text COLLATE "C" NOT NULL CHECK (value <> ''),
	created_us bigint NOT NULL,
	reach text COLLATE "C" NOT NULL DEFAULT 'anywhere'
		CHECK (reach = 'anywhere' OR (reach = 'local' AND kind = 'sender')),
	company_id text COLLATE "C" NOT NULL DEFAULT '',
	UNIQUE (domain_id, kind, value)
);
CREATE INDEX exemption_by_age ON exemption (created_us, id);
CREATE INDEX exemption_by_company ON exemption (company_id, created_us, id);
CREATE INDEX exemption_by_domain ON exemption (domain_id, created_us, id);

CREATE TABLE api_key (
	id text COLLATE "C" NOT NULL PRIMARY KEY,
	company_id text COLLATE "C" NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- restricted to this domain; NULL: to none
	domain_id text COLLATE "C",
	name text COLLATE "C" NOT NULL,
	-- SHA-256 of the token, which is stored nowhere
	hash bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
	-- sum of 1 sending, 2 reading, 4 managing
	scopes bigint NOT NULL CHECK (scopes > 0),
	created_us bigint NOT NULL,
	last_used_us bigint NOT NULL DEFAULT 0,
	revoked_us bigint NOT NULL DEFAULT 0,
	-- A key is restricted to a domain of its own company, and goes with it:
	-- SET NULL would widen the key.
	FOREIGN KEY (company_id, domain_id) REFERENCES domain (company_id, id)
		ON DELETE CASCADE
);
CREATE INDEX api_key_by_domain ON api_key (company_id, domain_id);
CREATE INDEX api_key_by_age ON api_key (created_us, id);
CREATE INDEX api_key_by_company ON api_key (company_id, created_us, id);
CREATE INDEX api_key_valid ON api_key (created_us, id) WHERE revoked_us = 0;
CREATE INDEX api_key_valid_of_company ON api_key (company_id, created_us, id)
	WHERE revoked_us = 0;
CREATE INDEX api_key_valid_of_domain ON api_key (company_id, domain_id, created_us, id)
	WHERE revoked_us = 0 AND domain_id IS NOT NULL;
CREATE INDEX api_key_revoked ON api_key (company_id, revoked_us) WHERE revoked_us > 0;

CREATE TABLE email (
	-- in the order of being staged: newest first is seq descending
	seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	id text COLLATE "C" NOT NULL UNIQUE,
	ticket text COLLATE "C" NOT NULL UNIQUE,
	company_id text COLLATE "C" NOT NULL,
	key_id text COLLATE "C" NOT NULL,
	domain text COLLATE "C" NOT NULL,
	sender text COLLATE "C" NOT NULL,
	header_from text COLLATE "C" NOT NULL,
	reply_to text COLLATE "C" NOT NULL,
	subject text COLLATE "C" NOT NULL,
	message_id text COLLATE "C" NOT NULL,
	created_us bigint NOT NULL,
	state text COLLATE "C" NOT NULL DEFAULT 'staged'
		CHECK (state IN ('staged', 'sent', 'refused')),
	-- since when it is sent or refused
	decided_us bigint NOT NULL DEFAULT 0,
	queue_id text COLLATE "C",
	last_event text COLLATE "C",
	refusal text COLLATE "C" CHECK ((refusal IS NOT NULL) = (state = 'refused')),
	-- NULL: that it is sent proves that Postfix has it; else it does as long
	-- as this is the run of the system and of Postfix; '': never
	run text COLLATE "C",
	closed smallint NOT NULL DEFAULT 0,
	way text COLLATE "C" NOT NULL DEFAULT 'any',
	answered smallint NOT NULL DEFAULT 0,
	scheduled_us bigint NOT NULL DEFAULT 0,
	nonce text COLLATE "C" NOT NULL DEFAULT ''
);
CREATE INDEX email_by_company ON email (company_id, seq);
CREATE INDEX email_by_queue_id ON email (queue_id, decided_us, seq) WHERE queue_id IS NOT NULL;
CREATE INDEX email_open ON email (decided_us, last_event, seq)
	WHERE last_event IN ('sent', 'delivery_delayed') AND closed = 0;
CREATE INDEX email_by_domain ON email (domain, company_id, seq);
CREATE INDEX email_chosen ON email (message_id, company_id, seq)
	WHERE substr(message_id, 2, 36) <> id;
CREATE INDEX email_staged ON email
	(company_id, last_event, max(created_us, scheduled_us), seq)
	WHERE state = 'staged' AND queue_id IS NULL;
CREATE INDEX email_refused ON email (decided_us, seq)
	WHERE state = 'refused' AND last_event IS DISTINCT FROM 'canceled';
CREATE INDEX email_refused_by_company ON email (company_id, decided_us, seq)
	WHERE state = 'refused' AND last_event IS DISTINCT FROM 'canceled';
CREATE INDEX email_by_trouble ON email (last_event, company_id, seq)
	WHERE last_event IN
	('delivery_delayed', 'bounced', 'failed', 'suppressed', 'complained', 'canceled');
CREATE INDEX email_by_trouble_of_all ON email (last_event, seq)
	WHERE last_event IN
	('delivery_delayed', 'bounced', 'failed', 'suppressed', 'complained', 'canceled');

CREATE TABLE email_content (
	seq bigint PRIMARY KEY REFERENCES email (seq) ON DELETE CASCADE,
	html text COLLATE "C" NOT NULL,
	text text COLLATE "C" NOT NULL,
	-- what the client said about the email, as JSON: an array of objects
	-- with name and value, and an object
	tags text COLLATE "C" NOT NULL DEFAULT '[]',
	variables text COLLATE "C" NOT NULL DEFAULT '{}'
);

CREATE TABLE superseded_ticket (
	ticket text COLLATE "C" NOT NULL PRIMARY KEY,
	email_id text COLLATE "C" NOT NULL,
	-- of the email
	created_us bigint NOT NULL
);
CREATE INDEX superseded_ticket_by_age ON superseded_ticket (created_us);

CREATE TABLE idempotency (
	company_id text COLLATE "C" NOT NULL,
	-- SHA-256 of the key, and of the request
	key_hash bytea NOT NULL CHECK (length(key_hash) = 32),
	payload bytea NOT NULL CHECK (length(payload) = 32),
	created_us bigint NOT NULL,
	-- 1: the results are final; 0: what became of the emails tells
	settled smallint NOT NULL CHECK (settled IN (0, 1)),
	-- a line for each email: its id, or ! and why it was not sent
	results text COLLATE "C" NOT NULL,
	PRIMARY KEY (company_id, key_hash)
);
CREATE INDEX idempotency_by_age ON idempotency (created_us);

CREATE TABLE refusal (
	seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	outcome text COLLATE "C" NOT NULL CHECK
		(outcome IN ('rejected', 'held', 'discarded', 'learnt')),
	reason text COLLATE "C" NOT NULL,
	domain text COLLATE "C" NOT NULL,
	origin text COLLATE "C" NOT NULL,
	client text COLLATE "C" NOT NULL,
	login text COLLATE "C" NOT NULL,
	sender text COLLATE "C" NOT NULL,
	header_from text COLLATE "C" NOT NULL,
	count bigint NOT NULL DEFAULT 1,
	first_us bigint NOT NULL,
	last_us bigint NOT NULL,
	-- of the last one
	queue_id text COLLATE "C" NOT NULL,
	company_id text COLLATE "C" NOT NULL DEFAULT '',
	UNIQUE (domain, outcome, reason, origin, client, login, sender, header_from)
);
CREATE INDEX refusal_by_time ON refusal (last_us, seq);
CREATE INDEX refusal_by_domain ON refusal (domain, last_us, seq);
CREATE INDEX refusal_by_company ON refusal (company_id, last_us, seq);
CREATE INDEX refusal_learnt ON refusal (last_us, seq) WHERE outcome = 'learnt';
CREATE INDEX refusal_learnt_by_domain ON refusal (domain, last_us, seq) WHERE outcome = 'learnt';
CREATE INDEX refusal_learnt_by_company ON refusal (company_id, last_us, seq)
	WHERE outcome = 'learnt';
CREATE INDEX refusal_by_owner ON refusal (company_id, domain, last_us, seq);
CREATE INDEX refusal_learnt_by_owner ON refusal (company_id, domain, last_us, seq)
	WHERE outcome = 'learnt';

CREATE TABLE held (
	seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	queue_id text COLLATE "C" NOT NULL UNIQUE,
	held_us bigint NOT NULL,
	reason text COLLATE "C" NOT NULL,
	domain text COLLATE "C" NOT NULL,
	header_from text COLLATE "C" NOT NULL
);

CREATE TABLE email_recipient (
	email bigint NOT NULL REFERENCES email (seq) ON DELETE CASCADE,
	n bigint NOT NULL,
	kind text COLLATE "C" NOT NULL CHECK (kind IN ('to', 'cc', 'bcc')),
	-- as the envelope has it
	address text COLLATE "C" NOT NULL,
	-- as it was given, `Name <address>`; NULL: the address alone
	mailbox text COLLATE "C",
	-- what became of the email for this recipient; NULL: the row is not in
	-- the envelope, because only the header names it, or an earlier row does
	state text COLLATE "C",
	attempts bigint NOT NULL DEFAULT 0,
	changed_us bigint NOT NULL DEFAULT 0,
	relay text COLLATE "C",
	dsn text COLLATE "C",
	text text COLLATE "C",
	company_id text COLLATE "C" NOT NULL DEFAULT '',
	PRIMARY KEY (email, n)
);
CREATE INDEX email_recipient_by_address ON email_recipient
	(lower(address), company_id, email);
CREATE INDEX email_recipient_by_state ON email_recipient (state, company_id, email)
	WHERE state IN
	('deferred', 'bounced', 'expired', 'discarded', 'removed', 'unknown', 'complained',
	'suppressed');

CREATE TABLE probe (
	ticket text COLLATE "C" NOT NULL PRIMARY KEY,
	created_us bigint NOT NULL,
	-- when the milter was asked about the message, and as which
	seen_us bigint NOT NULL DEFAULT 0,
	queue_id text COLLATE "C" NOT NULL DEFAULT '',
	through smallint NOT NULL DEFAULT 0,
	changed smallint NOT NULL DEFAULT 0,
	logged_us bigint NOT NULL DEFAULT 0,
	taken_us bigint NOT NULL DEFAULT 0,
	refusal text COLLATE "C" NOT NULL DEFAULT '',
	way text COLLATE "C" NOT NULL DEFAULT 'any'
);

CREATE TABLE queue_message (
	queue_id text COLLATE "C" NOT NULL,
	since_us bigint NOT NULL,
	email bigint NOT NULL REFERENCES email (seq) ON DELETE CASCADE,
	-- all that is said of it concerns this recipient; NULL: its addresses tell
	n bigint,
	-- the queue id of the message that it came from
	parent text COLLATE "C",
	how text COLLATE "C" NOT NULL CHECK (how IN
		('milter', 'forwarded', 'queued_as', 'orig_id', 'message_id')),
	-- when it left the queue; 0: not yet
	closed_us bigint NOT NULL DEFAULT 0,
	ended text COLLATE "C",
	ended_us bigint NOT NULL DEFAULT 0,
	recipients bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (queue_id, since_us)
);
CREATE INDEX hop_by_email ON queue_message (email);

CREATE TABLE log_cursor (
	source text COLLATE "C" NOT NULL PRIMARY KEY,
	position text COLLATE "C" NOT NULL,
	changed_us bigint NOT NULL,
	end_us bigint NOT NULL DEFAULT 0
);

CREATE TABLE gap (
	seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	source text COLLATE "C" NOT NULL,
	why text COLLATE "C" NOT NULL,
	from_us bigint NOT NULL,
	to_us bigint NOT NULL,
	count bigint NOT NULL,
	-- when the queue was compared after it; 0: not yet
	repaired_us bigint NOT NULL DEFAULT 0
);
CREATE INDEX gap_open ON gap (source, why, seq) WHERE repaired_us = 0;

CREATE TABLE email_tag (
	email bigint NOT NULL REFERENCES email (seq) ON DELETE CASCADE,
	tag text COLLATE "C" NOT NULL,
	company_id text COLLATE "C" NOT NULL DEFAULT '',
	PRIMARY KEY (email, tag)
);
CREATE INDEX email_tag_by_tag ON email_tag (tag, company_id, email);

CREATE TABLE event_count (
	company_id text COLLATE "C" NOT NULL,
	-- the begin of the hour
	hour_us bigint NOT NULL,
	domain text COLLATE "C" NOT NULL,
	kind text COLLATE "C" NOT NULL,
	count bigint NOT NULL,
	PRIMARY KEY (company_id, hour_us, domain, kind)
);
CREATE INDEX event_count_by_domain ON event_count (domain, company_id, hour_us);

CREATE TABLE audit (
	seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	id text COLLATE "C" NOT NULL UNIQUE,
	at_us bigint NOT NULL,
	-- command, key or user; system: a program by itself
	actor text COLLATE "C" NOT NULL,
	actor_id text COLLATE "C" NOT NULL,
	actor_name text COLLATE "C" NOT NULL,
	-- an address, a terminal
	origin text COLLATE "C" NOT NULL,
	-- whose the object is; NULL: of no company
	company_id text COLLATE "C",
	action text COLLATE "C" NOT NULL,
	object_id text COLLATE "C" NOT NULL,
	object_name text COLLATE "C" NOT NULL,
	-- the columns as a JSON object; NULL: there was no such row, or is none
	before text COLLATE "C",
	after text COLLATE "C",
	operator smallint NOT NULL DEFAULT 0,
	CHECK (before IS NOT NULL OR after IS NOT NULL)
);
CREATE INDEX audit_by_company ON audit (company_id, seq);
CREATE INDEX audit_by_object ON audit (object_id, seq);
CREATE INDEX audit_by_name ON audit (object_name, seq);

CREATE TABLE event (
	seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	-- a hash of what was said: the same fact is stored once, whatever source
	-- tells of it, and however often. It is the event's public id as well.
	key bytea NOT NULL,
	email bigint NOT NULL REFERENCES email (seq) ON DELETE CASCADE,
	n bigint NOT NULL,
	-- the email's
	domain text COLLATE "C" NOT NULL,
	kind text COLLATE "C" NOT NULL,
	-- of how many so far
	attempt bigint NOT NULL,
	occurred_us bigint NOT NULL,
	recorded_us bigint NOT NULL,
	-- where an alias led; NULL: the recipient itself
	address text COLLATE "C",
	relay text COLLATE "C",
	dsn text COLLATE "C",
	text text COLLATE "C",
	-- log, queue, dsn, report
	source text COLLATE "C" NOT NULL,
	company_id text COLLATE "C" NOT NULL DEFAULT '',
	UNIQUE (email, key)
);
CREATE INDEX event_by_domain ON event (company_id, domain, recorded_us, seq, kind);

CREATE TABLE event_last (
	seq bigint NOT NULL,
	recorded_us bigint NOT NULL
);

CREATE TABLE admin_user (
	id text COLLATE "C" NOT NULL PRIMARY KEY,
	-- NULL: an operator, who sees every company
	company_id text COLLATE "C" REFERENCES company (id) ON DELETE CASCADE,
	login text COLLATE "C" NOT NULL UNIQUE CHECK (login <> ''),
	role text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'owner')),
	-- Argon2id; NULL: there is none, and nobody gets in by one
	password text COLLATE "C",
	created_us bigint NOT NULL,
	password_us bigint NOT NULL DEFAULT 0,
	last_login_us bigint NOT NULL DEFAULT 0,
	totp_secret bytea CHECK (length(totp_secret) = 20),
	totp_us bigint NOT NULL DEFAULT 0,
	totp_step bigint NOT NULL DEFAULT 0,
	login_folded text COLLATE "C"
);
CREATE UNIQUE INDEX admin_user_by_login_folded ON admin_user (login_folded);
CREATE INDEX admin_user_by_company ON admin_user (company_id, login, id);

CREATE TABLE admin_session (
	id text COLLATE "C" NOT NULL PRIMARY KEY,
	user_id text COLLATE "C" NOT NULL REFERENCES admin_user (id) ON DELETE CASCADE,
	-- browser: a cookie; token: for automation; link: a browser session for
	-- whoever opens it first
	kind text COLLATE "C" NOT NULL CHECK (kind IN ('browser', 'token', 'link')),
	-- SHA-256 of the token, which is stored nowhere
	hash bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
	name text COLLATE "C" NOT NULL,
	-- the address that it was made from
	origin text COLLATE "C" NOT NULL,
	created_us bigint NOT NULL,
	-- 0: never
	expires_us bigint NOT NULL,
	last_used_us bigint NOT NULL,
	company_id text COLLATE "C",
	made_by text COLLATE "C"
);
CREATE INDEX admin_session_by_end ON admin_session (expires_us);
CREATE INDEX admin_session_by_user ON admin_session (user_id, kind, created_us, id);
CREATE INDEX admin_token_by_age ON admin_session (created_us, id) WHERE kind = 'token';
CREATE INDEX admin_token_by_company ON admin_session (company_id, created_us, id)
	WHERE kind = 'token';
CREATE INDEX admin_token_by_maker ON admin_session (made_by) WHERE made_by IS NOT NULL;

CREATE TABLE admin_recovery (
	user_id text COLLATE "C" NOT NULL REFERENCES admin_user (id) ON DELETE CASCADE,
	-- SHA-256 of the code, which is stored nowhere
	hash bytea NOT NULL CHECK (length(hash) = 32),
	PRIMARY KEY (user_id, hash)
);

CREATE TABLE event_day (
	company_id text COLLATE "C" NOT NULL,
	-- the begin of the day, in UTC
	day_us bigint NOT NULL,
	domain text COLLATE "C" NOT NULL,
	kind text COLLATE "C" NOT NULL,
	count bigint NOT NULL,
	PRIMARY KEY (company_id, day_us, domain, kind)
);
CREATE INDEX event_day_by_domain ON event_day (domain, company_id, day_us);
CREATE INDEX event_day_bounced ON event_day (day_us, count)
	WHERE kind IN ('bounced', 'expired') AND count > 2;
CREATE INDEX event_day_bounced_of_company ON event_day (company_id, day_us, count)
	WHERE kind IN ('bounced', 'expired') AND count > 2;

CREATE TABLE delivery (
	email bigint NOT NULL REFERENCES email (seq) ON DELETE CASCADE,
	-- the queue message, as in hop; '': it was told of the recipient as a
	-- whole, by the queue or a report
	queue_id text COLLATE "C" NOT NULL,
	since_us bigint NOT NULL,
	-- as the log writes them; orig_to: before aliases, '' for none
	address text COLLATE "C" NOT NULL,
	orig_to text COLLATE "C" NOT NULL,
	-- a word of core/store/store_fate.c
	state text COLLATE "C" NOT NULL,
	-- who took it, a word of core/store/store_delivery.c
	via text COLLATE "C" NOT NULL,
	-- the queue id that this hop gave it; NULL: none
	child text COLLATE "C",
	-- when the last attempt began and ended
	began_us bigint NOT NULL,
	changed_us bigint NOT NULL,
	relay text COLLATE "C",
	dsn text COLLATE "C",
	text text COLLATE "C",
	PRIMARY KEY (email, queue_id, since_us, address, orig_to)
);

CREATE TABLE ticket_message (
	queue_id text COLLATE "C" NOT NULL,
	since_us bigint NOT NULL,
	email bigint NOT NULL REFERENCES email (seq) ON DELETE CASCADE,
	-- left: it left as it was; expired: it was in the queue for too long;
	-- NULL: neither is known
	ended text COLLATE "C",
	ended_us bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (queue_id, since_us)
);
CREATE INDEX ticket_message_by_end ON ticket_message (ended, ended_us) WHERE ended IS NOT NULL;
CREATE INDEX ticket_message_by_email ON ticket_message (email);

CREATE TABLE event_total (
	company_id text COLLATE "C" NOT NULL,
	hour_us bigint NOT NULL,
	kind text COLLATE "C" NOT NULL,
	count bigint NOT NULL,
	PRIMARY KEY (company_id, hour_us, kind)
);

CREATE TABLE event_domain (
	domain text COLLATE "C" NOT NULL,
	company_id text COLLATE "C" NOT NULL,
	PRIMARY KEY (domain, company_id)
);
CREATE INDEX event_domain_by_company ON event_domain (company_id, domain);

CREATE TABLE postfix_notes (
	id smallint PRIMARY KEY CHECK (id = 1),
	reloaded_us bigint NOT NULL,
	taken_us bigint NOT NULL -- the queue manager has taken a message
);

CREATE TABLE message (
	email bigint PRIMARY KEY REFERENCES email (seq) ON DELETE CASCADE,
	size bigint NOT NULL,
	-- NULL: a file beside the database, which has the id of the email as its
	-- name
	content bytea
);

CREATE TABLE outbox (
	email bigint PRIMARY KEY REFERENCES email (seq) ON DELETE CASCADE,
	-- both are the email's and the message's
	company_id text COLLATE "C" NOT NULL,
	size bigint NOT NULL,
	-- when postern-httpd looks at it next; 0: it has it in hand
	due_us bigint NOT NULL DEFAULT 0,
	-- submissions that Postfix or the milter have put off
	attempts bigint NOT NULL DEFAULT 0,
	-- 1: a message with the present ticket may be on its way to the milter
	ticket_used smallint NOT NULL DEFAULT 0,
	-- when Postfix's queue did not have the recorded message; 0: it was not
	-- looked at
	looked_us bigint NOT NULL DEFAULT 0,
	-- why the last attempt failed, or what it waits for
	reason text COLLATE "C",
	resumed_us bigint NOT NULL DEFAULT 0,
	joined smallint NOT NULL DEFAULT 0
);
CREATE INDEX outbox_due ON outbox (due_us, email) WHERE due_us > 0;
CREATE INDEX outbox_due_of_company ON outbox (company_id, due_us, email) WHERE due_us > 0;
CREATE INDEX outbox_of_company ON outbox (company_id, email);
CREATE INDEX outbox_put_off ON outbox (due_us, email)
	WHERE due_us > 0 AND (attempts > 0 OR ticket_used <> 0);
CREATE INDEX outbox_put_off_of_company ON outbox (company_id, due_us, email)
	WHERE due_us > 0 AND (attempts > 0 OR ticket_used <> 0);
CREATE INDEX outbox_joined ON outbox (company_id, size, email) WHERE joined = 1;

-- The open emails by last_event, in parts that are added up. Triggers of email keep it.
CREATE TABLE open_count_part (
	last_event text COLLATE "C" NOT NULL,
	-- of the connections of several writers
	part bigint NOT NULL,
	count bigint NOT NULL,
	PRIMARY KEY (last_event, part)
);
CREATE VIEW open_count AS
	SELECT last_event, CAST(sum(count) AS bigint) AS count
	FROM open_count_part GROUP BY last_event;

CREATE TABLE company_count (
	company_id text COLLATE "C" NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- as the settings of the section limits
	kind text COLLATE "C" NOT NULL,
	count bigint NOT NULL,
	PRIMARY KEY (company_id, kind)
);
CREATE INDEX company_count_of_suppressions ON company_count (count) WHERE kind = 'suppressions';

CREATE TABLE outbox_pause (
	seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	id text COLLATE "C" NOT NULL UNIQUE,
	company_id text COLLATE "C" NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- both NULL: all of the company
	domain_id text COLLATE "C" REFERENCES domain (id) ON DELETE CASCADE,
	key_id text COLLATE "C" REFERENCES api_key (id) ON DELETE CASCADE,
	reason text COLLATE "C" NOT NULL,
	created_us bigint NOT NULL
);
CREATE UNIQUE INDEX outbox_pause_of ON outbox_pause
	(company_id, coalesce(domain_id, ''), coalesce(key_id, ''));
CREATE INDEX outbox_pause_of_domain ON outbox_pause (domain_id) WHERE domain_id IS NOT NULL;
CREATE INDEX outbox_pause_of_key ON outbox_pause (key_id) WHERE key_id IS NOT NULL;

CREATE TABLE outbox_flow (
	minute_us bigint PRIMARY KEY,
	emails bigint NOT NULL
);

CREATE TABLE outbox_break (
	seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	-- away, no_records
	cause text COLLATE "C" NOT NULL,
	words text COLLATE "C" NOT NULL,
	opened_us bigint NOT NULL,
	-- 0: it is open
	closed_us bigint NOT NULL DEFAULT 0
);

CREATE TABLE message_kept (
	left_us bigint NOT NULL,
	email bigint NOT NULL,
	size bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (left_us, email)
);
CREATE INDEX message_kept_by_email ON message_kept (email);

CREATE TABLE dkim_key (
	id text COLLATE "C" PRIMARY KEY,
	company_id text COLLATE "C" NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	domain_id text COLLATE "C" NOT NULL REFERENCES domain (id) ON DELETE CASCADE,
	selector text COLLATE "C" NOT NULL,
	-- base64 of a SubjectPublicKeyInfo
	public_key text COLLATE "C" NOT NULL,
	-- new: to be published; signing: the one by which mail is signed; old: it signs no
	-- more, and stays published for mail that is under way
	state text COLLATE "C" NOT NULL CHECK (state IN ('new', 'signing', 'old')),
	created_us bigint NOT NULL,
	-- when it came into this state
	changed_us bigint NOT NULL,
	UNIQUE (domain_id, selector)
);
CREATE UNIQUE INDEX dkim_key_signing ON dkim_key (domain_id) WHERE state = 'signing';
CREATE UNIQUE INDEX dkim_key_new ON dkim_key (domain_id) WHERE state = 'new';
CREATE INDEX dkim_key_of_company ON dkim_key (company_id);

CREATE TABLE domain_check (
	domain_id text COLLATE "C" PRIMARY KEY REFERENCES domain (id) ON DELETE CASCADE,
	checked_us bigint NOT NULL,
	-- JSON: an array of objects with record, type, name, value, status, text
	records text COLLATE "C" NOT NULL
);

CREATE TABLE message_cut (
	one smallint PRIMARY KEY CHECK (one = 1),
	cut_us bigint NOT NULL,
	left_us bigint NOT NULL
);

CREATE TABLE outbox_turn (
	company_id text COLLATE "C" PRIMARY KEY,
	-- when it has its next turn: no later than the first of its emails is due, but
	-- behind those who were due when it had its last one
	turn_us bigint NOT NULL,
	-- when that was
	served_us bigint NOT NULL DEFAULT 0
);
CREATE INDEX outbox_turn_next ON outbox_turn (turn_us);

CREATE TABLE webhook (
	id text COLLATE "C" NOT NULL PRIMARY KEY,
	company_id text COLLATE "C" NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- the events of this domain alone; NULL: those of all of the company
	domain text COLLATE "C",
	-- in which shape: json, form
	dialect text COLLATE "C" NOT NULL,
	endpoint text COLLATE "C" NOT NULL,
	-- the types that it asked for, in its own words: a JSON array
	events text COLLATE "C" NOT NULL,
	-- by which deliveries are signed, and the one before, which counts for a day
	secret bytea NOT NULL,
	old_secret bytea NOT NULL,
	rotated_us bigint NOT NULL DEFAULT 0,
	enabled smallint NOT NULL,
	created_us bigint NOT NULL,
	-- since when all attempts have failed; 0: the last one has not
	failing_us bigint NOT NULL DEFAULT 0,
	-- when that disabled it; 0: it did not
	disabled_us bigint NOT NULL DEFAULT 0,
	-- it is told of events behind this one (event.seq)
	from_seq bigint NOT NULL,
	succeeded_us bigint NOT NULL DEFAULT 0,
	failed_us bigint NOT NULL DEFAULT 0,
	failure text COLLATE "C"
);
CREATE INDEX webhook_by_company ON webhook (company_id, created_us, id);
CREATE INDEX webhook_by_domain ON webhook (company_id, domain, created_us, id);
CREATE INDEX webhook_by_age ON webhook (created_us, id);
CREATE INDEX webhook_in_trouble ON webhook (created_us, id)
	WHERE failing_us > 0 OR disabled_us > 0;
CREATE INDEX webhook_in_trouble_of_company ON webhook (company_id, created_us, id)
	WHERE failing_us > 0 OR disabled_us > 0;

CREATE TABLE webhook_event (
	seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	id text COLLATE "C" NOT NULL UNIQUE,
	-- no reference: what a removed one leaves goes in steps
	webhook_id text COLLATE "C" NOT NULL,
	-- NULL: a test
	event bigint REFERENCES event (seq) ON DELETE CASCADE,
	type text COLLATE "C" NOT NULL,
	body text COLLATE "C" NOT NULL,
	-- pending, attempting, success, failed
	status text COLLATE "C" NOT NULL,
	attempts bigint NOT NULL DEFAULT 0,
	-- of the next attempt; 0: there is none; 1: at once, since somebody wants it sent
	-- once more, after which it is due as then_us says
	due_us bigint NOT NULL,
	then_us bigint NOT NULL DEFAULT 0,
	created_us bigint NOT NULL
);
CREATE INDEX webhook_event_by_webhook ON webhook_event (webhook_id, seq);
CREATE INDEX webhook_event_by_event ON webhook_event (event, seq);
CREATE INDEX webhook_event_by_age ON webhook_event (created_us, seq);
CREATE INDEX webhook_event_due ON webhook_event (webhook_id, due_us, seq) WHERE due_us > 0;

CREATE TABLE webhook_attempt (
	seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	id text COLLATE "C" NOT NULL,
	event bigint NOT NULL REFERENCES webhook_event (seq) ON DELETE CASCADE,
	-- 0: there was no answer, and error says why
	http_status bigint NOT NULL,
	response text COLLATE "C" NOT NULL,
	error text COLLATE "C",
	sent_us bigint NOT NULL,
	took_us bigint NOT NULL
);
CREATE INDEX webhook_attempt_by_event ON webhook_attempt (event, seq);

CREATE TABLE webhook_cursor (
	seq bigint NOT NULL
);

CREATE TABLE webhook_gone (
	webhook_id text COLLATE "C" NOT NULL PRIMARY KEY
);

CREATE TABLE webhook_key (
	company_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES company (id) ON DELETE CASCADE,
	secret bytea NOT NULL
);

CREATE TABLE suppression (
	seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	id text COLLATE "C" NOT NULL UNIQUE,
	company_id text COLLATE "C" NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- what was sent as this domain; '': as any domain of the company
	domain text COLLATE "C" NOT NULL,
	-- folded (core/address/addr.h)
	address text COLLATE "C" NOT NULL,
	reason text COLLATE "C" NOT NULL
		CHECK (reason IN ('bounce', 'complaint', 'unsubscribe', 'manual')),
	-- as the JSON API calls it
	origin text COLLATE "C" NOT NULL GENERATED ALWAYS AS
		(CASE WHEN reason = 'unsubscribe' THEN 'manual' ELSE reason END) STORED,
	-- the email that it became known by; NULL: none
	email_id text COLLATE "C",
	-- what the remote said: its SMTP code, its words
	code text COLLATE "C",
	text text COLLATE "C",
	-- of an unsubscribe: a JSON array of tags; NULL: all
	tags text COLLATE "C",
	created_us bigint NOT NULL
);
CREATE UNIQUE INDEX suppression_of ON suppression (address, company_id, domain, reason);
CREATE INDEX suppression_by_address ON suppression (company_id, domain, reason, address);
CREATE INDEX suppression_newest_of_company ON suppression (company_id, created_us, id);
CREATE INDEX suppression_newest_of_origin ON suppression
	(company_id, origin, created_us, id);
CREATE INDEX suppression_newest_of_domain ON suppression
	(company_id, domain, origin, created_us, id);
CREATE INDEX suppression_newest ON suppression (created_us, id);

CREATE TABLE suppression_allowed (
	company_id text COLLATE "C" NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- what was sent as this domain
	domain text COLLATE "C" NOT NULL,
	-- an address, folded, or a domain
	value text COLLATE "C" NOT NULL,
	reason text COLLATE "C" NOT NULL,
	created_us bigint NOT NULL,
	PRIMARY KEY (company_id, domain, value)
);

CREATE TABLE text_block (
	block bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	company_id text COLLATE "C" NOT NULL,
	-- the oldest and the newest email in it
	first bigint NOT NULL,
	last bigint NOT NULL,
	-- for each: a line break, its seq as 16 hexadecimal digits, a tab, its text
	text bytea NOT NULL
);
CREATE UNIQUE INDEX text_block_by_company ON text_block (company_id, last, first);

CREATE TABLE text_range (
	one smallint PRIMARY KEY CHECK (one = 1),
	low bigint NOT NULL,
	high bigint NOT NULL
);

CREATE TABLE text_stale (
	seq bigint PRIMARY KEY,
	company_id text COLLATE "C" NOT NULL
);

-- Triggers. Each function finds the tables by the search_path that it was made with.

-- Of how many emails and objects there are.

-- The writers of several hosts would wait for each other at one row: each adds to one of its own.
CREATE FUNCTION open_count_add(what text, change bigint) RETURNS void
	LANGUAGE sql SET search_path FROM CURRENT
	AS $$
	INSERT INTO open_count_part (last_event, part, count)
		VALUES (what, pg_backend_pid() % 1024, change)
		ON CONFLICT (last_event, part)
		DO UPDATE SET count = open_count_part.count + excluded.count
	$$;

-- As what an email is open; NULL: it is not.
CREATE FUNCTION email_open_as(e email) RETURNS text
	LANGUAGE sql IMMUTABLE
	AS $$
	SELECT CASE
		WHEN e.closed = 0 AND e.last_event IN ('sent', 'delivery_delayed') THEN e.last_event
		WHEN e.state = 'staged' AND e.queue_id IS NULL AND e.last_event IS NULL THEN 'staged'
	END
	$$;

CREATE FUNCTION email_counted() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
DECLARE
	was text;
	is_now text;
BEGIN
	IF TG_OP <> 'INSERT' THEN
		was := email_open_as(old);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		is_now := email_open_as(new);
	END IF;
	IF was IS DISTINCT FROM is_now THEN
		IF was IS NOT NULL THEN
			PERFORM open_count_add(was, -1);
		END IF;
		IF is_now IS NOT NULL THEN
			PERFORM open_count_add(is_now, 1);
		END IF;
	END IF;
	RETURN NULL;
END
	$$;
CREATE TRIGGER email_added AFTER INSERT ON email
	FOR EACH ROW EXECUTE FUNCTION email_counted();
CREATE TRIGGER email_changed AFTER UPDATE OF state, queue_id, last_event, closed ON email
	FOR EACH ROW EXECUTE FUNCTION email_counted();
CREATE TRIGGER email_removed AFTER DELETE ON email
	FOR EACH ROW EXECUTE FUNCTION email_counted();

-- What the milter refused is counted like an event, as `refused`.
CREATE FUNCTION email_refused_counted() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
BEGIN
	INSERT INTO event_count (company_id, hour_us, domain, kind, count)
		VALUES (new.company_id, new.decided_us - new.decided_us % 3600000000,
			new.domain, 'refused', 1)
		ON CONFLICT (company_id, hour_us, domain, kind)
		DO UPDATE SET count = event_count.count + excluded.count;
	RETURN NULL;
END
	$$;
CREATE TRIGGER email_refused_counted AFTER UPDATE OF state ON email
	FOR EACH ROW WHEN (new.state = 'refused' AND old.state <> 'refused'
		AND new.queue_id IS NOT NULL AND new.last_event <> 'canceled')
	EXECUTE FUNCTION email_refused_counted();

CREATE FUNCTION event_count_summed() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
DECLARE
	change bigint := new.count;
BEGIN
	IF TG_OP = 'UPDATE' THEN
		change := new.count - old.count;
	END IF;
	INSERT INTO event_day (company_id, day_us, domain, kind, count)
		VALUES (new.company_id, new.hour_us - new.hour_us % 86400000000,
			new.domain, new.kind, change)
		ON CONFLICT (company_id, day_us, domain, kind)
		DO UPDATE SET count = event_day.count + excluded.count;
	INSERT INTO event_total (company_id, hour_us, kind, count)
		VALUES (new.company_id, new.hour_us, new.kind, change),
			('', new.hour_us, new.kind, change)
		ON CONFLICT (company_id, hour_us, kind)
		DO UPDATE SET count = event_total.count + excluded.count;
	IF TG_OP = 'INSERT' THEN
		INSERT INTO event_domain (domain, company_id)
			VALUES (new.domain, new.company_id) ON CONFLICT DO NOTHING;
	END IF;
	RETURN NULL;
END
	$$;
CREATE TRIGGER event_count_added AFTER INSERT ON event_count
	FOR EACH ROW EXECUTE FUNCTION event_count_summed();
CREATE TRIGGER event_count_changed AFTER UPDATE OF count ON event_count
	FOR EACH ROW EXECUTE FUNCTION event_count_summed();

CREATE FUNCTION company_count_add(company text, what text, change bigint) RETURNS void
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
BEGIN
	IF change > 0 THEN
		INSERT INTO company_count VALUES (company, what, change)
			ON CONFLICT (company_id, kind)
			DO UPDATE SET count = company_count.count + excluded.count;
	ELSE
		-- The company itself may be gone.
		UPDATE company_count SET count = count + change
			WHERE company_id = company AND kind = what;
	END IF;
END
	$$;

-- A row of a company comes or goes; the argument is the kind.
CREATE FUNCTION company_row_counted() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
BEGIN
	IF TG_OP = 'INSERT' THEN
		PERFORM company_count_add(new.company_id, TG_ARGV[0], 1);
	ELSE
		PERFORM company_count_add(old.company_id, TG_ARGV[0], -1);
	END IF;
	RETURN NULL;
END
	$$;
CREATE TRIGGER exemption_counted AFTER INSERT OR DELETE ON exemption
	FOR EACH ROW EXECUTE FUNCTION company_row_counted('exemptions');
CREATE TRIGGER admin_user_counted AFTER INSERT ON admin_user
	FOR EACH ROW WHEN (new.company_id IS NOT NULL)
	EXECUTE FUNCTION company_row_counted('users');
CREATE TRIGGER admin_user_uncounted AFTER DELETE ON admin_user
	FOR EACH ROW WHEN (old.company_id IS NOT NULL)
	EXECUTE FUNCTION company_row_counted('users');
CREATE TRIGGER webhook_counted AFTER INSERT OR DELETE ON webhook
	FOR EACH ROW EXECUTE FUNCTION company_row_counted('webhooks');
CREATE TRIGGER suppression_counted AFTER INSERT OR DELETE ON suppression
	FOR EACH ROW EXECUTE FUNCTION company_row_counted('suppressions');
CREATE TRIGGER suppression_allowed_counted AFTER INSERT OR DELETE ON suppression_allowed
	FOR EACH ROW EXECUTE FUNCTION company_row_counted('suppressions');

CREATE FUNCTION api_key_counted() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
BEGIN
	IF TG_OP <> 'INSERT' AND old.revoked_us = 0 THEN
		PERFORM company_count_add(old.company_id, 'keys', -1);
	END IF;
	IF TG_OP <> 'DELETE' AND new.revoked_us = 0 THEN
		PERFORM company_count_add(new.company_id, 'keys', 1);
	END IF;
	RETURN NULL;
END
	$$;
CREATE TRIGGER api_key_counted AFTER INSERT OR DELETE ON api_key
	FOR EACH ROW EXECUTE FUNCTION api_key_counted();
CREATE TRIGGER api_key_recounted AFTER UPDATE OF revoked_us ON api_key
	FOR EACH ROW EXECUTE FUNCTION api_key_counted();

CREATE FUNCTION domain_counted() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		PERFORM company_count_add(old.company_id,
			CASE old.pending WHEN 0 THEN 'domains' ELSE 'pending_domains' END, -1);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		PERFORM company_count_add(new.company_id,
			CASE new.pending WHEN 0 THEN 'domains' ELSE 'pending_domains' END, 1);
	END IF;
	RETURN NULL;
END
	$$;
CREATE TRIGGER domain_counted AFTER INSERT OR DELETE ON domain
	FOR EACH ROW EXECUTE FUNCTION domain_counted();
CREATE TRIGGER domain_recounted AFTER UPDATE OF pending ON domain
	FOR EACH ROW WHEN (new.pending <> old.pending)
	EXECUTE FUNCTION domain_counted();

-- What is in hand costs the turns nothing.
CREATE FUNCTION outbox_waits() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
BEGIN
	INSERT INTO outbox_turn (company_id, turn_us) VALUES (new.company_id, new.due_us)
		ON CONFLICT (company_id)
		DO UPDATE SET turn_us = greatest(excluded.turn_us, outbox_turn.served_us)
		WHERE greatest(excluded.turn_us, outbox_turn.served_us) < outbox_turn.turn_us;
	RETURN NULL;
END
	$$;
CREATE TRIGGER outbox_waits AFTER INSERT ON outbox
	FOR EACH ROW WHEN (new.due_us > 0) EXECUTE FUNCTION outbox_waits();
CREATE TRIGGER outbox_waits_again AFTER UPDATE OF due_us ON outbox
	FOR EACH ROW WHEN (new.due_us > 0) EXECUTE FUNCTION outbox_waits();

CREATE FUNCTION webhook_removed() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
BEGIN
	INSERT INTO webhook_gone VALUES (old.id) ON CONFLICT DO NOTHING;
	RETURN NULL;
END
	$$;
CREATE TRIGGER webhook_removed AFTER DELETE ON webhook
	FOR EACH ROW EXECUTE FUNCTION webhook_removed();

CREATE FUNCTION webhook_of_removed_domain() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
BEGIN
	DELETE FROM webhook WHERE company_id = old.company_id AND domain = old.name;
	RETURN NULL;
END
	$$;
CREATE TRIGGER webhook_of_removed_domain AFTER DELETE ON domain
	FOR EACH ROW WHEN (old.pending = 0) EXECUTE FUNCTION webhook_of_removed_domain();

-- An email that a block of the text index has, or a recipient of it, is removed. Unlike in SQLite
-- no later email gets its number.
CREATE FUNCTION text_of_email_gone() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
BEGIN
	INSERT INTO text_stale (seq, company_id)
		SELECT old.seq, old.company_id FROM text_range WHERE old.seq BETWEEN low AND high
		ON CONFLICT DO NOTHING;
	RETURN NULL;
END
	$$;
CREATE TRIGGER text_of_email_gone AFTER DELETE ON email
	FOR EACH ROW EXECUTE FUNCTION text_of_email_gone();

CREATE FUNCTION text_of_recipient_gone() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
BEGIN
	INSERT INTO text_stale (seq, company_id)
		SELECT old.email, old.company_id FROM text_range
		WHERE old.email BETWEEN low AND high
		AND EXISTS (SELECT 1 FROM email WHERE seq = old.email)
		ON CONFLICT DO NOTHING;
	RETURN NULL;
END
	$$;
CREATE TRIGGER text_of_recipient_gone AFTER DELETE ON email_recipient
	FOR EACH ROW EXECUTE FUNCTION text_of_recipient_gone();

-- Tables of one row, and counts that are always there.
INSERT INTO event_last (seq, recorded_us) VALUES (0, 0);
INSERT INTO webhook_cursor (seq) VALUES (0);
INSERT INTO postfix_notes (id, reloaded_us, taken_us) VALUES (1, 0, 0);
INSERT INTO text_range (one, low, high) VALUES (1, 1, 0);
INSERT INTO open_count_part (last_event, part, count)
	VALUES ('sent', 0, 0), ('delivery_delayed', 0, 0), ('staged', 0, 0);
