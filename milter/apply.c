/*
 * apply: the one place that changes a message, answers for it and writes to
 * the store.
 *
 * Order: the tickets come off, then the record becomes durable, then the
 * answer goes out. When the answer gets lost, Postfix presents the message
 * again and the same record is made again; never the other way round.
 *
 * Threads: any thread of libmilter; the committer's runs record and refuse.
 */
#include "milter/apply.h"

#include <string.h>

#include "core/policy/ticket_header.h"
#include "milter/origin.h"

/* What is to be done, and what came of it. */
struct outcome {
	enum verdict_action action;
	const char *reason; /* for the log */
	const char *text;   /* for people */
	struct err err;     /* what has failed on our side, if anything */
};

/* How an action is answered and logged. */
struct answer {
	sfsistat result;
	char code[4];   /* RFC 5321 4.2; "": no reply of our own */
	char status[6]; /* RFC 3463 */
	enum log_level level;
};

static const struct answer answers[] = {
	[VERDICT_PASS] = {SMFIS_ACCEPT, "", "", LOG_LEVEL_INFO},
	[VERDICT_RECORD] = {SMFIS_ACCEPT, "", "", LOG_LEVEL_INFO},
	[VERDICT_REFUSE] = {SMFIS_REJECT, "550", "5.7.1", LOG_LEVEL_WARN},
	[VERDICT_TEMPFAIL] = {SMFIS_TEMPFAIL, "451", "4.7.1", LOG_LEVEL_ERROR},
	[VERDICT_DISCARD] = {SMFIS_DISCARD, "", "", LOG_LEVEL_WARN},
};

/* What the committer writes. */
struct entry {
	const char *ticket;
	const char *queue_id;
	const char *refusal;
	int64_t now_us;
};

static int record(struct db *db, void *arg, struct err *err)
{
	const struct entry *entry = arg;
	int found = store_email_record(
		db, entry->ticket, entry->queue_id, entry->now_us, err);

	if (found == 0)
		return err_set(err, ERR_NOT_FOUND,
			"the email of the ticket has been removed");
	return found < 0 ? -1 : 0;
}

/* A ticket that is gone by now needs no refusal. */
static int refuse(struct db *db, void *arg, struct err *err)
{
	const struct entry *entry = arg;

	return store_email_refuse(db, entry->ticket, entry->queue_id,
		       entry->refusal, entry->now_us, err) < 0
		       ? -1
		       : 0;
}

static int write_down(struct service *service,
	const struct session_message *message, struct outcome *outcome)
{
	struct entry entry = {
		.ticket = message->ticket,
		.queue_id = message->queue_id,
		.refusal = outcome->text,
		.now_us = clock_now_us(service->clock),
	};

	return committer_run(service->committer,
		outcome->action == VERDICT_RECORD ? record : refuse, &entry,
		&outcome->err);
}

/* From the last to the first: taking one off moves those behind it. */
static int strip_tickets(SMFICTX *ctx, size_t tickets, struct err *err)
{
	char name[] = TICKET_HEADER;

	for (size_t i = tickets; i > 0; i--)
		if (smfi_chgheader(ctx, name, (int)i, NULL) != MI_SUCCESS)
			return err_set(err, ERR_INTERNAL,
				"cannot take " TICKET_HEADER " off");
	return 0;
}

static int act(SMFICTX *ctx, struct service *service,
	const struct session_message *message, const struct facts *facts,
	struct outcome *outcome)
{
	switch (outcome->action) {
	case VERDICT_RECORD:
		if (strip_tickets(ctx, message->tickets, &outcome->err) < 0)
			return -1;
		return write_down(service, message, outcome);
	case VERDICT_PASS:
		return strip_tickets(ctx, message->tickets, &outcome->err);
	case VERDICT_REFUSE:
		return facts->ticket_found
			       ? write_down(service, message, outcome)
			       : 0;
	case VERDICT_TEMPFAIL:
	case VERDICT_DISCARD:
		return 0;
	}
	return err_set(&outcome->err, ERR_INTERNAL, "unknown action");
}

/* Texts of reasons are ours; a domain is named when it has no character that
 * could mean something in a reply. */
static char *reply_text(const char *text, const char *domain)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";

	if (domain == NULL || domain[strspn(domain, plain)] != '\0')
		return mem_strdup(text);
	return mem_printf("%s: %s", domain, text);
}

static void set_reply(
	SMFICTX *ctx, const struct outcome *outcome, const char *domain)
{
	struct answer answer = answers[outcome->action];
	_cleanup_free_ char *text = reply_text(outcome->text, domain);

	if (answer.code[0])
		smfi_setreply(ctx, answer.code, answer.status, text);
}

static const char *known(const struct facts *facts, const char *value)
{
	return facts->ticket_found ? value : NULL;
}

static void log_outcome(struct service *service, const struct session *session,
	const struct facts *facts, const struct outcome *outcome)
{
	log_event(service->log, answers[outcome->action].level, "verdict",
		"queue_id", session->message.queue_id, "email",
		known(facts, facts->ticket.id), "key",
		known(facts, facts->ticket.key_id), "domain", facts->domain,
		"sender", session->message.sender, "origin",
		origin_name(session_origin(session)), "action",
		verdict_action_name(outcome->action), "reason", outcome->reason,
		"error",
		outcome->err.code == ERR_NONE ? NULL : outcome->err.text, NULL);
}

sfsistat apply_verdict(SMFICTX *ctx, struct service *service,
	const struct session *session, const struct facts *facts)
{
	const struct verdict verdict = verdict_decide(&facts->verdict);
	struct outcome outcome = {
		.action = verdict.action,
		.reason = verdict_reason_name(verdict.reason),
		.text = verdict_reason_text(verdict.reason),
		.err = facts->err,
	};

	if (act(ctx, service, &session->message, facts, &outcome) < 0) {
		outcome.action = VERDICT_TEMPFAIL;
		outcome.reason = "record_failed";
		outcome.text = "The message cannot be recorded now, try again "
			       "later.";
	}
	set_reply(ctx, &outcome, facts->domain);
	log_outcome(service, session, facts, &outcome);
	return answers[outcome.action].result;
}
