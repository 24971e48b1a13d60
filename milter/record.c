/*
 * record: what the milter writes down about a message.
 *
 * Every function is one job for the committer, so that a message costs one
 * commit at most, shared with those that end at the same time.
 *
 * Threads: any thread of libmilter; the jobs run on the one of them that commits.
 */
#include "milter/record.h"

#include "core/base/str.h"
#include "core/mail/addr.h"
#include "core/store/store_held.h"
#include "core/store/store_probe.h"
#include "milter/origin.h"

struct entry {
	const char *ticket; /* NULL: the message is no email of ours */
	const char *refusal;
	bool noted; /* by what follows */
	struct refusal_note note;
	bool held; /* in Postfix's hold queue; for `postern held` */
};

static int run_sent(struct db *db, void *arg, struct err *err)
{
	const struct entry *entry = arg;
	int found = store_email_record(db, entry->ticket, entry->note.queue_id,
		entry->note.now_us, err);

	if (found == 0)
		return err_set(err, ERR_NOT_FOUND,
			"the email of the ticket was removed or refused");
	return found < 0 ? -1 : 0;
}

static int note_held(
	struct db *db, const struct refusal_note *note, struct err *err)
{
	const struct held_note held = {
		.queue_id = note->queue_id,
		.reason = note->reason,
		.domain = note->domain,
		.from = note->from,
		.now_us = note->now_us,
	};

	return store_held_note(db, &held, err);
}

/* A ticket that is gone by now needs no refusal. */
static int run_refused(struct db *db, void *arg, struct err *err)
{
	const struct entry *entry = arg;

	if (entry->ticket &&
		store_email_refuse(db, entry->ticket, entry->note.queue_id,
			entry->refusal, entry->note.now_us, err) < 0)
		return -1;
	if (entry->noted && store_refusal_note(db, &entry->note, err) < 0)
		return -1;
	return entry->held ? note_held(db, &entry->note, err) : 0;
}

int record_sent(
	struct service *service, const struct session *session, struct err *err)
{
	struct entry entry = {
		.ticket = session->message.ticket,
		.note.queue_id = session->message.queue_id,
		.note.now_us = clock_now_us(service->clock),
	};

	return committer_run(service->committer, run_sent, &entry, err);
}

static int run_probe(struct db *db, void *arg, struct err *err)
{
	const struct entry *entry = arg;

	return store_probe_see(db, entry->ticket, entry->note.queue_id,
		       entry->note.now_us, err) < 0
		       ? -1
		       : 0;
}

int record_probe(
	struct service *service, const struct session *session, struct err *err)
{
	struct entry entry = {
		.ticket = session->message.ticket,
		.note.queue_id = session->message.queue_id,
		.note.now_us = clock_now_us(service->clock),
	};

	return committer_run(service->committer, run_probe, &entry, err);
}

/* The mailbox of the one From field, or the text of the first; a new string. */
static char *from_of(const struct session_message *message)
{
	_cleanup_addr_ struct addr addr = {0};
	char *line;

	if (message->froms.values.n == 0)
		return NULL;
	line = str_unfolded(message->froms.values.items[0]);
	if (message->froms.values.n > 1 || addr_parse(line, &addr, NULL) < 0)
		return line;
	free(line);
	return addr_spec(&addr);
}

int record_refused(struct service *service, const struct session *session,
	const struct facts *facts, const struct record_refusal *refusal,
	struct err *err)
{
	const struct session_message *message = &session->message;
	_cleanup_free_ char *from = from_of(message);
	struct entry entry = {
		.ticket = refusal->own ? message->ticket : NULL,
		.refusal = verdict_reason_text(refusal->reason),
		.noted = !refusal->own,
		.note =
			{
				.outcome = refusal->outcome,
				.reason = verdict_reason_name(refusal->reason),
				.domain = facts->domain,
				.origin = origin_name(session_origin(session)),
				.client = session->client,
				.login = message->login,
				.sender = message->sender,
				.from = from,
				.queue_id = message->queue_id,
				.now_us = clock_now_us(service->clock),
				.keep = service_refusals_kept(service),
			},
		.held = refusal->outcome == REFUSAL_HELD,
	};

	return committer_run(service->committer, run_refused, &entry, err);
}
