/*
 * send_repeat: what a request that came before is told of its emails.
 *
 * The outbox has them: nothing is composed and nothing is submitted here. The table says
 * what is answered, by what is known of an email, and by whether the first request was
 * answered (`final`): then that answer is given again.
 *
 *   known of it                        not answered yet      final
 *   the caller may not send it         its problem           the same
 *   why it was not sent                that                  that
 *   its id, and the row is: gone       its id                its id
 *                           staged     wait                  its id
 *                           sent       its id                its id
 *                           refused    why                   its id
 *
 * Threads: the worker's.
 */
#include <string.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/policy/verdict.h"
#include "core/store/store_email.h"
#include "httpd/send/send_group.h"
#include "httpd/worker/worker.h"

/* The row is looked at, which the id names. */
static void read_row(struct send *send)
{
	const struct worker *worker = send->group->worker;
	_cleanup_free_ char *refusal = NULL;
	enum email_state state = EMAIL_SENT;
	struct err err = ERR_INIT;

	if (store_email_outcome(worker->db, send->result->id, &state, &refusal, &err) < 0) {
		log_error(worker->log, "store_failed", "request", send->group->request_id, "error",
			err.text);
		problem_from_err(&send->result->problem, &err);
		send->end = SEND_BAD;
		return;
	}
	switch (state) {
	case EMAIL_STAGED:
		send->waits = true;
		break;
	case EMAIL_SENT:
		send->end = SEND_SENT;
		break;
	case EMAIL_REFUSED:
		problem_set(&send->result->problem,
			verdict_text_is_message(refusal) ? PROBLEM_VALIDATION : PROBLEM_DOMAIN,
			"%s", refusal);
		send->end = SEND_REFUSED;
	}
}

/* result is what the first request came to, see struct idempotency. */
static void read_email(struct send *send, const char *result)
{
	bool is_id = result[0] != '!';

	if (send->end == SEND_BAD) {
		if (is_id)
			send->end = SEND_NOT_ALLOWED;
	} else if (!is_id) {
		problem_set(&send->result->problem, PROBLEM_VALIDATION, "%s", result + 1);
		send->end = SEND_BAD;
	} else {
		id_parse(result, send->result->id);
		if (send->group->lock->earlier.settled)
			send->end = SEND_SENT;
		else
			read_row(send);
	}
}

void send_repeat_read(struct send_group *group)
{
	const struct idempotency *earlier = &group->lock->earlier;

	group->created_us = earlier->created_us;
	for (size_t i = 0; i < group->n; i++)
		read_email(&group->sends[i], earlier->results.items[i]);
}
