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

#include "core/base/clock.h"
#include "tests/unit/keyed_request.h"
#include "tests/unit/temp_db.h"

const char *const keyed_request_to[KEYED_EMAILS] = {"a@dst.test", "b@dst.test", "c@dst.test"};

const uint8_t keyed_request_payload[SECRET_HASH_LEN] = {42};

static void set_key(struct send_rig *rig, uint8_t key)
{
	memset(rig->request.admission.idempotency_key, key, SECRET_HASH_LEN);
}

/* Whether the store has the key. */
static bool is_known(struct send_rig *rig, uint8_t key)
{
	struct idempotency_key of = {0};
	struct idempotency found;
	int result;

	memcpy(of.company_id, rig->request.admission.key.company_id, ID_SIZE);
	memset(of.hash, key, SECRET_HASH_LEN);
	result = store_idempotency_find(
		rig->db, &of, clock_now_us(rig->shared.clock), &found, NULL);
	assert_true(result >= 0);
	if (result > 0)
		store_idempotency_clear(&found);
	return result > 0;
}

bool keyed_request_send(struct send_rig *rig, const struct keyed_request *what)
{
	struct draft emails[KEYED_EMAILS] = {0};
	struct problem problems[KEYED_EMAILS] = {0};
	const struct send_spec spec = {
		.draft = emails,
		.problems = problems,
		.n = what->n,
		.permissive = what->permissive,
		.payload = what->key ? keyed_request_payload : NULL,
	};
	bool known = what->key && is_known(rig, what->key);

	set_key(rig, what->key);
	for (size_t i = 0; i < what->n; i++) {
		send_rig_email(what->from[i] ? what->from[i] : "hello@example.com",
			keyed_request_to[i], &emails[i]);
		if (what->bytes > 0)
			emails[i].message.text = mem_printf("%0*d", (int)what->bytes, 0);
		emails[i].scheduled_us = what->scheduled_us;
	}
	if (what->bad)
		problem_set(&problems[what->bad - 1], PROBLEM_VALIDATION, "two\nlines");
	send_rig_send(rig, &spec);
	for (size_t i = 0; i < what->n; i++)
		draft_clear(&emails[i]);
	return known && rig->composed == 0;
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
