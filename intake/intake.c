/*
 * intake: reads the message, finds its email by the token, and stores the events.
 *
 * A bounce of this host's own Postfix repeats what its log says, which postern-events stores. It
 * counts only if it is older than OWN_WAIT_US and the log has said nothing, or if the status of the
 * recipient is unknown.
 */
#include "intake/intake.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/span.h"
#include "core/base/str.h"
#include "core/mime/mime_scan.h"
#include "core/ops/unsubscribe.h"
#include "core/policy/return_path.h"
#include "core/read/return_read.h"
#include "core/store/delivery/delivery_writer.h"
#include "core/store/email/store_return.h"

#define OWN_WAIT_US (10 * 60 * SECOND_US)

static const char *const results[] = {
	[INTAKE_STORED] = "stored",
	[INTAKE_KNOWN] = "known",
	[INTAKE_IGNORED] = "ignored",
	[INTAKE_FORGED] = "forged",
	[INTAKE_LOOP] = "loop",
	[INTAKE_FORWARD] = "forwarded",
	[INTAKE_EARLY] = "early",
};

const char *intake_result_name(enum intake_result result)
{
	return results[result];
}

struct intake {
	struct db *db;
	const struct intake_message *message;
	struct return_message said;
	struct return_email email;
	bool has_email;
	struct delivery_writer *writer;
	struct intake_outcome outcome;
};

static int forward(struct intake *intake, const char *reason)
{
	intake->outcome.result = INTAKE_FORWARD;
	intake->outcome.reason = reason;
	return 0;
}

/* Finds the first valid token in the texts, and the email that was sent with it. Returns 1, 0 if
 * there is none, -1 on error. *has_r is set if there was a token, valid or not. */
static int find_token(struct intake *intake, const struct strv *texts, struct return_token *token_r,
	bool *has_r, struct err *err)
{
	for (size_t i = 0; i < texts->n; i++) {
		int found;

		if (!return_token_find(texts->items[i], token_r))
			continue;
		*has_r = true;
		found = store_return_email(intake->db, token_r->id, &intake->email, err);
		if (found < 0)
			return -1;
		if (found > 0 && return_token_is(token_r, intake->email.nonce)) {
			intake->has_email = true;
			memcpy(intake->outcome.email_id, intake->email.id, ID_SIZE);
			return 1;
		}
		if (found > 0)
			store_return_email_clear(&intake->email);
	}
	return 0;
}

/* Finds the reported recipient among those of the email. Returns 1, 0 if there is none, -1 on
 * error. */
static int find_reported(struct intake *intake, const struct return_recipient *one,
	const struct recipients *all, const struct recipient **recipient_r, struct err *err)
{
	const char *const addresses[] = {one->original, one->final};
	int found = 0;
	int64_t n;

	for (size_t i = 0; i < ARRAY_SIZE(addresses) && found == 0; i++)
		if (addresses[i])
			found = delivery_writer_find(
				intake->writer, intake->email.seq, addresses[i], &n, err);
	for (size_t i = 0; found > 0 && i < all->n; i++)
		if (all->items[i].n == n)
			*recipient_r = &all->items[i];
	/* The only recipient may have forwarded it to that address. */
	if (found == 0 && all->n == 1) {
		*recipient_r = &all->items[0];
		found = 1;
	}
	return found;
}

/* Adds an event for the recipient, unless it has one of this kind. Returns 0 or -1. */
static int add_event(struct intake *intake, int64_t n, enum event_kind kind,
	const struct return_recipient *one, const char *source, struct err *err)
{
	struct event_report report = {
		.email = intake->email.seq,
		.n = n,
		.kind = kind,
		.occurred_us = intake->message->now_us,
		.now_us = intake->message->now_us,
		.relay = one->remote,
		.dsn = one->status,
		.text = one->text,
		.source = source,
	};
	char number[24];
	int added;

	snprintf(number, sizeof(number), "%lld", (long long)n);
	event_key(report.key, (const char *[]){source, event_kind_name(kind), number}, 3);
	added = delivery_writer_add(intake->writer, &report, err);
	if (added > 0)
		intake->outcome.result = INTAKE_STORED;
	return added < 0 ? -1 : 0;
}

static int store_failures(struct intake *intake, const struct recipients *all, struct err *err)
{
	const char *queue_id = intake->said.queue_id;
	int64_t age_us = intake->message->now_us - intake->said.date_us;
	bool has_unmatched = false;
	int early = 0;

	/* A bounce of this host's Postfix may come before its log is read. */
	if (queue_id && age_us <= OWN_WAIT_US && age_us >= -OWN_WAIT_US)
		early = store_return_is_message(intake->db, intake->email.seq, queue_id, err);
	if (early < 0)
		return -1;
	intake->outcome.result = INTAKE_KNOWN;
	for (size_t i = 0; i < intake->said.n; i++) {
		const struct return_recipient *one = &intake->said.recipients[i];
		const struct recipient *recipient;
		int found = find_reported(intake, one, all, &recipient, err);

		if (found < 0)
			return -1;
		if (found == 0) {
			has_unmatched = true;
			continue;
		}
		intake->outcome.recipients++;
		/* A suppressed recipient was sent nothing. */
		if (recipient->status == DELIVERY_BOUNCED ||
			recipient->status == DELIVERY_EXPIRED ||
			recipient->status == DELIVERY_SUPPRESSED)
			continue;
		if (early && delivery_is_open(recipient->status)) {
			intake->outcome.result = INTAKE_EARLY;
			return 0;
		}
		if (add_event(intake, recipient->n, EVENT_BOUNCED, one, "dsn", err) < 0)
			return -1;
	}
	if (intake->outcome.recipients == 0 && has_unmatched)
		return forward(intake, "it names no recipient of the email");
	return 0;
}

/* A complaint comes from one recipient. If it does not say which of several, the message is
 * forwarded to a person. */
static int store_complaint(struct intake *intake, const struct recipients *all, struct err *err)
{
	struct return_recipient none = {0};
	size_t n_said = intake->said.n ? intake->said.n : 1;

	intake->outcome.result = INTAKE_KNOWN;
	for (size_t i = 0; i < n_said; i++) {
		struct return_recipient one = intake->said.n ? intake->said.recipients[i] : none;
		const struct recipient *recipient;
		int found = find_reported(intake, &one, all, &recipient, err);

		if (found < 0)
			return -1;
		if (found == 0)
			continue;
		intake->outcome.recipients++;
		if (recipient->status == DELIVERY_SUPPRESSED)
			continue;
		if (one.text == NULL)
			one.text = intake->said.feedback;
		if (add_event(intake, recipient->n, EVENT_COMPLAINED, &one, "report", err) < 0)
			return -1;
	}
	if (intake->outcome.recipients == 0)
		return forward(intake, "it does not say who complains");
	return 0;
}

/* Decides what the message says of which email, and stores it. */
static int decide_message(struct intake *intake, struct err *err)
{
	const struct intake_message *message = intake->message;
	struct intake_outcome *outcome = &intake->outcome;
	const struct recipients *all;
	struct return_token token;
	bool has_token = false;
	int found = find_token(intake, &message->recipients, &token, &has_token, err);

	/* Any message to the mailto address of List-Unsubscribe is an unsubscribe, except a
	 * bounce. */
	if (found > 0 && token.use == RETURN_UNSUBSCRIBE) {
		outcome->kind = "unsubscribe";
		outcome->result = INTAKE_IGNORED;
		if (str_empty(message->sender))
			return 0;
		found = unsubscribe_store(
			intake->db, intake->writer, &intake->email, "mail", message->now_us, err);
		outcome->result = found > 0 ? INTAKE_STORED : INTAKE_KNOWN;
		outcome->recipients = 1;
		return found < 0 ? -1 : 0;
	}
	if (found == 0 && !has_token && intake->said.kind == RETURN_COMPLAINT)
		found = find_token(intake, &intake->said.paths, &token, &has_token, err);
	if (found < 0)
		return -1;
	/* Mail to an address without a token, such as postmaster@, is for a person. */
	if (found == 0 && !has_token)
		return forward(intake, "it came to an address without a token");
	if (found == 0) {
		outcome->result = INTAKE_FORGED;
		return 0;
	}
	if (delivery_writer_recipients(intake->writer, intake->email.seq, &all, err) < 0)
		return -1;
	switch (intake->said.kind) {
	case RETURN_FAILURE:
		return store_failures(intake, all, err);
	case RETURN_COMPLAINT:
		return store_complaint(intake, all, err);
	case RETURN_NOTICE:
		outcome->result = INTAKE_IGNORED;
		return 0;
	case RETURN_UNREAD:
	case RETURN_KINDS:
		break;
	}
	return forward(intake, "it is no report that is known");
}

static int store_decided(struct db *db, void *arg, struct err *err)
{
	struct intake *intake = arg;

	intake->writer = delivery_writer_new(db);
	delivery_writer_set_suppression(intake->writer, &intake->message->suppression);
	if (decide_message(intake, err) < 0)
		return -1;
	if (delivery_writer_flush(intake->writer, err) < 0)
		return -1;
	intake->outcome.unlisted = (int64_t)delivery_writer_counts(intake->writer)->unlisted;
	return 0;
}

int intake_store(struct db *db, const struct intake_message *message,
	struct intake_outcome *outcome_r, struct err *err)
{
	struct intake intake = {.db = db, .message = message};
	struct span rest = {message->data, message->len};
	struct mime_scan_field field;
	int result;

	return_read(message->data, message->len, !str_empty(message->sender), &intake.said);
	intake.outcome.kind = return_kind_name(intake.said.kind);
	result = db_atomic(db, store_decided, &intake, err);
	if (result >= 0) {
		*outcome_r = intake.outcome;
		/* What was forwarded before has a field that says so. */
		while (outcome_r->result == INTAKE_FORWARD && mime_scan_field(&rest, &field))
			if (mime_scan_is(&field, INTAKE_FIELD))
				outcome_r->result = INTAKE_LOOP;
	}
	delivery_writer_free(intake.writer);
	if (intake.has_email)
		store_return_email_clear(&intake.email);
	return_message_clear(&intake.said);
	return result < 0 ? -1 : 0;
}
