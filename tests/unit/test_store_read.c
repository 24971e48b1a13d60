/* store_read: who reads, in what groups, and what happens to the others when a read fails, or the
 * server is slow, hangs or ends the connection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/db/db_pool.h"
#include "core/db/db_watch.h"
#include "httpd/worker/store_read.h"
#include "httpd/worker/worker.h"
#include "tests/unit/item_db.h"

enum { READS = 40, GUARD_S = 180 };

/* A statement that waits for whoever has the lock. */
static const char sql_slow[] = "SELECT pg_backend_pid(), pg_advisory_xact_lock_shared(7)";
static const char sql_lock[] = "SELECT pg_advisory_lock(7)";
static const char sql_unlock[] = "SELECT pg_advisory_unlock(7)";
static const char sql_fails[] = "SELECT 1 / count(*) FROM item WHERE name = 'nobody'";
static const char sql_process[] = "SELECT pg_backend_pid()";
static const char sql_file[] = "SELECT 7";

struct rig {
	struct temp_db *temp;
	struct worker_shared shared;
	struct worker worker;
	struct event *guard;
	pthread_t loop;
	struct one {
		struct store_read read; /* first */
		const char *sql, *unannounced;
		struct rig *rig;
		int64_t number;  /* what it has read */
		bool in_loop;    /* it was read by the loop */
		int tries, done; /* calls of read() and done() */
	} reads[READS];
	size_t n, done;
};

static void on_guard(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	fail_msg("nothing happens");
}

static int setup(void **state)
{
	const struct timeval guard = {.tv_sec = GUARD_S};
	struct rig *rig = mem_new(struct rig);
	struct temp_db *temp;

	item_db_setup(state);
	rig->temp = temp = *state;
	rig->loop = pthread_self();
	rig->worker.shared = &rig->shared;
	rig->worker.base = event_base_new();
	event_base_priority_init(rig->worker.base, STORE_READ_PRIORITY + 1);
	rig->guard = event_new(rig->worker.base, -1, 0, on_guard, NULL);
	event_add(rig->guard, &guard);
	rig->worker.tasks = task_queue_new(rig->worker.base);
	if (db_is_url(temp->name)) {
		OK(db_watch_new(temp->name, &rig->shared.server, &why));
		rig->shared.lookup_handles = db_pool_new(temp->name, 4);
		rig->shared.lookups = work_pool_new(4);
		rig->worker.reads = store_reads_new(rig->worker.base);
	} else {
		rig->worker.db = temp->db;
	}
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;
	void *temp = rig->temp;

	work_pool_free(rig->shared.lookups);
	task_queue_free(rig->worker.tasks);
	store_reads_free(rig->worker.reads);
	db_pool_free(rig->shared.lookup_handles);
	db_watch_free(rig->shared.server);
	event_free(rig->guard);
	event_base_free(rig->worker.base);
	free(rig);
	return temp_db_teardown(&temp);
}

#define ONLY_SERVER(rig)                                                                           \
	do {                                                                                       \
		if ((rig)->worker.reads == NULL)                                                   \
			skip();                                                                    \
	} while (0)

static void announce(struct store_read *read, struct db *db)
{
	db_read_ahead(db, ((struct one *)read)->sql, NULL);
}

static int number_of(struct db *db, const char *sql, int64_t *number_r, struct err *err)
{
	struct db_stmt *stmt;

	if (db_first(db, sql, NULL, &stmt, err) != 1)
		return -1;
	*number_r = db_int(stmt, 0);
	db_reset(stmt);
	return 0;
}

static int read_one(struct store_read *read, struct db *db, struct err *err)
{
	struct one *one = (struct one *)read;

	one->tries++;
	one->in_loop = pthread_equal(pthread_self(), one->rig->loop);
	if (number_of(db, one->sql, &one->number, err) != 0)
		return -1;
	return one->unannounced ? number_of(db, one->unannounced, &one->number, err) : 0;
}

static void on_done(struct store_read *read)
{
	struct one *one = (struct one *)read;

	assert_true(pthread_equal(pthread_self(), one->rig->loop));
	one->done++;
	one->rig->done++;
}

static struct one *start(struct rig *rig, const char *sql)
{
	struct one *one = &rig->reads[rig->n++];

	*one = (struct one){.rig = rig, .sql = sql};
	one->read.announce = announce;
	one->read.read = read_one;
	one->read.done = on_done;
	store_read_start(&rig->worker, &one->read, "");
	return one;
}

static void wait_for(struct rig *rig, const struct one *one)
{
	while (!one->done)
		event_base_loop(rig->worker.base, EVLOOP_ONCE);
}

static void wait_for_all(struct rig *rig)
{
	while (rig->done < rig->n)
		event_base_loop(rig->worker.base, EVLOOP_ONCE);
}

/* Has a thread read, which leaves its handle to the loop. Returns its process at the server. */
static pid_t connect_loop(struct rig *rig)
{
	struct one *one = start(rig, sql_process);

	wait_for(rig, one);
	assert_int_equal(one->read.result, 0);
	assert_false(one->in_loop);
	return (pid_t)one->number;
}

static void test_file(void **state)
{
	struct rig *rig = *state;
	struct one *one;

	if (rig->worker.reads)
		skip();
	one = start(rig, sql_file);
	assert_int_equal(one->done, 1);
	assert_int_equal(one->read.result, 0);
	assert_int_equal(one->number, 7);
}

/* From the second group on, the loop itself reads, all of a group by one connection. */
static void test_groups(void **state)
{
	struct rig *rig = *state;
	pid_t pid;

	ONLY_SERVER(rig);
	pid = connect_loop(rig);
	for (int round = 0; round < 3; round++) {
		struct one *first = start(rig, sql_process);

		start(rig, sql_process);
		start(rig, sql_process);
		assert_false(first->done);
		wait_for_all(rig);
		for (struct one *one = first; one < first + 3; one++) {
			assert_int_equal(one->read.result, 0);
			assert_int_equal(one->number, pid);
			assert_true(one->in_loop);
			assert_int_equal(one->tries, 1);
			assert_int_equal(one->done, 1);
		}
	}
	assert_true(store_reads_is_idle(rig->worker.reads));
}

/* A read of which a statement fails, or was not announced, is left to a thread; those that were in
 * a group with one that fails are as well. */
static void test_read_fails(void **state)
{
	struct rig *rig = *state;
	struct one *well, *fails, *more;

	ONLY_SERVER(rig);
	connect_loop(rig);
	well = start(rig, sql_process);
	fails = start(rig, sql_fails);
	wait_for_all(rig);
	assert_int_equal(well->read.result, 0);
	assert_int_equal(fails->read.result, -1);
	assert_non_null(strstr(fails->read.err.text, "division by zero"));
	assert_false(well->in_loop);
	assert_false(fails->in_loop);
	well = start(rig, sql_process);
	more = start(rig, sql_process);
	more->unannounced = sql_file;
	wait_for_all(rig);
	assert_int_equal(well->read.result, 0);
	assert_true(well->in_loop);
	assert_int_equal(more->read.result, 0);
	assert_int_equal(more->number, 7);
	assert_false(more->in_loop);
	assert_int_equal(more->tries, 2);
}

/* One that the server ends, because it takes too long, costs the others only time. */
static void test_too_slow(void **state)
{
	struct rig *rig = *state;
	struct one *before, *slow, *behind;

	ONLY_SERVER(rig);
	connect_loop(rig);
	OK(db_exec(rig->temp->db, sql_lock, &why));
	before = start(rig, sql_process);
	slow = start(rig, sql_slow);
	behind = start(rig, sql_process);
	wait_for_all(rig);
	assert_int_equal(before->read.result, 0);
	assert_int_equal(slow->read.result, -1);
	assert_int_equal(slow->read.err.code, ERR_TEMPORARY);
	assert_int_equal(behind->read.result, 0);
	OK(db_exec(rig->temp->db, sql_unlock, &why));
}

/* The connection ends while nothing is read on it, and while a group is: a thread reads then, and
 * leaves the loop another one. */
static void test_connection_ends(void **state)
{
	struct rig *rig = *state;
	struct one *one, *other;
	pid_t pid;

	ONLY_SERVER(rig);
	pid = connect_loop(rig);
	temp_db_end_process(pid);
	event_base_loop(rig->worker.base, EVLOOP_NONBLOCK);
	event_base_loop(rig->worker.base, EVLOOP_NONBLOCK);
	assert_true(connect_loop(rig) != pid);
	OK(db_exec(rig->temp->db, sql_lock, &why));
	one = start(rig, sql_slow);
	other = start(rig, sql_process);
	event_base_loop(rig->worker.base, EVLOOP_NONBLOCK);
	pid = (pid_t)rig->reads[1].number;
	temp_db_end_process(pid);
	OK(db_exec(rig->temp->db, sql_unlock, &why));
	wait_for_all(rig);
	assert_int_equal(one->read.result, 0);
	assert_true(one->number != pid);
	assert_false(one->in_loop);
	assert_int_equal(other->read.result, 0);
	other = start(rig, sql_process);
	wait_for_all(rig);
	assert_true(other->in_loop);
}

/* What comes after a slow read is read by a thread meanwhile. */
static void test_slow(void **state)
{
	struct rig *rig = *state;
	struct one *slow, *other;
	int64_t began_us;

	ONLY_SERVER(rig);
	connect_loop(rig);
	OK(db_exec(rig->temp->db, sql_lock, &why));
	began_us = clock_monotonic_us();
	slow = start(rig, sql_slow);
	event_base_loop(rig->worker.base, EVLOOP_NONBLOCK);
	other = start(rig, sql_process);
	wait_for(rig, other);
	assert_int_equal(other->read.result, 0);
	assert_false(other->in_loop);
	assert_false(slow->done);
	assert_false(store_reads_is_idle(rig->worker.reads));
	store_reads_look(rig->worker.reads, began_us + 1400000);
	assert_false(slow->done);
	OK(db_exec(rig->temp->db, sql_unlock, &why));
	wait_for_all(rig);
	assert_int_equal(slow->read.result, 0);
	assert_true(slow->in_loop);
}

/* A group that is not answered in time fails, and is not read again. */
static void test_no_answer(void **state)
{
	enum { LATER_US = 1500000 };
	struct rig *rig = *state;
	struct one *one, *other;

	ONLY_SERVER(rig);
	connect_loop(rig);
	OK(db_exec(rig->temp->db, sql_lock, &why));
	one = start(rig, sql_slow);
	other = start(rig, sql_process);
	event_base_loop(rig->worker.base, EVLOOP_NONBLOCK);
	store_reads_look(rig->worker.reads, clock_monotonic_us() + LATER_US);
	assert_int_equal(one->done, 1);
	assert_int_equal(other->done, 1);
	assert_int_equal(one->read.result, -1);
	assert_int_equal(other->read.err.code, ERR_TEMPORARY);
	assert_int_equal(one->tries, 0);
	OK(db_exec(rig->temp->db, sql_unlock, &why));
	connect_loop(rig);
}

static void on_busy(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* A loop that always finds something else to do reads all the same. */
static void test_busy(void **state)
{
	struct rig *rig = *state;
	struct event *busy;
	int ends[2];

	ONLY_SERVER(rig);
	connect_loop(rig);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	busy = event_new(rig->worker.base, ends[0], EV_READ | EV_PERSIST, on_busy, NULL);
	event_add(busy, NULL);
	start(rig, sql_process);
	start(rig, sql_process);
	wait_for_all(rig);
	event_free(busy);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(rig->reads[1].read.result, 0);
	assert_int_equal(rig->reads[2].read.result, 0);
}

/* More than a group has at most. */
static void test_many(void **state)
{
	struct rig *rig = *state;

	ONLY_SERVER(rig);
	connect_loop(rig);
	for (int i = 1; i < READS; i++)
		start(rig, sql_process);
	wait_for_all(rig);
	for (int i = 0; i < READS; i++) {
		assert_int_equal(rig->reads[i].read.result, 0);
		assert_int_equal(rig->reads[i].done, 1);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(file),
		TEST(groups),
		TEST(read_fails),
		TEST(too_slow),
		TEST(connection_ends),
		TEST(slow),
		TEST(no_answer),
		TEST(busy),
		TEST(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
