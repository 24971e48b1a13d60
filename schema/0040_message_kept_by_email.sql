-- A message that is removed by itself counts no more for how much is kept.
CREATE INDEX message_kept_by_email ON message_kept (email);
-- Those that were removed before 0038 have no size.
DELETE FROM message_kept WHERE size = 0;
