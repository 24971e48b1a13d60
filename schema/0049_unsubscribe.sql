-- Whether emails of the domain name a way to unsubscribe (RFC 2369, RFC 8058).
ALTER TABLE domain ADD COLUMN unsubscribe TEXT NOT NULL DEFAULT 'off'
	CHECK (unsubscribe IN ('off', 'on'));
