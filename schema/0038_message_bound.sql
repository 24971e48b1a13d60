-- How much is kept of messages that have left the outbox is known without them.
ALTER TABLE message_kept ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
UPDATE message_kept
	SET size = coalesce(
		(SELECT m.size FROM message m WHERE m.email = message_kept.email), 0);

-- When retention.messages_max_bytes has removed messages that retention.messages would
-- keep, the last time; and when the newest of them had left the outbox.
CREATE TABLE message_cut (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	cut_us INTEGER NOT NULL,
	left_us INTEGER NOT NULL
) STRICT;
