/* store_host: heartbeats of hosts, who of them is lost, and what is left of one that is removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/clock.h"
#include "core/store/outbox/store_backlog.h"
#include "core/store/host/store_log.h"
#include "core/store/host/store_held.h"
#include "core/store/host/store_host.h"
#include "core/store/outbox/store_outbox.h"
#include "tests/unit/temp_db.h"

static void beat(struct db *db, bool starts, int64_t now_us, int64_t *epoch_r)
{
	OK(store_host_beat(db, "httpd", starts, "", now_us, now_us, epoch_r, &why));
}

static void look(struct db *db, struct host_watch *watch)
{
	struct host_list list;

	OK(store_host_list(db, &list, &why));
	host_watch_look(watch, "httpd", &list);
	store_host_list_free(&list);
}

static struct db *open_host(const struct temp_db *temp, const char *name)
{
	_cleanup_free_ char *place = mem_printf("%s#%s", temp->name, name);
	struct db *db;

	OK(db_open(place, DB_WRITE, &db, &why));
	return db;
}

/* A host is lost when nobody has seen a new heartbeat in six looks, and when it is unknown. */
static void test_watch(void **state)
{
	struct temp_db *temp = *state;
	const char *host = db_host(temp->db);
	struct host_watch watch = {0};
	int64_t seen = 0;

	assert_true(host_watch_is_lost(&watch, host, &seen));
	assert_int_equal(seen, 0);
	beat(temp->db, true, 1000, NULL);
	beat(temp->db, false, 2000, NULL);
	for (int i = 0; i < HOST_MISSED_MAX; i++) {
		look(temp->db, &watch);
		assert_false(host_watch_is_lost(&watch, host, &seen));
	}
	look(temp->db, &watch);
	assert_true(host_watch_is_lost(&watch, host, &seen));
	assert_int_equal(seen, 2);
	beat(temp->db, false, 3000, NULL);
	look(temp->db, &watch);
	assert_false(host_watch_is_lost(&watch, host, &seen));
	OK(store_host_remove(temp->db, host, 4000, &why) == 1 ? 0 : -1);
	look(temp->db, &watch);
	assert_true(host_watch_is_lost(&watch, host, &seen));
	assert_int_equal(seen, 0);
	host_watch_clear(&watch);
}

/* One that goes on learns of a takeover, and that it was removed. */
static void test_epoch(void **state)
{
	struct temp_db *temp = *state;
	int64_t first = 0, next = 0;

	beat(temp->db, true, 1000, &first);
	beat(temp->db, false, 2000, &next);
	assert_int_equal(next, first);
	beat(temp->db, true, 3000, &next);
	assert_int_equal(next, first);
	OK(db_exec(temp->db, "UPDATE host_part SET taken = taken + 1", &why));
	beat(temp->db, false, 4000, &next);
	assert_int_not_equal(next, first);
	assert_int_equal(store_host_remove(temp->db, db_host(temp->db), 5000, NULL), 1);
	beat(temp->db, false, 6000, &first);
	assert_int_not_equal(first, next);
}

/* Stages two emails at the host, which are in its outbox: one that its milter has recorded, by
 * SMTP, and one that it has not. */
static void fill_outbox(struct db *db, const struct temp_tenant *tenant)
{
	static const char sql_last[] = "SELECT max(seq) FROM email";

	for (int i = 0; i < 2; i++) {
		struct email email;

		temp_db_email(tenant, &email);
		email.way = EMAIL_WAY_SMTP;
		OK(store_email_stage(db, &email, &why));
		OK(store_outbox_add(db, temp_db_number(db, sql_last), 100, 1000, &why));
		if (i == 0)
			FOUND(store_email_record(db, email.ticket, "4X", 1000, &why));
		store_email_clear(&email);
	}
}

static int64_t take_over(struct db *db, const char *host, int64_t beat)
{
	struct outbox_takeover takeover = {.host = host, .beat = beat};

	OK(store_outbox_take_over(db, &takeover, 100, &why) == 1 ? 0 : -1);
	store_outbox_takeover_clear(&takeover);
	return takeover.moved;
}

/* While the host is known, what its milter has recorded waits for it. Once it is removed, others
 * have all of its outbox, and what only it could have ended is gone. When it comes back it goes on
 * in its log where it was. */
static void test_removed(void **state)
{
	static const char sql_held[] = "SELECT min(host) FROM held";
	static const char sql_open[] = "SELECT count(*) FROM outbox_break WHERE closed_us = 0";
	static const char sql_left[] = "SELECT count(*) FROM outbox WHERE host = 'dead'";
	const struct held_note held = {
		.queue_id = "4F2A", .reason = "no_ticket", .domain = "", .from = "", .now_us = 1};
	struct temp_db *temp = *state;
	_cleanup_free_ char *position = NULL, *holder = NULL;
	_cleanup_(db) struct db *dead = NULL, *alive = NULL;
	struct temp_tenant tenant;

	if (!db_is_url(temp->name))
		skip();
	dead = open_host(temp, "dead");
	alive = open_host(temp, "alive");
	temp_db_tenant(temp->db, "Hosts", "hosts.test", &tenant);
	fill_outbox(dead, &tenant);
	OK(store_held_note(dead, &held, &why));
	OK(store_held_note(alive, &held, &why));
	OK(store_break_open(dead, "refused", "no connection", 1000, &why));
	OK(store_log_cursor_set(dead, "/var/log/mail.log", "7", 1000, true, &why));
	beat(dead, true, 1000, NULL);

	assert_int_equal(take_over(alive, "dead", 1), 1);
	assert_int_equal(temp_db_number(temp->db, sql_left), 1);
	assert_int_equal(store_host_remove(alive, "dead", 2000, NULL), 1);
	assert_int_equal(take_over(alive, "dead", 0), 1);
	assert_int_equal(temp_db_number(temp->db, sql_left), 0);
	assert_int_equal(temp_db_number(temp->db, sql_open), 0);
	holder = temp_db_text(temp->db, sql_held);
	assert_string_equal(holder, "alive");
	FOUND(store_log_cursor(dead, "/var/log/mail.log", &position, &why));
	assert_string_equal(position, "7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_db_setup, temp_db_teardown)
		TEST(test_watch),
		TEST(test_epoch),
		TEST(test_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
