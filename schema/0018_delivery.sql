-- The leaves of an email: one row for each queue message that carries it and
-- each address that this message is delivered to there. An email whose one
-- message names no address but those of its recipients has none: then the rows
-- of email_recipient are its leaves. core/store/store_delivery.h.
CREATE TABLE delivery (
	email INTEGER NOT NULL REFERENCES email (seq) ON DELETE CASCADE,
	-- the queue message, as in hop; '': it was told of the recipient as a
	-- whole, by the queue or a report
	queue_id TEXT NOT NULL,
	since_us INTEGER NOT NULL,
	-- as the log writes them; orig_to: before aliases, '' for none
	address TEXT NOT NULL,
	orig_to TEXT NOT NULL,
	-- a word of core/store/store_fate.c
	state TEXT NOT NULL,
	-- who took it, a word of core/store/store_delivery.c
	via TEXT NOT NULL,
	-- the queue id that this hop gave it; NULL: none
	child TEXT,
	-- when the last attempt began and ended
	began_us INTEGER NOT NULL,
	changed_us INTEGER NOT NULL,
	relay TEXT,
	dsn TEXT,
	text TEXT,
	PRIMARY KEY (email, queue_id, since_us, address, orig_to)
) STRICT, WITHOUT ROWID;

-- What became of all of a message that was still to be delivered: expired,
-- removed or discarded, and when; NULL: nothing was said
ALTER TABLE hop ADD COLUMN ended TEXT;
ALTER TABLE hop ADD COLUMN ended_us INTEGER NOT NULL DEFAULT 0;

-- Messages that stayed in the queue under their ticket: the milter was not
-- asked about them.
CREATE TABLE ticket_message (
	queue_id TEXT NOT NULL,
	since_us INTEGER NOT NULL,
	email INTEGER NOT NULL REFERENCES email (seq) ON DELETE CASCADE,
	-- left: it left as it was; expired: it was in the queue for too long;
	-- NULL: neither is known
	ended TEXT,
	ended_us INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (queue_id, since_us)
) STRICT, WITHOUT ROWID;
CREATE INDEX ticket_message_by_end ON ticket_message (ended, ended_us)
	WHERE ended IS NOT NULL;
CREATE INDEX ticket_message_by_email ON ticket_message (email);

-- Of emails with a message in the queue, what the events tell of more leaves
-- than the recipients' own. First, what aliases led to.
INSERT OR IGNORE INTO delivery (email, queue_id, since_us, address, orig_to,
		state, via, began_us, changed_us, relay, dsn, text)
	SELECT v.email, h.queue_id, h.since_us, v.address, r.address,
		v.kind, 'final', v.occurred_us, v.occurred_us, v.relay, v.dsn, v.text
	FROM hop h CROSS JOIN event v ON v.email = h.email
	CROSS JOIN email_recipient r ON r.email = v.email AND r.n = v.n
	WHERE h.closed_us = 0 AND h.how = 'milter' AND v.address IS NOT NULL
		AND v.kind IN ('deferred', 'delivered', 'bounced', 'discarded')
		AND NOT EXISTS (SELECT 1 FROM hop o WHERE o.email = h.email
			AND o.how <> 'milter')
	ORDER BY v.seq DESC;

-- Then those that were handed on, of emails that several messages carry.
INSERT OR IGNORE INTO delivery (email, queue_id, since_us, address, orig_to,
		state, via, child, began_us, changed_us, relay, dsn, text)
	SELECT v.email, m.queue_id, m.since_us, r.address, '', 'handed_on',
		CASE c.how WHEN 'forwarded' THEN 'alias' ELSE 'filter' END,
		CASE c.how WHEN 'message_id' THEN NULL ELSE c.queue_id END,
		m.since_us, v.occurred_us, v.relay, v.dsn, v.text
	FROM hop h CROSS JOIN hop m ON m.email = h.email AND m.how = 'milter'
	CROSS JOIN event v ON v.email = h.email AND v.kind = 'handed_on'
	CROSS JOIN email_recipient r ON r.email = v.email AND r.n = v.n
	LEFT JOIN hop c ON c.email = h.email AND c.parent = m.queue_id
		AND (c.n = v.n OR c.n IS NULL) AND c.how <> 'orig_id'
	WHERE h.closed_us = 0;

-- And what is known of their recipients, as far as it is final.
INSERT OR IGNORE INTO delivery (email, queue_id, since_us, address, orig_to,
		state, via, began_us, changed_us, relay, dsn, text)
	SELECT r.email, '', 0, r.address, '', r.state, 'final', r.changed_us,
		r.changed_us, r.relay, r.dsn, r.text
	FROM hop h CROSS JOIN email_recipient r ON r.email = h.email
	WHERE h.closed_us = 0 AND r.state NOT IN
		('queued', 'deferred', 'handed_on')
		AND EXISTS (SELECT 1 FROM delivery d WHERE d.email = h.email);
