-- How many a company has of what has a limit, so that one more costs the same
-- however many there are. Triggers of the tables keep it.
CREATE TABLE company_count (
	company_id TEXT NOT NULL REFERENCES company (id) ON DELETE CASCADE,
	-- as the settings of the section limits
	kind TEXT NOT NULL,
	count INTEGER NOT NULL,
	PRIMARY KEY (company_id, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO company_count (company_id, kind, count)
	SELECT company_id, 'keys', count(*) FROM api_key
	WHERE revoked_us = 0 GROUP BY 1
	UNION ALL SELECT company_id, iif(pending, 'pending_domains', 'domains'),
		count(*) FROM domain GROUP BY 1, 2
	UNION ALL SELECT company_id, 'exemptions', count(*) FROM exemption GROUP BY 1
	UNION ALL SELECT company_id, 'users', count(*) FROM admin_user
	WHERE company_id IS NOT NULL GROUP BY 1;

CREATE TRIGGER api_key_counted AFTER INSERT ON api_key
	WHEN new.revoked_us = 0 BEGIN
	INSERT INTO company_count VALUES (new.company_id, 'keys', 1)
		ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER api_key_uncounted AFTER DELETE ON api_key
	WHEN old.revoked_us = 0 BEGIN
	UPDATE company_count SET count = count - 1
		WHERE company_id = old.company_id AND kind = 'keys';
END;
CREATE TRIGGER api_key_recounted AFTER UPDATE OF revoked_us ON api_key
	WHEN (new.revoked_us = 0) <> (old.revoked_us = 0) BEGIN
	UPDATE company_count SET count = count + iif(new.revoked_us = 0, 1, -1)
		WHERE company_id = new.company_id AND kind = 'keys';
END;

CREATE TRIGGER domain_counted AFTER INSERT ON domain BEGIN
	INSERT INTO company_count VALUES (new.company_id,
			iif(new.pending, 'pending_domains', 'domains'), 1)
		ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER domain_uncounted AFTER DELETE ON domain BEGIN
	UPDATE company_count SET count = count - 1
		WHERE company_id = old.company_id
		AND kind = iif(old.pending, 'pending_domains', 'domains');
END;
CREATE TRIGGER domain_recounted AFTER UPDATE OF pending ON domain
	WHEN new.pending <> old.pending BEGIN
	UPDATE company_count SET count = count - 1
		WHERE company_id = old.company_id
		AND kind = iif(old.pending, 'pending_domains', 'domains');
	INSERT INTO company_count VALUES (new.company_id,
			iif(new.pending, 'pending_domains', 'domains'), 1)
		ON CONFLICT DO UPDATE SET count = count + 1;
END;

CREATE TRIGGER exemption_counted AFTER INSERT ON exemption BEGIN
	INSERT INTO company_count VALUES (new.company_id, 'exemptions', 1)
		ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER exemption_uncounted AFTER DELETE ON exemption BEGIN
	UPDATE company_count SET count = count - 1
		WHERE company_id = old.company_id AND kind = 'exemptions';
END;

CREATE TRIGGER admin_user_counted AFTER INSERT ON admin_user
	WHEN new.company_id IS NOT NULL BEGIN
	INSERT INTO company_count VALUES (new.company_id, 'users', 1)
		ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER admin_user_uncounted AFTER DELETE ON admin_user
	WHEN old.company_id IS NOT NULL BEGIN
	UPDATE company_count SET count = count - 1
		WHERE company_id = old.company_id AND kind = 'users';
END;
