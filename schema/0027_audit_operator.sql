-- Members of a company are not told which operator changed what is theirs, nor from
-- where. 1: the actor is an operator.
ALTER TABLE audit ADD COLUMN operator INTEGER NOT NULL DEFAULT 0;

-- Of those that were there before, whoever is not known to be a member counts as one.
UPDATE audit SET operator = 1
	WHERE actor = 'command' OR actor IN ('user', 'token')
	AND actor_id NOT IN (SELECT id FROM admin_user WHERE company_id IS NOT NULL)
	AND actor_id NOT IN (SELECT id FROM admin_session WHERE company_id IS NOT NULL)
	AND actor_id NOT IN (SELECT object_id FROM audit
		WHERE (action LIKE 'user.%' OR action LIKE 'token.%')
		AND company_id IS NOT NULL);
