-- Recipients are looked for by what became of the email for them: all but those to whom it was
-- delivered, or is on its way. They cost a write only when it comes to that.
CREATE INDEX email_recipient_by_state ON email_recipient (state, company_id)
	WHERE state IN ('deferred', 'bounced', 'expired', 'discarded', 'removed', 'unknown',
		'complained', 'suppressed');
