-- Codes of authenticator apps (RFC 6238); schema/README.md.

-- The shared secret; NULL: there is none
ALTER TABLE admin_user ADD COLUMN totp_secret BLOB
	CHECK (length(totp_secret) = 20);
-- Since when a login needs a code; 0: it does not, and a secret is one that the
-- user has not confirmed yet
ALTER TABLE admin_user ADD COLUMN totp_us INTEGER NOT NULL DEFAULT 0;
-- The last time step whose code was used: each works once
ALTER TABLE admin_user ADD COLUMN totp_step INTEGER NOT NULL DEFAULT 0;

-- For whoever has lost the app; each works once.
CREATE TABLE admin_recovery (
	user_id TEXT NOT NULL REFERENCES admin_user (id) ON DELETE CASCADE,
	-- SHA-256 of the code, which is stored nowhere
	hash BLOB NOT NULL CHECK (length(hash) = 32),
	PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;
