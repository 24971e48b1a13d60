/*
 * store_held: which messages the rules have held, also when Postfix uses a
 * queue id again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/host/store_held.h"
#include "tests/unit/temp_db.h"

enum { NOTED_S = 1000, SECOND_US = 1000000, FILL_STEP = 10000 };

static const struct held_note usual = {
	.queue_id = "4F2A",
	.reason = "no_ticket",
	.domain = "example.com",
	.from = "boss@example.com",
	.now_us = (int64_t)NOTED_S * SECOND_US,
};

static const char sql_count[] = "SELECT count(*) FROM held";

static void test_round_trip(void **state)
{
	struct temp_db *temp = *state;
	struct held held;

	OK(store_held_note(temp->db, &usual, &why));
	assert_int_equal(store_held_get(temp->db, "4F2A", NOTED_S, &held, NULL), 1);
	assert_string_equal(held.queue_id, "4F2A");
	assert_string_equal(held.reason, "no_ticket");
	assert_string_equal(held.domain, "example.com");
	assert_string_equal(held.from, "boss@example.com");
	assert_true(held.held_us == usual.now_us);
	store_held_clear(&held);
	assert_int_equal(store_held_get(temp->db, "4F2B", NOTED_S, &held, NULL), 0);
	OK(store_held_forget(temp->db, "4F2A", &why));
	OK(store_held_forget(temp->db, "4F2A", &why));
	assert_int_equal(store_held_get(temp->db, "4F2A", NOTED_S, &held, NULL), 0);
}

/* A message may wait in the maildrop before it is held, but none is held
 * before it came. */
static void test_a_queue_id_that_is_used_again(void **state)
{
	struct temp_db *temp = *state;
	struct held_note later = usual;
	struct held held;

	OK(store_held_note(temp->db, &usual, &why));
	assert_int_equal(store_held_get(temp->db, "4F2A", 1, &held, NULL), 1);
	store_held_clear(&held);
	assert_int_equal(store_held_get(temp->db, "4F2A", NOTED_S + 3, &held, NULL), 0);
	later.now_us += (int64_t)10 * SECOND_US;
	later.domain = "example.net";
	OK(store_held_note(temp->db, &later, &why));
	assert_int_equal(store_held_get(temp->db, "4F2A", NOTED_S + 3, &held, NULL), 1);
	assert_string_equal(held.domain, "example.net");
	store_held_clear(&held);
	assert_true(temp_db_number(temp->db, sql_count) == 1);
}

static void test_texts_are_bounded(void **state)
{
	struct temp_db *temp = *state;
	struct held_note note = usual;
	struct held held;
	char from[1000];

	memset(from, 0xff, sizeof(from));
	from[sizeof(from) - 1] = '\0';
	note.from = from;
	note.domain = NULL;
	OK(store_held_note(temp->db, &note, &why));
	assert_int_equal(store_held_get(temp->db, "4F2A", 1, &held, NULL), 1);
	assert_int_equal(strlen(held.from), 256);
	assert_int_equal(held.from[0], '?');
	assert_string_equal(held.domain, "");
	store_held_clear(&held);
}

/* As many rows as there may be, and then more, one by one. */
static void test_the_number_is_bounded(void **state)
{
	static const char sql_fill[] =
		"WITH RECURSIVE n (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
		" INSERT INTO held (id, queue_id, held_us, reason, domain, header_from)"
		" SELECT printf('id-%%06d', i), 'OLD' || i, 1, 'no_ticket', '', '' FROM n";
	struct temp_db *temp = *state;
	struct held_note note = usual;
	struct held held;
	char id[32];

	for (int i = 0; i < STORE_HELD_MAX; i += FILL_STEP) {
		_cleanup_free_ char *fill = mem_printf(sql_fill, i, i + FILL_STEP - 1);

		OK(db_exec(temp->db, fill, &why));
	}
	assert_int_equal(store_held_get(temp->db, "OLD0", 0, &held, NULL), 1);
	store_held_clear(&held);
	for (int i = 0; i < 200; i++) {
		snprintf(id, sizeof(id), "ID%d", i);
		note.queue_id = id;
		OK(store_held_note(temp->db, &note, &why));
	}
	assert_in_range(temp_db_number(temp->db, sql_count), STORE_HELD_MAX, STORE_HELD_MAX + 32);
	assert_int_equal(store_held_get(temp->db, "OLD0", 0, &held, NULL), 0);
	assert_int_equal(store_held_get(temp->db, id, 1, &held, NULL), 1);
	store_held_clear(&held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_a_queue_id_that_is_used_again, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_texts_are_bounded, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_the_number_is_bounded, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
