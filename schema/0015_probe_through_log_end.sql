-- 1: the milter lets the message through to the milters behind it, without its
-- recipient; 0: it discards the message
ALTER TABLE probe ADD COLUMN through INTEGER NOT NULL DEFAULT 0;

-- when nothing of the source was left to read, the last time; 0: not yet
ALTER TABLE log_cursor ADD COLUMN end_us INTEGER NOT NULL DEFAULT 0;
