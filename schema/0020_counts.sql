-- Sums and indexes, so that what is asked of counts and refusals costs what is
-- told, however many companies, domains and hours there are.

-- The events of a company by the hour, of all its domains; of all companies
-- under ''. Triggers of event_count keep it.
CREATE TABLE event_total (
	company_id TEXT NOT NULL,
	hour_us INTEGER NOT NULL,
	kind TEXT NOT NULL,
	count INTEGER NOT NULL,
	PRIMARY KEY (company_id, hour_us, kind)
) STRICT, WITHOUT ROWID;

-- The domains that have counts, and of whom.
CREATE TABLE event_domain (
	domain TEXT NOT NULL,
	company_id TEXT NOT NULL,
	PRIMARY KEY (domain, company_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_domain_by_company ON event_domain (company_id, domain);

-- What the milter refused is counted like an event, as `refused`.
INSERT INTO event_count (company_id, hour_us, domain, kind, count)
	SELECT company_id, decided_us - decided_us % 3600000000, domain,
		'refused', count(*)
	FROM email WHERE state = 'refused' GROUP BY 1, 2, 3;
CREATE TRIGGER email_refused_counted AFTER UPDATE OF state ON email
	WHEN new.state = 'refused' AND old.state <> 'refused' BEGIN
	INSERT INTO event_count (company_id, hour_us, domain, kind, count)
		VALUES (new.company_id,
			new.decided_us - new.decided_us % 3600000000,
			new.domain, 'refused', 1)
		ON CONFLICT DO UPDATE SET count = count + excluded.count;
END;

INSERT INTO event_total (company_id, hour_us, kind, count)
	SELECT company_id, hour_us, kind, sum(count)
	FROM event_count GROUP BY 1, 2, 3;
INSERT INTO event_total (company_id, hour_us, kind, count)
	SELECT '', hour_us, kind, sum(count) FROM event_total GROUP BY 2, 3;
INSERT INTO event_domain (domain, company_id)
	SELECT DISTINCT domain, company_id FROM event_day ORDER BY 1, 2;

DROP TRIGGER event_count_added;
CREATE TRIGGER event_count_added AFTER INSERT ON event_count BEGIN
	INSERT INTO event_day (company_id, day_us, domain, kind, count)
		VALUES (new.company_id, new.hour_us - new.hour_us % 86400000000,
			new.domain, new.kind, new.count)
		ON CONFLICT DO UPDATE SET count = count + excluded.count;
	INSERT INTO event_total (company_id, hour_us, kind, count)
		VALUES (new.company_id, new.hour_us, new.kind, new.count),
			('', new.hour_us, new.kind, new.count)
		ON CONFLICT DO UPDATE SET count = count + excluded.count;
	INSERT INTO event_domain (domain, company_id)
		VALUES (new.domain, new.company_id) ON CONFLICT DO NOTHING;
END;

DROP TRIGGER event_count_changed;
CREATE TRIGGER event_count_changed AFTER UPDATE OF count ON event_count BEGIN
	UPDATE event_day SET count = count + new.count - old.count
		WHERE company_id = new.company_id
		AND day_us = new.hour_us - new.hour_us % 86400000000
		AND domain = new.domain AND kind = new.kind;
	UPDATE event_total SET count = count + new.count - old.count
		WHERE company_id IN (new.company_id, '')
		AND hour_us = new.hour_us AND kind = new.kind;
END;

CREATE INDEX event_count_by_domain
	ON event_count (domain, company_id, hour_us);
CREATE INDEX event_day_by_domain ON event_day (domain, company_id, day_us);
-- The days of many bounces; what is looked for has some more.
CREATE INDEX event_day_bounced ON event_day (day_us, count)
	WHERE kind IN ('bounced', 'expired') AND count > 2;
CREATE INDEX event_day_bounced_of_company
	ON event_day (company_id, day_us, count)
	WHERE kind IN ('bounced', 'expired') AND count > 2;

-- Whose domain it was, the last time; '' for nobody's.
ALTER TABLE refusal ADD COLUMN company_id TEXT NOT NULL DEFAULT '';
UPDATE refusal SET company_id = d.company_id
	FROM domain d WHERE d.name = refusal.domain AND d.pending = 0;
CREATE INDEX refusal_by_company ON refusal (company_id, last_us);
CREATE INDEX refusal_learnt ON refusal (last_us) WHERE outcome = 'learnt';
CREATE INDEX refusal_learnt_by_domain ON refusal (domain, last_us)
	WHERE outcome = 'learnt';
CREATE INDEX refusal_learnt_by_company ON refusal (company_id, last_us)
	WHERE outcome = 'learnt';
