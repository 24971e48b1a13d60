-- Logins that differ in letter case alone are one; schema/README.md.

-- The login with its case folded. NULL: an older user has the same one
ALTER TABLE admin_user ADD COLUMN login_folded TEXT;
UPDATE admin_user SET login_folded = folded(login) WHERE id IN (
	SELECT id FROM (
		SELECT id, row_number() OVER (
			PARTITION BY folded(login) ORDER BY created_us, id
		) AS n FROM admin_user
	) WHERE n = 1
);
CREATE UNIQUE INDEX admin_user_by_login_folded ON admin_user (login_folded);
