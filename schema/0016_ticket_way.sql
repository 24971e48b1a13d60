-- By which way the message of an email comes into Postfix, for its ticket counts on
-- that one alone: 'sendmail' or 'smtp'; 'any' for those from before. Then 'spent':
-- Postfix has said that it has the message.
ALTER TABLE email ADD COLUMN way TEXT NOT NULL DEFAULT 'any';
