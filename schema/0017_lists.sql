-- An index for the order of each list, so that a page costs what it has,
-- however long the list is.

CREATE INDEX domain_by_name ON domain (name, id);
CREATE INDEX domain_by_age ON domain (company_id, created_us, id);
-- What an operator has to look at.
CREATE INDEX domain_pending ON domain (company_id, name) WHERE pending = 1;
CREATE INDEX domain_learning ON domain (company_id, name)
	WHERE policy = 'learn' AND pending = 0;

CREATE INDEX api_key_by_age ON api_key (created_us, id);
CREATE INDEX api_key_by_company ON api_key (company_id, created_us, id);
CREATE INDEX api_key_valid ON api_key (created_us, id) WHERE revoked_us = 0;
CREATE INDEX api_key_valid_of_company ON api_key (company_id, created_us, id)
	WHERE revoked_us = 0;
CREATE INDEX api_key_valid_of_domain
	ON api_key (company_id, domain_id, created_us, id)
	WHERE revoked_us = 0 AND domain_id IS NOT NULL;
-- The oldest go when there are too many.
CREATE INDEX api_key_revoked ON api_key (company_id, revoked_us)
	WHERE revoked_us > 0;

-- That of the domain: no domain changes hands.
ALTER TABLE exemption ADD COLUMN company_id TEXT NOT NULL DEFAULT '';
UPDATE exemption SET company_id =
	(SELECT company_id FROM domain WHERE id = exemption.domain_id);
CREATE INDEX exemption_by_age ON exemption (created_us, id);
CREATE INDEX exemption_by_company ON exemption (company_id, created_us, id);
CREATE INDEX exemption_by_domain ON exemption (domain_id, created_us, id);

DROP INDEX admin_user_by_company;
CREATE INDEX admin_user_by_company ON admin_user (company_id, login, id);

-- That of the user: NULL for an operator.
ALTER TABLE admin_session ADD COLUMN company_id TEXT;
UPDATE admin_session SET company_id =
	(SELECT company_id FROM admin_user WHERE id = admin_session.user_id);
DROP INDEX admin_session_by_user;
CREATE INDEX admin_session_by_user
	ON admin_session (user_id, kind, created_us, id);
CREATE INDEX admin_token_by_age ON admin_session (created_us, id)
	WHERE kind = 'token';
CREATE INDEX admin_token_by_company ON admin_session (company_id, created_us, id)
	WHERE kind = 'token';
