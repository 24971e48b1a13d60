/*
 * ticket_line: handles log lines of an email whose message is in the queue under its ticket,
 * because the milter was not asked about it:
 *
 *	deferred    it waits, for `postern held release --waiting`
 *	bounced     a rule of Postfix refused it
 *	discarded   a rule of Postfix dropped it
 *	sent        it left unchanged: nobody asked the milter
 *	expired     nobody asked the milter for the whole queue lifetime
 *
 * These ends are stored for the recipients. The email stays staged, since nothing was decided:
 * if its message does come to the milter, or comes again, it is sent. These lines also show
 * that cleanup has the message, so the ticket was used.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/policy/ticket.h"
#include "core/store/delivery/store_queue_message.h"
#include "core/store/email/store_email.h"
#include "events/tracker_private.h"

static const char expired_text[] =
	"expired, returned to sender: Postfix did not ask postern-milter about the message";

/* Returns 1 if the message is that of the email, 0 if not, -1 on error. Every user of the host
 * can read the ticket in mailq, send another message to it, and have Postfix return that
 * message before it asks the milter. Some know the Message-ID as well. So the user whom pickup
 * has logged counts, too. By SMTP nobody but postern-httpd can submit to a ticket. A rule may
 * discard a message before cleanup logs the Message-ID: then the user alone counts. */
static int is_its_message(const struct line_context *context, const struct email_ticket *email)
{
	const struct untracked *untracked = untracked_find(context->untracked, context->line->id);
	_cleanup_free_ char *ticket = NULL, *id = NULL;

	if (untracked && untracked->by_other)
		return 0;
	if (untracked && untracked->message_id)
		return str_eq(untracked->message_id, email->message_id);
	if (context->line->kind == LOG_DISCARDED)
		return 1;
	id = line_text(context->line->id);
	return store_ticket_message_find(
		context->db, id, context->position.time_us, &ticket, context->err);
}

static int report_ticket_end(const struct line_context *context, const struct email_ticket *email,
	enum event_kind ending)
{
	const struct recipients *all;
	const struct log_line *line = context->line;
	_cleanup_free_ char *id = line_text(line->id), *dsn = line_text(line->dsn);
	_cleanup_free_ char *relay = line_text(line->relay), *text = line_text(line->text);
	_cleanup_free_ char *redirected = NULL;
	const char *said;

	if (line->kind == LOG_DISCARDED && text) {
		_cleanup_free_ char *to = line_text(line->other);
		/* The rest of the line names the ticket. */
		char *end = strstr(text, "; from=<");

		if (end)
			*end = '\0';
		if (to)
			redirected = mem_printf(DELIVERY_REDIRECTED "%s by %s: %s", to,
				str_starts(text, "body ") ? "body_checks" : "header_checks", text);
	}
	said = line->kind == LOG_EXPIRED ? expired_text : redirected ? redirected : text;
	if (delivery_writer_recipients(context->writer, email->seq, &all, context->err) < 0)
		return -1;
	for (size_t i = 0; i < all->n; i++) {
		struct event_report report = {
			.email = email->seq,
			.n = all->items[i].n,
			.kind = ending,
			.occurred_us = context->position.time_us,
			.now_us = context->now_us,
			.relay = relay && str_eq(relay, "none") ? NULL : relay,
			.dsn = dsn,
			.text = said,
			.source = "log",
		};
		char n[24];

		snprintf(n, sizeof(n), "%lld", (long long)report.n);
		event_key(report.key,
			(const char *[]){"stopped", event_kind_name(ending), id, n, dsn, said}, 6);
		if (delivery_writer_add(context->writer, &report, context->err) < 0)
			return -1;
	}
	return 0;
}

/* Returns 1 if a rule of Postfix has redirected the message to another address, 0 if not, -1 on
 * error. What happens to a redirected message is no news for the recipients. */
static int was_redirected(const struct line_context *context, const struct email_ticket *email)
{
	const struct recipients *all;

	if (delivery_writer_recipients(context->writer, email->seq, &all, context->err) < 0)
		return -1;
	return all->n > 0 && all->items[0].text &&
	       str_starts(all->items[0].text, DELIVERY_REDIRECTED);
}

/* Stores what the line says about the email's message. Returns 1, 0 if that is nothing yet, -1
 * on error. */
static int store_ticket_line(const struct line_context *context, const struct email_ticket *email)
{
	const struct log_line *line = context->line;
	_cleanup_free_ char *id = line_text(line->id);
	bool delivered = line->kind == LOG_DELIVERY && line->status == LOG_SENT;
	bool left = delivered && line->agent != LOG_AGENT_DISCARD;
	enum event_kind ending = EVENT_BOUNCED;
	int redirected = line->orig_to.len ? was_redirected(context, email) : 0;

	if (redirected != 0)
		return redirected;
	if (line->kind != LOG_DISCARDED &&
		store_ticket_message_add(
			context->db, id, context->position.time_us, email->seq, context->err) < 0)
		return -1;
	if (line->kind == LOG_DELIVERY && line->status == LOG_DEFERRED)
		return 0;
	if (line->kind == LOG_EXPIRED)
		ending = EVENT_EXPIRED;
	else if (line->kind == LOG_DISCARDED || delivered)
		ending = EVENT_DISCARDED;
	if (report_ticket_end(context, email, ending) < 0)
		return -1;
	context->counts->left += left;
	if (!left && line->kind != LOG_EXPIRED)
		return 1;
	return store_ticket_message_end(
		       context->db, id, context->position.time_us, left, context->err) < 0
		       ? -1
		       : 1;
}

/* Finds the ticket that the line names as its recipient, or, if the whole message expired, the
 * stored one. Returns 1, 0 if there is none, -1 on error. */
static int find_ticket(const struct line_context *context, char ticket_r[static SECRET_TICKET_SIZE])
{
	const struct log_line *line = context->line;
	_cleanup_free_ char *text = NULL;
	struct span to = line->to;
	int found;

	if (line->kind == LOG_EXPIRED) {
		_cleanup_free_ char *id = line_text(line->id);

		found = store_ticket_message_find(
			context->db, id, context->position.time_us, &text, context->err);
		if (found == 1)
			snprintf(ticket_r, SECRET_TICKET_SIZE, "%s", text);
		return found;
	}
	/* A table of Postfix may have replaced the ticket. */
	if (line->orig_to.len)
		to = line->orig_to;
	/* SECRET_TICKET_SIZE counts the NUL; here that byte is the @. */
	if (to.len != SECRET_TICKET_SIZE + strlen(TICKET_DOMAIN))
		return 0;
	text = line_text(to);
	return ticket_read(text, ticket_r) == TICKET_READ;
}

int ticket_line(const struct line_context *context)
{
	char ticket[SECRET_TICKET_SIZE];
	struct email_ticket email;
	int found = find_ticket(context, ticket), result = 0;

	if (found != 1 ||
		(context->line->kind == LOG_DELIVERY && context->line->status == LOG_PROBED))
		return found < 0 ? -1 : 0;
	found = store_email_ticket(context->db, ticket, &email, context->err);
	if (found != 1)
		return found;
	if (!email.superseded && email.state == EMAIL_STAGED)
		result = is_its_message(context, &email);
	if (result == 1)
		result = store_ticket_line(context, &email);
	store_email_ticket_clear(&email);
	return result;
}
