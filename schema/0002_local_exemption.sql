-- Whose use of an address an exemption lets pass: everybody's, or only that of
-- mail that is submitted on this host.
ALTER TABLE exemption ADD COLUMN reach TEXT NOT NULL DEFAULT 'anywhere'
	CHECK (reach = 'anywhere' OR (reach = 'local' AND kind = 'sender'));
