/*
 * db_pool: never more handles than allowed, each with one borrower.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "core/db/db_pool.h"
#include "tests/unit/temp_db.h"

enum { HANDLES = 3, THREADS = 8, ROUNDS = 200 };

static void test_last_given_first(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db_pool) struct db_pool *pool = db_pool_new(temp->name, 2);
	struct db *a, *b, *c;

	OK(db_pool_take(pool, &a, &why));
	OK(db_pool_take(pool, &b, &why));
	assert_ptr_not_equal(a, b);
	db_pool_give(pool, a, true);
	OK(db_pool_take(pool, &c, &why));
	assert_ptr_equal(c, a);
	db_pool_give(pool, c, true);
	db_pool_give(pool, b, true);
	OK(db_pool_take(pool, &c, &why));
	assert_ptr_equal(c, b);
	db_pool_give(pool, c, true);
}

static void test_handles_only_read(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db_pool) struct db_pool *pool = db_pool_new(temp->name, 1);
	struct db *db;

	OK(db_pool_take(pool, &db, &why));
	assert_int_equal(db_exec(db, "DELETE FROM company", NULL), -1);
	db_pool_give(pool, db, true);
}

/* A place is not lost by a database that cannot be opened, or a handle that
 * was given back as broken. */
static void test_broken(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db_pool) struct db_pool *pool = db_pool_new(temp->name, 1);
	struct err err = ERR_INIT;
	struct db *db = NULL;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(db_pool_take(pool, &db, &err), -1);
		assert_int_equal(err.code, ERR_CONFIG);
		assert_null(db);
	}
	OK(db_open(temp->name, DB_CREATE, &temp->db, &why));
	for (int i = 0; i < 3; i++) {
		OK(db_pool_take(pool, &db, &why));
		db_pool_give(pool, db, false);
	}
}

/* A file that is not the one any more is noticed; when the same one is back,
 * all is well again. */
static void test_replaced(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	_cleanup_(db_pool) struct db_pool *pool = db_pool_new(temp->name, 2);
	_cleanup_free_ char *aside = temp_db_file(temp, "aside.db");
	struct err err = ERR_INIT;
	struct db *db, *other;

	OK(db_pool_take(pool, &db, &why));
	assert_int_equal(rename(temp->path, aside), 0);
	assert_int_equal(db_pool_take(pool, &other, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_int_equal(link(aside, temp->path), 0);
	OK(db_pool_take(pool, &other, &why));
	db_pool_give(pool, other, true);
	assert_int_equal(unlink(temp->path), 0);
	assert_int_equal(close(creat(temp->path, 0600)), 0);
	assert_int_equal(db_pool_take(pool, &other, &err), -1);
	db_pool_give(pool, db, true);
	assert_int_equal(db_pool_take(pool, &other, &err), -1);
	assert_int_equal(rename(aside, temp->path), 0);
	OK(db_pool_take(pool, &other, &why));
	db_pool_give(pool, other, true);
}

struct borrowers {
	struct db_pool *pool;
	atomic_int lent;
	atomic_int most;
	atomic_int failures;
};

static void *borrow(void *arg)
{
	static const char sql_one[] = "SELECT count(*) FROM company";
	struct borrowers *all = arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct db_stmt *stmt;
		struct db *db;
		int lent, most;

		if (db_pool_take(all->pool, &db, NULL) != 0) {
			all->failures++;
			continue;
		}
		lent = ++all->lent;
		most = all->most;
		while (lent > most && !atomic_compare_exchange_weak(&all->most, &most, lent))
			;
		if (db_start(db, sql_one, NULL, &stmt, NULL) != 0 || db_step(stmt, NULL) != 1)
			all->failures++;
		else
			db_reset(stmt);
		all->lent--;
		db_pool_give(all->pool, db, i % 50 != 0);
	}
	return NULL;
}

static void test_many_borrowers(void **state)
{
	struct temp_db *temp = *state;
	struct borrowers all = {.pool = db_pool_new(temp->name, HANDLES)};
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, borrow, &all), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(all.failures, 0);
	assert_in_range(all.most, 1, HANDLES);
	assert_int_equal(all.lent, 0);
	db_pool_free(all.pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_last_given_first, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_handles_only_read, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_broken, temp_db_setup_folder, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_replaced, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_many_borrowers, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
