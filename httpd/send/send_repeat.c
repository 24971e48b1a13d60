/*
 * send_repeat: what a repeat of an earlier request is told of its emails.
 *
 * The outbox has the emails, so nothing is composed or submitted here. The answer depends on what
 * is stored under the Idempotency-Key, and on whether the first request was answered (settled): if
 * so, the repeat gets the same answer.
 *
 *   stored for the email            not settled           settled
 *   anything, but the caller may    its problem           its problem
 *     not send the email
 *   why it was not sent             that                  that
 *   its id, and the row is gone     the id                the id
 *                          staged   wait for the outcome  the id
 *                          sent     the id                the id
 *                          refused  the refusal           the id
 *
 * Threads: any; the group is the caller's.
 */
#include <string.h>

#include "core/base/mem.h"
#include "core/policy/verdict.h"
#include "core/store/email/store_email.h"
#include "httpd/send/send_group.h"

/* The first request was not answered: the row of the email says what became of it. */
static int read_row(struct send_email *email, struct db *db, struct err *err)
{
	_cleanup_free_ char *refusal = NULL;
	enum email_state state = EMAIL_SENT;

	if (store_email_outcome(db, email->result->id, &state, &refusal, err) < 0)
		return -1;
	switch (state) {
	case EMAIL_STAGED:
		email->stored = true;
		break;
	case EMAIL_SENT:
		email->end = SEND_SENT;
		break;
	case EMAIL_REFUSED:
		problem_set(&email->result->problem,
			verdict_text_is_message(refusal) ? PROBLEM_VALIDATION : PROBLEM_DOMAIN,
			"%s", refusal);
		email->end = SEND_REFUSED;
	}
	return 0;
}

/* result is what is stored under the key, see struct idempotency. */
static int read_email(struct send_email *email, const char *result, struct db *db, struct err *err)
{
	bool is_id = result[0] != '!';

	if (email->end == SEND_BAD) {
		if (is_id)
			email->end = SEND_NOT_ALLOWED;
	} else if (!is_id) {
		problem_set(&email->result->problem, PROBLEM_VALIDATION, "%s", result + 1);
		email->end = SEND_BAD;
	} else {
		id_parse(result, email->result->id);
		if (!email->group->lock->earlier.settled)
			return read_row(email, db, err);
		email->end = SEND_SENT;
	}
	return 0;
}

int send_repeat_read(struct send_group *group, struct db *db, struct err *err)
{
	const struct idempotency *earlier = &group->lock->earlier;

	group->created_us = earlier->created_us;
	for (size_t i = 0; i < group->n; i++)
		if (read_email(&group->emails[i], earlier->results.items[i], db, err) < 0)
			return -1;
	return 0;
}
