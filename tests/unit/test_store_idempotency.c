/*
 * store_idempotency: rows of keys, for as long as they count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/store/email/store_idempotency.h"
#include "tests/unit/temp_db.h"

static const int64_t second_us = 1000000;
static const int64_t began_us = 1700000000 * second_us;
static const int64_t day_us = STORE_IDEMPOTENCY_KEEP_S * second_us;

static const char sql_rows[] = "SELECT count(*) FROM idempotency";

static struct idempotency_key key_of(const char *company, uint8_t number)
{
	struct idempotency_key key = {.hash = {number, [31] = number}};

	strcpy(key.company_id, company);
	return key;
}

/* A row of one result, the number as its payload. */
static struct idempotency row_of(int64_t created_us, uint8_t number, const char *result)
{
	struct idempotency row = {.created_us = created_us, .payload = {number}};

	strv_add(&row.results, result);
	return row;
}

static int add(struct db *db, const struct idempotency_key *key, int64_t created_us,
	const char *result, struct err *err)
{
	struct idempotency row = row_of(created_us, 7, result);
	int added = store_idempotency_add(db, key, &row, err);

	store_idempotency_clear(&row);
	return added;
}

static void assert_none(struct db *db, const struct idempotency_key *key, int64_t now_us)
{
	struct idempotency got = {0};

	assert_int_equal(store_idempotency_find(db, key, now_us, &got, NULL), 0);
	assert_null(got.results.items);
}

static void assert_result(
	struct db *db, const struct idempotency_key *key, int64_t now_us, const char *result)
{
	struct idempotency got;

	assert_int_equal(store_idempotency_find(db, key, now_us, &got, NULL), 1);
	assert_int_equal(got.results.n, 1);
	assert_string_equal(got.results.items[0], result);
	store_idempotency_clear(&got);
}

static void test_found(void **state)
{
	struct db *db = ((struct temp_db *)*state)->db;
	const struct idempotency_key key = key_of("a", 1);
	struct idempotency row = row_of(began_us, 7, "first"), got;

	strv_add(&row.results, "!why: \"ü\"");
	strv_add(&row.results, "third");
	assert_none(db, &key, began_us);
	OK(store_idempotency_add(db, &key, &row, &why));
	assert_int_equal(store_idempotency_find(db, &key, began_us, &got, NULL), 1);
	assert_memory_equal(got.payload, row.payload, sizeof(row.payload));
	assert_true(got.created_us == began_us);
	assert_false(got.settled);
	assert_int_equal(got.results.n, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(got.results.items[i], row.results.items[i]);
	store_idempotency_clear(&got);
	store_idempotency_clear(&row);
}

/* A key is that of its company, and all of its hash counts. */
static void test_others(void **state)
{
	struct db *db = ((struct temp_db *)*state)->db;
	const struct idempotency_key key = key_of("a", 1);
	struct idempotency_key other = key;

	OK(add(db, &key, began_us, "mine", &why));
	other.hash[31]++;
	assert_none(db, &other, began_us);
	other = key_of("b", 1);
	assert_none(db, &other, began_us);
	OK(add(db, &other, began_us, "theirs", &why));
	assert_int_equal(store_idempotency_remove(db, &other, NULL), 1);
	assert_int_equal(store_idempotency_remove(db, &other, NULL), 0);
	assert_result(db, &key, began_us, "mine");
}

static void test_age(void **state)
{
	static const struct {
		int64_t later_us;
		bool counts;
	} cases[] = {
		{-day_us, true}, /* the clock was set back */
		{0, true},
		{day_us - 1, true},
		{day_us, false},
		{day_us + 1, false},
		{365 * day_us, false},
	};
	struct db *db = ((struct temp_db *)*state)->db;
	const struct idempotency_key key = key_of("a", 1);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t now_us = began_us + cases[i].later_us;
		struct err err = ERR_INIT;

		OK(add(db, &key, began_us, "old", &why));
		if (cases[i].counts) {
			assert_result(db, &key, now_us, "old");
			assert_int_equal(add(db, &key, now_us, "new", &err), -1);
			assert_int_equal(err.code, ERR_EXISTS);
			assert_result(db, &key, now_us, "old");
		} else {
			assert_none(db, &key, now_us);
			OK(add(db, &key, now_us, "new", &why));
			assert_result(db, &key, now_us, "new");
		}
		assert_int_equal(temp_db_number(db, sql_rows), 1);
		assert_int_equal(store_idempotency_remove(db, &key, NULL), 1);
	}
}

/* New rows take old ones away, two each, and none that counts. */
static void test_cleaning(void **state)
{
	static const int rows[] = {10, 9, 8, 7, 6, 6, 7};
	const struct idempotency_key last = key_of("a", 9);
	struct db *db = ((struct temp_db *)*state)->db;

	for (uint8_t i = 0; i < 10; i++) {
		const struct idempotency_key key = key_of("a", i);

		OK(add(db, &key, began_us + i, "old", &why));
	}
	for (uint8_t i = 1; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct idempotency_key key = key_of("b", i);

		OK(add(db, &key, began_us + day_us + 8, "new", &why));
		assert_int_equal(temp_db_number(db, sql_rows), rows[i]);
	}
	assert_result(db, &last, began_us + day_us + 8, "old");
}

static void test_settle(void **state)
{
	struct db *db = ((struct temp_db *)*state)->db;
	const struct idempotency_key key = key_of("a", 1), none = key_of("a", 2);
	struct idempotency row = row_of(0, 0, "!in the end not"), got;

	row.settled = true;
	OK(add(db, &key, began_us, "id", &why));
	assert_int_equal(store_idempotency_settle(db, &none, &row, NULL), 0);
	assert_result(db, &key, began_us, "id");
	assert_int_equal(store_idempotency_settle(db, &key, &row, NULL), 1);
	assert_int_equal(store_idempotency_find(db, &key, began_us, &got, NULL), 1);
	assert_true(got.settled);
	assert_int_equal(got.payload[0], 7);
	assert_true(got.created_us == began_us);
	assert_string_equal(got.results.items[0], "!in the end not");
	store_idempotency_clear(&got);
	store_idempotency_clear(&row);
}

static void test_bad_results(void **state)
{
	static const char *const bad[] = {"", "two\nlines", "\n"};
	struct db *db = ((struct temp_db *)*state)->db;
	const struct idempotency_key key = key_of("a", 1);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct idempotency row = row_of(began_us, 1, "good");
		struct err err = ERR_INIT;

		strv_add(&row.results, bad[i]);
		assert_int_equal(store_idempotency_add(db, &key, &row, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_int_equal(store_idempotency_settle(db, &key, &row, &err), -1);
		store_idempotency_clear(&row);
	}
	assert_int_equal(temp_db_number(db, sql_rows), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, temp_db_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(found),
		TEST(others),
		TEST(age),
		TEST(cleaning),
		TEST(settle),
		TEST(bad_results),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
