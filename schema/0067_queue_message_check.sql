-- As 0064_word_checks.sql does for other tables: without words after IN, SQLite fills no table in
-- memory for each row. The rows stay as they are.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
	SET sql = replace(sql, 'how IN
		(''milter'', ''forwarded'', ''queued_as'', ''orig_id'', ''message_id'')',
		'how = ''milter'' OR how = ''forwarded''
		OR how = ''queued_as'' OR how = ''orig_id'' OR how = ''message_id''')
	WHERE type = 'table' AND name = 'queue_message';
PRAGMA writable_schema = RESET;
