-- Whose turn it is: what is due is found without those who have nothing due.

-- Each company that had something to wait in the outbox since postern-httpd started.
CREATE TABLE outbox_turn (
	company_id TEXT PRIMARY KEY,
	-- when it has its next turn: no later than the first of its emails is due, but
	-- behind those who were due when it had its last one
	turn_us INTEGER NOT NULL,
	-- when that was
	served_us INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_turn_next ON outbox_turn (turn_us);

INSERT INTO outbox_turn (company_id, turn_us)
	SELECT company_id, min(due_us) FROM outbox WHERE due_us > 0 GROUP BY company_id;

-- What is in hand costs these nothing.
CREATE TRIGGER outbox_waits AFTER INSERT ON outbox WHEN new.due_us > 0 BEGIN
	INSERT INTO outbox_turn (company_id, turn_us) VALUES (new.company_id, new.due_us)
		ON CONFLICT DO UPDATE SET turn_us = max(excluded.turn_us, served_us)
		WHERE max(excluded.turn_us, served_us) < turn_us;
END;
CREATE TRIGGER outbox_waits_again AFTER UPDATE OF due_us ON outbox WHEN new.due_us > 0 BEGIN
	INSERT INTO outbox_turn (company_id, turn_us) VALUES (new.company_id, new.due_us)
		ON CONFLICT DO UPDATE SET turn_us = max(excluded.turn_us, served_us)
		WHERE max(excluded.turn_us, served_us) < turn_us;
END;
