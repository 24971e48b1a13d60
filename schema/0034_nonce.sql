-- What the message of an email has besides its ticket, in a field that the milter takes off;
-- '': an email from before.
ALTER TABLE email ADD COLUMN nonce TEXT NOT NULL DEFAULT '';
-- By which way into Postfix its message goes: as email.way.
ALTER TABLE probe ADD COLUMN way TEXT NOT NULL DEFAULT 'any';
