/* fake_inject: an injector without Postfix. */
#include "tests/unit/fake_inject.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/policy/ticket.h"
#include "core/store/email/store_email.h"

struct answer {
	struct fake_inject *fake;
	struct submission *submission;
	enum inject_result result;
	enum fake_milter milter;
	char ticket[SECRET_TICKET_SIZE];
};

static void play_milter(const struct answer *answer)
{
	struct db *db = answer->fake->db;
	struct err err = ERR_INIT;

	if (answer->milter == MILTER_RECORDS)
		store_email_record(db, answer->ticket, "QUEUEID", 1, &err);
	if (answer->milter == MILTER_REFUSES)
		store_email_refuse(db, answer->ticket, "QUEUEID", "The key was revoked.", 1, &err);
}

static void on_answer(evutil_socket_t fd, short what, void *arg)
{
	_cleanup_free_ struct answer *answer = arg;
	struct submission *submission = answer->submission;
	struct err err = ERR_INIT;

	(void)fd;
	(void)what;
	if (answer->result == INJECT_QUEUED || answer->result == INJECT_UNKNOWN ||
		answer->fake->inject.ops->verdict_first)
		play_milter(answer);
	if (answer->result != INJECT_QUEUED)
		err_set(&err, answer->fake->code, "as the test wants it");
	if (answer->result == INJECT_TEMPORARY)
		inject_answer_obstacle(
			&answer->fake->inject, submission, answer->fake->obstacle, &err);
	else
		inject_answer(&answer->fake->inject, submission, answer->result, &err);
}

static void forget(struct fake_inject *fake)
{
	free(fake->message);
	free(fake->sender);
}

/* Whether the milter would put this recipient in. */
static bool is_staged_for(struct fake_inject *fake, const char *address)
{
	struct email_ticket ticket;
	struct err err = ERR_INIT;
	bool has;

	if (store_email_ticket(fake->db, fake->ticket, &ticket, &err) != 1)
		abort();
	has = strv_has(&ticket.recipients, address);
	store_email_ticket_clear(&ticket);
	return has;
}

static void fake_submit(struct inject *inject, struct submission *submission)
{
	const struct timeval now = {0};
	struct fake_inject *fake = (struct fake_inject *)inject;
	struct answer *answer = mem_new(struct answer);

	forget(fake);
	fake->submitted++;
	fake->message = mem_strdup(buf_str(submission->message));
	fake->sender = mem_strdup(submission->sender);
	fake->utf8 = submission->utf8;
	if (ticket_read(submission->recipient, fake->ticket) != TICKET_READ)
		abort();
	answer->fake = fake;
	answer->submission = submission;
	strcpy(answer->ticket, fake->ticket);
	answer->result = INJECT_QUEUED;
	answer->milter = MILTER_RECORDS;
	if (fake->only_to == NULL || is_staged_for(fake, fake->only_to)) {
		answer->result = fake->result;
		answer->milter = fake->milter;
	}
	event_base_once(fake->base, -1, EV_TIMEOUT, on_answer, answer, &now);
}

static void fake_free(struct inject *inject)
{
	forget((struct fake_inject *)inject);
	free(inject);
}

/* Nothing runs or waits: answers come in the next round. */
static void fake_stop(struct inject *inject)
{
	((struct fake_inject *)inject)->result = INJECT_TEMPORARY;
}

static const struct inject_ops fake_ops = {
	.submit = fake_submit,
	.stop = fake_stop,
	.free = fake_free,
};

static const struct inject_ops fake_verdict_first_ops = {
	.verdict_first = true,
	.submit = fake_submit,
	.stop = fake_stop,
	.free = fake_free,
};

void fake_inject_verdict_first(struct fake_inject *fake)
{
	fake->inject.ops = &fake_verdict_first_ops;
}

struct fake_inject *fake_inject_new(struct event_base *base, struct db *db)
{
	struct fake_inject *fake = mem_new(struct fake_inject);

	fake->inject.ops = &fake_ops;
	fake->base = base;
	fake->db = db;
	fake->result = INJECT_QUEUED;
	fake->code = ERR_TEMPORARY;
	fake->milter = MILTER_RECORDS;
	return fake;
}
