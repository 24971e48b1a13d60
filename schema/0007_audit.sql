-- Who changed what; schema/README.md. An entry outlives its object, its actor
-- and its company, so it refers to none of them.
CREATE TABLE audit (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	at_us INTEGER NOT NULL,
	-- command, key or user; system: a program by itself
	actor TEXT NOT NULL,
	actor_id TEXT NOT NULL,
	actor_name TEXT NOT NULL,
	-- an address, a terminal
	origin TEXT NOT NULL,
	-- whose the object is; NULL: of no company
	company_id TEXT,
	action TEXT NOT NULL,
	object_id TEXT NOT NULL,
	object_name TEXT NOT NULL,
	-- the columns as a JSON object; NULL: there was no such row, or is none
	before TEXT,
	after TEXT,
	CHECK (before IS NOT NULL OR after IS NOT NULL)
) STRICT;

CREATE INDEX audit_by_company ON audit (company_id);
CREATE INDEX audit_by_object ON audit (object_id);
CREATE INDEX audit_by_name ON audit (object_name);
