-- The counts of event_count by the day; schema/README.md.

CREATE TABLE event_day (
	company_id TEXT NOT NULL,
	-- the begin of the day, in UTC
	day_us INTEGER NOT NULL,
	domain TEXT NOT NULL,
	kind TEXT NOT NULL,
	count INTEGER NOT NULL,
	PRIMARY KEY (company_id, day_us, domain, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO event_day (company_id, day_us, domain, kind, count)
	SELECT company_id, hour_us - hour_us % 86400000000, domain, kind,
		sum(count)
	FROM event_count GROUP BY 1, 2, 3, 4;

-- Whoever counts an hour counts its day.
CREATE TRIGGER event_count_added AFTER INSERT ON event_count BEGIN
	INSERT INTO event_day (company_id, day_us, domain, kind, count)
		VALUES (new.company_id, new.hour_us - new.hour_us % 86400000000,
			new.domain, new.kind, new.count)
		ON CONFLICT DO UPDATE SET count = count + excluded.count;
END;

CREATE TRIGGER event_count_changed AFTER UPDATE OF count ON event_count BEGIN
	UPDATE event_day SET count = count + new.count - old.count
		WHERE company_id = new.company_id
		AND day_us = new.hour_us - new.hour_us % 86400000000
		AND domain = new.domain AND kind = new.kind;
END;
