-- With which token a token was made: whoever revokes that one ends both.
ALTER TABLE admin_session ADD COLUMN made_by TEXT;
CREATE INDEX admin_token_by_maker ON admin_session (made_by)
	WHERE made_by IS NOT NULL;
