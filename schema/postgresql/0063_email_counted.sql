-- The server plans the statements of a function in SQL again in each transaction, those of a function in PL/pgSQL once
-- for each connection.
CREATE OR REPLACE FUNCTION email_counted() RETURNS trigger
	LANGUAGE plpgsql SET search_path FROM CURRENT
	AS $$
DECLARE
	was text;
	is_now text;
BEGIN
	IF TG_OP <> 'INSERT' THEN
		was := email_open_as(old);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		is_now := email_open_as(new);
	END IF;
	IF was IS DISTINCT FROM is_now THEN
		INSERT INTO open_count_part (last_event, part, count)
			SELECT what, pg_backend_pid() % 1024, change
			FROM (VALUES (was, -1), (is_now, 1)) AS changed (what, change)
			WHERE what IS NOT NULL
			ON CONFLICT (last_event, part)
			DO UPDATE SET count = open_count_part.count + excluded.count;
	END IF;
	RETURN NULL;
END
	$$;
DROP FUNCTION open_count_add(text, bigint);
