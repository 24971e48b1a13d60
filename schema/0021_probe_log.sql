-- What was seen of the message of a probe beside the milter's part.

-- 1: the milter saw it with another Message-ID than it was submitted with
ALTER TABLE probe ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
-- When Postfix's log told of it, and that the queue manager has it; 0: not yet
ALTER TABLE probe ADD COLUMN logged_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE probe ADD COLUMN taken_us INTEGER NOT NULL DEFAULT 0;
-- How Postfix, or another milter, has stopped it, as the log tells; '': not
ALTER TABLE probe ADD COLUMN refusal TEXT NOT NULL DEFAULT '';

-- What the log told of Postfix itself, and when that was read; 0: not yet.
CREATE TABLE postfix_news (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	reloaded_us INTEGER NOT NULL,
	taken_us INTEGER NOT NULL -- the queue manager has taken a message
) STRICT;
INSERT INTO postfix_news (id, reloaded_us, taken_us) VALUES (1, 0, 0);
