-- What lists of emails are searched by, and how many events there were.

-- Whoever asks for a recipient knows the address in any letter case.
CREATE INDEX email_recipient_by_address
	ON email_recipient (address COLLATE NOCASE);
-- Most emails are delivered; the others are asked for.
CREATE INDEX email_by_trouble ON email (last_event) WHERE last_event IN
	('delivery_delayed', 'bounced', 'failed', 'complained');

-- What an email can be found by: the tag of the form API, and of the JSON API
-- both `name` and `name:value`.
CREATE TABLE email_tag (
	email INTEGER NOT NULL REFERENCES email (seq) ON DELETE CASCADE,
	tag TEXT NOT NULL COLLATE NOCASE,
	PRIMARY KEY (email, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX email_tag_by_tag ON email_tag (tag);

INSERT OR IGNORE INTO email_tag (email, tag)
	SELECT c.seq, CASE j.value ->> 'name' WHEN 'tag'
		THEN j.value ->> 'value' ELSE j.value ->> 'name' END
		FROM email_content c, json_each(c.tags) j WHERE c.tags <> '[]'
	UNION ALL SELECT c.seq,
		(j.value ->> 'name') || ':' || (j.value ->> 'value')
		FROM email_content c, json_each(c.tags) j
		WHERE c.tags <> '[]' AND j.value ->> 'name' <> 'tag';

-- How many events of a kind occurred in an hour. It outlives them.
CREATE TABLE event_count (
	company_id TEXT NOT NULL,
	-- the begin of the hour
	hour_us INTEGER NOT NULL,
	domain TEXT NOT NULL,
	kind TEXT NOT NULL,
	count INTEGER NOT NULL,
	PRIMARY KEY (company_id, hour_us, domain, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO event_count (company_id, hour_us, domain, kind, count)
	SELECT e.company_id, v.occurred_us - v.occurred_us % 3600000000,
		v.domain, v.kind, count(*)
	FROM event v JOIN email e ON e.seq = v.email GROUP BY 1, 2, 3, 4;

-- A page of some kinds passes over the others without a look at their rows.
DROP INDEX event_by_domain;
CREATE INDEX event_by_domain ON event (domain, recorded_us, seq, kind);
