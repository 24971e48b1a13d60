/*
 * keyed_request: requests of one or several emails, and their repeats.
 *
 * Threads: the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "httpd/gate/idempotency.h"
#include "tests/unit/keyed_request.h"
#include "tests/unit/temp_db.h"

const char *const keyed_request_to[KEYED_EMAILS] = {
	"a@dst.test", "b@dst.test", "c@dst.test"};

const uint8_t keyed_request_payload[SECRET_HASH_LEN] = {42};

void keyed_request_begin(struct send_rig *rig, uint8_t key)
{
	memset(rig->request.admission.idempotency_key, key, SECRET_HASH_LEN);
	idempotency_begin(&rig->request, keyed_request_payload);
}

void keyed_request_claim(struct send_rig *rig, uint8_t key)
{
	struct problem problem;

	keyed_request_begin(rig, key);
	assert_int_equal(idempotency_claim(&rig->request, &problem), 0);
}

void keyed_request_unclaim(struct send_rig *rig)
{
	idempotency_end(rig->request.claim);
	rig->request.claim = NULL;
}

void keyed_request_send_new(struct send_rig *rig, const struct keyed_request *what)
{
	struct outgoing emails[KEYED_EMAILS] = {0};
	struct problem problems[KEYED_EMAILS] = {0};
	const struct send_spec spec = {
		.outgoing = emails,
		.problems = problems,
		.n = what->n,
		.permissive = what->permissive,
		.done = send_rig_on_done,
	};

	for (size_t i = 0; i < what->n; i++)
		send_rig_email(what->from[i] ? what->from[i] : "hello@example.com",
			keyed_request_to[i], &emails[i]);
	if (what->bad)
		problem_set(&problems[what->bad - 1], PROBLEM_VALIDATION,
			"two\nlines");
	send_rig_send(rig, &spec);
	for (size_t i = 0; i < what->n; i++)
		outgoing_clear(&emails[i]);
}

bool keyed_request_send(struct send_rig *rig, const struct keyed_request *what)
{
	bool known;

	if (what->key)
		keyed_request_begin(rig, what->key);
	keyed_request_send_new(rig, what);
	known = what->key && rig->request.claim->found && rig->composed == 0;
	keyed_request_unclaim(rig);
	return known;
}

void keyed_request_forget_all(struct send_rig *rig)
{
	OK(db_exec(rig->db,
		"DELETE FROM email; DELETE FROM idempotency;"
		"DELETE FROM superseded_ticket",
		&why));
	rig->inject->result = INJECT_QUEUED;
	rig->inject->milter = MILTER_RECORDS;
	rig->inject->only_to = NULL;
	rig->inject->submitted = 0;
}
