-- Who uses the admin HTTP interface; schema/README.md.

CREATE TABLE admin_user (
	id TEXT NOT NULL PRIMARY KEY,
	-- NULL: an operator, who sees every company
	company_id TEXT REFERENCES company (id) ON DELETE CASCADE,
	login TEXT NOT NULL UNIQUE CHECK (login <> ''),
	role TEXT NOT NULL CHECK (role IN ('viewer', 'owner')),
	-- Argon2id; NULL: there is none, and nobody gets in by one
	password TEXT,
	created_us INTEGER NOT NULL,
	password_us INTEGER NOT NULL DEFAULT 0,
	last_login_us INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX admin_user_by_company ON admin_user (company_id);

-- What a user gets in by.
CREATE TABLE admin_session (
	id TEXT NOT NULL PRIMARY KEY,
	user_id TEXT NOT NULL REFERENCES admin_user (id) ON DELETE CASCADE,
	-- browser: a cookie; token: for automation; link: a browser session for
	-- whoever opens it first
	kind TEXT NOT NULL CHECK (kind IN ('browser', 'token', 'link')),
	-- SHA-256 of the token, which is stored nowhere
	hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
	name TEXT NOT NULL,
	-- the address that it was made from
	origin TEXT NOT NULL,
	created_us INTEGER NOT NULL,
	-- 0: never
	expires_us INTEGER NOT NULL,
	last_used_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX admin_session_by_user ON admin_session (user_id);
CREATE INDEX admin_session_by_end ON admin_session (expires_us);
