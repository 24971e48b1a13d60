-- What the peer reads of an email that was sent, and of its recipients.
SELECT e.seq, e.id, e.header_from AS "from", e.reply_to, e.subject, c.html, c.text,
	e.created_us, e.last_event
FROM email e JOIN email_content c ON c.seq = e.seq
WHERE e.id = ? AND e.state = 'sent';

SELECT kind, coalesce(mailbox, address) AS mailbox
FROM email_recipient WHERE email = ? ORDER BY n;
