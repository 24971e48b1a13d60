/* record_watch: decisions that come, that come late, that cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "httpd/outbox/record_watch.h"
#include "tests/unit/catch.h"
#include "tests/unit/temp_db.h"

enum { LONG_MS = 60000 };

static struct {
	struct event_base *base;
	struct db *reader;
	struct record_watch *watch;
	struct temp_tenant tenant;
} rig;

/* One email that is waited for, and what was told of it. */
struct waiting {
	struct watched watched; /* first */
	struct email email;
	int done;
	enum email_state state;
	char *refusal;
};

static int setup(void **state)
{
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp_db_tenant(temp->db, "Acme", "example.com", &rig.tenant);
	OK(db_open(temp->name, DB_READ, &rig.reader, &why));
	rig.base = event_base_new();
	rig.watch = record_watch_new(rig.base, rig.reader, NULL, NULL);
	return 0;
}

static int teardown(void **state)
{
	record_watch_free(rig.watch);
	event_base_free(rig.base);
	db_close(rig.reader);
	return temp_db_teardown(state);
}

static void on_done(struct watched *watched, enum email_state state, const char *refusal)
{
	struct waiting *waiting = (struct waiting *)watched;

	waiting->done++;
	waiting->state = state;
	waiting->refusal = mem_strdup(refusal);
}

static void stage(struct temp_db *temp, struct waiting *waiting)
{
	temp_db_email(&rig.tenant, &waiting->email);
	OK(store_email_stage(temp->db, &waiting->email, &why));
	waiting->watched.email_id = waiting->email.id;
	waiting->watched.done = on_done;
}

static void watch(struct waiting *waiting, int64_t wait_ms)
{
	waiting->watched.wait_ms = wait_ms;
	record_watch_add(rig.watch, &waiting->watched);
	assert_int_equal(waiting->done, 0);
}

static void clear(struct waiting *waiting)
{
	store_email_clear(&waiting->email);
	free(waiting->refusal);
}

static void record(struct temp_db *temp, const struct waiting *waiting)
{
	struct err why = ERR_INIT;

	assert_int_equal(store_email_record(temp->db, waiting->email.ticket, "Q1", 5, &why), 1);
}

/* Runs the loop for as long as something is pending. */
static void run(void)
{
	event_base_dispatch(rig.base);
}

static void test_recorded_before(void **state)
{
	struct waiting waiting = {0};

	stage(*state, &waiting);
	record(*state, &waiting);
	watch(&waiting, LONG_MS);
	run();
	assert_int_equal(waiting.done, 1);
	assert_int_equal(waiting.state, EMAIL_SENT);
	clear(&waiting);
}

static void test_refused(void **state)
{
	struct temp_db *temp = *state;
	struct waiting waiting = {0};
	struct err why = ERR_INIT;

	stage(temp, &waiting);
	watch(&waiting, LONG_MS);
	assert_int_equal(
		store_email_refuse(temp->db, waiting.email.ticket, "Q1", "No.", 5, &why), 1);
	run();
	assert_int_equal(waiting.state, EMAIL_REFUSED);
	assert_string_equal(waiting.refusal, "No.");
	clear(&waiting);
}

static void test_time_is_up(void **state)
{
	struct waiting waiting = {0};

	stage(*state, &waiting);
	watch(&waiting, 20);
	run();
	assert_int_equal(waiting.done, 1);
	assert_int_equal(waiting.state, EMAIL_STAGED);
	clear(&waiting);
}

static void on_soon(evutil_socket_t fd, short what, void *arg)
{
	void **both = arg;

	(void)fd;
	(void)what;
	record(both[0], both[1]);
}

/* The one that is decided while others wait. */
static void test_among_others(void **state)
{
	struct waiting first = {0}, second = {0}, third = {0};
	const struct timeval soon = {.tv_usec = 30000};
	void *both[] = {*state, &second};

	stage(*state, &first);
	stage(*state, &second);
	stage(*state, &third);
	watch(&first, 100);
	watch(&second, LONG_MS);
	watch(&third, 100);
	event_base_once(rig.base, -1, EV_TIMEOUT, on_soon, both, &soon);
	run();
	assert_int_equal(first.state, EMAIL_STAGED);
	assert_int_equal(second.state, EMAIL_SENT);
	assert_int_equal(third.state, EMAIL_STAGED);
	assert_int_equal(first.done + second.done + third.done, 3);
	clear(&first);
	clear(&second);
	clear(&third);
}

static void test_stop(void **state)
{
	struct waiting before = {0}, after = {0};

	stage(*state, &before);
	stage(*state, &after);
	watch(&before, LONG_MS);
	record_watch_stop(rig.watch);
	watch(&after, LONG_MS);
	run();
	assert_int_equal(before.done, 1);
	assert_int_equal(before.state, EMAIL_STAGED);
	assert_int_equal(after.done, 1);
	clear(&before);
	clear(&after);
}

/* What cannot be read is not decided; the time goes on. */
static void test_store_fails(void **state)
{
	struct temp_db *temp = *state;
	struct waiting waiting = {0};

	stage(temp, &waiting);
	OK(db_exec(temp->db, "ALTER TABLE email RENAME TO gone", &why));
	watch(&waiting, 20);
	run();
	assert_int_equal(waiting.done, 1);
	assert_int_equal(waiting.state, EMAIL_STAGED);
	clear(&waiting);
}

static size_t count_word(const char *text, const char *word)
{
	size_t n = 0;

	while ((text = strstr(text, word)) != NULL) {
		text += strlen(word);
		n++;
	}
	return n;
}

static void on_repaired(evutil_socket_t fd, short what, void *arg)
{
	void **both = arg;
	struct temp_db *temp = both[0];

	(void)fd;
	(void)what;
	OK(db_exec(temp->db, "ALTER TABLE gone RENAME TO email", &why));
	record(temp, both[1]);
}

/* That it fails is said once, and once that it does not any more. */
static void test_failure_is_said_once(void **state)
{
	struct temp_db *temp = *state;
	struct waiting first = {0}, second = {0};
	const struct timeval soon = {.tv_usec = 100000};
	void *both[] = {temp, &first};
	struct log *log = log_new("prog", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
	struct catch catch;
	_cleanup_free_ char *text = NULL;

	record_watch_free(rig.watch);
	rig.watch = record_watch_new(rig.base, rig.reader, NULL, log);
	stage(temp, &first);
	stage(temp, &second);
	record(temp, &second);
	OK(db_exec(temp->db, "ALTER TABLE email RENAME TO gone", &why));
	watch(&first, LONG_MS);
	watch(&second, LONG_MS);
	event_base_once(rig.base, -1, EV_TIMEOUT, on_repaired, both, &soon);
	catch = catch_stderr();
	run();
	text = catch_end(&catch);
	assert_int_equal(first.state, EMAIL_SENT);
	assert_int_equal(second.state, EMAIL_SENT);
	assert_int_equal(count_word(text, "store_failed"), 1);
	assert_int_equal(count_word(text, "store_back"), 1);
	clear(&first);
	clear(&second);
	log_free(log);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_recorded_before),
		CASE(test_refused),
		CASE(test_time_is_up),
		CASE(test_among_others),
		CASE(test_stop),
		CASE(test_store_fails),
		CASE(test_failure_is_said_once),
	};

	return cmocka_run_group_tests_name("record_watch", tests, NULL, NULL);
}
