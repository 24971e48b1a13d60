/* store_pause, store_backlog: what is paused waits and loses nothing; what is told of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/store/store_audit.h"
#include "core/store/outbox/store_backlog.h"
#include "core/store/company/store_domain.h"
#include "core/store/email/store_message.h"
#include "core/store/outbox/store_outbox.h"
#include "core/store/company/store_pause.h"
#include "tests/unit/temp_db.h"

#define CREATED INT64_C(1700000000123456)
#define NOW     (CREATED + 60 * SECOND_US)

/* Adds an email of the tenant to the outbox: 1 when it is paused, else 0. */
static int stage(
	struct temp_db *temp, const struct temp_tenant *tenant, int64_t due_us, char id[ID_SIZE])
{
	_cleanup_buf_ struct buf message = BUF_INIT;
	struct email email;
	int added;

	temp_db_email(tenant, &email);
	email.way = EMAIL_WAY_SMTP;
	buf_add_str(&message, "content");
	OK(store_email_stage(temp->db, &email, &why));
	OK(store_message_keep(temp->db, &email, &message, &why));
	added = store_outbox_add(temp->db, email.seq, 7, due_us, NULL);
	assert_true(added >= 0);
	memcpy(id, email.id, ID_SIZE);
	store_email_clear(&email);
	return added;
}

static void take(struct temp_db *temp, int64_t now_us, size_t n)
{
	const struct outbox_terms terms = {
		.now_us = now_us,
		.lifetime_us = DAY_US,
		.way = EMAIL_WAY_SMTP,
		.rows = 100,
		.rows_each = 10,
		.bytes = 1000,
		.but = "",
	};
	struct outbox_taken taken;

	OK(db_begin(temp->db, &why));
	OK(store_outbox_take(temp->db, &terms, &taken, &why));
	OK(db_commit(temp->db, &why));
	assert_int_equal(taken.n, n);
	for (size_t i = 0; i < taken.n; i++)
		assert_int_equal(taken.items[i].task, OUTBOX_SUBMIT);
	store_outbox_taken_clear(&taken);
}

static void add_pause(struct temp_db *temp, const struct temp_tenant *tenant, const char *kind,
	char id_r[static ID_SIZE])
{
	struct pause pause = {.kind = (char *)kind,
		.name = (char *)"x",
		.reason = (char *)"because",
		.created_us = NOW};

	id_new(pause.id);
	memcpy(id_r, pause.id, ID_SIZE);
	memcpy(pause.company_id, tenant->company_id, ID_SIZE);
	if (*kind == 'd')
		pause.domain = (char *)tenant->domain;
	if (*kind == 'k')
		memcpy(pause.key_id, tenant->key_id, ID_SIZE);
	OK(store_pause_add(temp->db, &pause, &why));
	assert_int_equal(store_pause_add(temp->db, &pause, NULL), -1);
}

/* Its emails wait, those of others do not; what is new and what comes due waits as well, for
 * longer than an email lives; resumed, all go. */
static void test_pause(void **state)
{
	static const char *const kinds[] = {"company", "domain", "key"};
	struct temp_db *temp = *state;
	struct temp_tenant tenants[2];
	char id[ID_SIZE], pause[ID_SIZE];
	int64_t now_us = NOW, due_us;

	temp_db_tenant(temp->db, "One", "one.test", &tenants[0]);
	temp_db_tenant(temp->db, "Other", "other.test", &tenants[1]);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++, now_us += 3 * DAY_US) {
		OK(db_exec(temp->db, "DELETE FROM outbox", &why));
		assert_int_equal(stage(temp, &tenants[0], 1, id), 0);
		assert_int_equal(stage(temp, &tenants[0], now_us + 5, id), 0);
		add_pause(temp, &tenants[0], kinds[i], pause);
		assert_int_equal(stage(temp, &tenants[0], 0, id), 1);
		assert_int_equal(stage(temp, &tenants[1], 1, id), 0);
		assert_true(db_change(temp->db, "UPDATE email SET created_us = $now",
				    DB_PARAMS(DB_INT("$now", now_us)), NULL) > 0);
		take(temp, now_us + 1, 1);
		FOUND(store_outbox_next(temp->db, &due_us, &why));
		assert_int_equal(due_us, now_us + 5);
		take(temp, now_us + 5, 0);
		assert_int_equal(store_outbox_hurry(temp->db, now_us + 6, NULL), 0);
		take(temp, now_us + 2 * DAY_US, 0);
		FOUND(store_outbox_next(temp->db, &due_us, &why));
		assert_true(due_us > OUTBOX_PAUSED);
		FOUND(store_pause_remove(temp->db, pause, &why));
		assert_int_equal(store_pause_remove(temp->db, pause, NULL), 0);
		FOUND(store_outbox_next(temp->db, &due_us, &why));
		assert_int_equal(due_us, 1);
		take(temp, now_us + 2 * DAY_US, 3);
	}
}

static bool is_paused(struct temp_db *temp, const char *key, const char *domain)
{
	struct key_login login;
	bool paused;

	FOUND(store_key_login(temp->db, key, domain, &login, &why));
	paused = login.paused;
	store_key_login_clear(&login);
	return paused;
}

/* A login learns whether its company, its key or the domain that it sends as is paused. */
static void test_login(void **state)
{
	static const struct {
		const char *kind;
		bool own, second_domain, second_key;
	} cases[] = {
		{"company", true, true, true},
		{"domain", true, false, true},
		{"key", true, true, false},
	};
	const struct key_spec spec = {.scopes = KEY_SENDING};
	struct temp_db *temp = *state;
	struct temp_tenant tenants[2];
	const char *own = tenants[0].key_id;
	char pause[ID_SIZE];
	struct key key;

	temp_db_tenant(temp->db, "One", "one.test", &tenants[0]);
	temp_db_tenant(temp->db, "Other", "other.test", &tenants[1]);
	temp_db_key(temp->db, &tenants[0], "second", &spec, &key);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_false(is_paused(temp, own, "one.test"));
		add_pause(temp, &tenants[0], cases[i].kind, pause);
		assert_int_equal(is_paused(temp, own, "one.test"), cases[i].own);
		assert_int_equal(is_paused(temp, own, "second.test"), cases[i].second_domain);
		assert_int_equal(is_paused(temp, key.id, "one.test"), cases[i].second_key);
		assert_false(is_paused(temp, tenants[1].key_id, "other.test"));
		FOUND(store_pause_remove(temp->db, pause, &why));
	}
	store_key_clear(&key);
}

static int64_t count_waiting(struct temp_db *temp, const char *company_id)
{
	struct email_waiting waiting;

	OK(store_email_waiting(temp->db, company_id, NOW, 0, &waiting, &why));
	return waiting.staged;
}

/* What is paused or scheduled does not wait for the milter; what is due does, or was put
 * off after an attempt, or is not in the outbox. */
static void test_waiting_for_the_milter(void **state)
{
	struct temp_db *temp = *state;
	struct temp_tenant tenants[2];
	char ids[4][ID_SIZE], pause[ID_SIZE];
	const struct outbox_delay delay = {.due_us = NOW + 5, .failed = true, .reason = "x"};

	temp_db_tenant(temp->db, "One", "one.test", &tenants[0]);
	temp_db_tenant(temp->db, "Other", "other.test", &tenants[1]);
	assert_int_equal(stage(temp, &tenants[0], NOW + 5, ids[0]), 0);
	assert_int_equal(stage(temp, &tenants[0], 1, ids[1]), 0);
	assert_int_equal(stage(temp, &tenants[0], 0, ids[2]), 0);
	assert_int_equal(stage(temp, &tenants[0], 0, ids[3]), 0);
	assert_true(
		db_change(temp->db,
			"UPDATE email SET created_us = 1, scheduled_us = iif(id = $id, $due, 0)",
			DB_PARAMS(DB_TEXT("$id", ids[0]), DB_INT("$due", NOW + 5)), NULL) > 0);
	assert_int_equal(store_outbox_put_off(temp->db, ids[2], &delay, NULL), 1);
	assert_int_equal(store_outbox_remove(temp->db, ids[3], NOW, NULL), 1);
	assert_int_equal(count_waiting(temp, NULL), 3);
	assert_int_equal(count_waiting(temp, tenants[0].company_id), 3);
	assert_int_equal(count_waiting(temp, tenants[1].company_id), 0);
	add_pause(temp, &tenants[0], "company", pause);
	take(temp, NOW + 10, 0);
	assert_int_equal(count_waiting(temp, NULL), 1);
	assert_int_equal(count_waiting(temp, tenants[0].company_id), 1);
}

/* What waits for two of them waits until both are resumed. What is canceled does not wait. */
static void test_two_pauses(void **state)
{
	struct temp_db *temp = *state;
	struct temp_tenant tenant;
	char id[ID_SIZE], first[ID_SIZE], second[ID_SIZE];
	struct pause_list list;

	temp_db_tenant(temp->db, "One", "one.test", &tenant);
	assert_int_equal(stage(temp, &tenant, 1, id), 0);
	add_pause(temp, &tenant, "company", first);
	add_pause(temp, &tenant, "key", second);
	take(temp, NOW, 0);
	OK(store_pause_list(temp->db, tenant.company_id, &list, &why));
	assert_int_equal(list.n, 2);
	assert_int_equal(list.items[0].emails + list.items[1].emails, 1);
	store_pause_list_free(&list);
	FOUND(store_pause_remove(temp->db, first, &why));
	take(temp, NOW, 0);
	FOUND(store_pause_remove(temp->db, second, &why));
	take(temp, NOW, 1);
}

/* It ends with its domain. */
static void test_domain_is_removed(void **state)
{
	struct temp_db *temp = *state;
	struct temp_tenant tenant;
	char id[ID_SIZE], pause[ID_SIZE];
	struct pause_list list;

	temp_db_tenant(temp->db, "One", "one.test", &tenant);
	add_pause(temp, &tenant, "domain", pause);
	assert_int_equal(stage(temp, &tenant, 0, id), 1);
	take(temp, NOW, 0);
	assert_int_equal(store_domain_remove(temp->db, tenant.domain_id, NULL), 1);
	OK(store_pause_list(temp->db, NULL, &list, &why));
	assert_int_equal(list.n, 0);
	store_pause_list_free(&list);
	take(temp, NOW, 1);
}

static void test_cancel_some(void **state)
{
	struct temp_db *temp = *state;
	struct temp_tenant tenants[2];
	struct outbox_cancel cancel = {0};
	char id[ID_SIZE], pause[ID_SIZE];
	int result, steps = 0;

	temp_db_tenant(temp->db, "One", "one.test", &tenants[0]);
	temp_db_tenant(temp->db, "Other", "other.test", &tenants[1]);
	for (int i = 0; i < 600; i++)
		stage(temp, &tenants[i % 2], i % 3 ? NOW : NOW + DAY_US, id);
	add_pause(temp, &tenants[1], "company", pause);
	cancel.company_id = tenants[1].company_id;
	cancel.key_id = tenants[0].key_id;
	while ((result = store_outbox_cancel_some(temp->db, &cancel, NOW, NULL)) == STORE_MORE)
		steps++;
	assert_int_equal(result, 1);
	assert_int_equal(cancel.canceled, 0);
	cancel = (struct outbox_cancel){
		.company_id = tenants[1].company_id, .domain = "other.test"};
	while ((result = store_outbox_cancel_some(temp->db, &cancel, NOW, NULL)) == STORE_MORE)
		steps++;
	assert_int_equal(result, 1);
	assert_int_equal(cancel.canceled, 300);
	assert_int_equal(steps, 20); /* of the 300 of the company alone, 32 each */
	assert_int_equal(temp_db_number(temp->db,
				 "SELECT count(*) FROM email WHERE last_event = 'canceled'"),
		300);
}

static void test_backlog(void **state)
{
	struct temp_db *temp = *state;
	struct temp_tenant tenants[2];
	char id[ID_SIZE], pause[ID_SIZE];
	struct backlog_list list;
	const struct backlog *one;

	temp_db_tenant(temp->db, "One", "one.test", &tenants[0]);
	temp_db_tenant(temp->db, "Other", "other.test", &tenants[1]);
	stage(temp, &tenants[0], 0, id); /* in hand */
	OK(store_backlog_list(temp->db, NULL, 10, NOW, &list, &why));
	assert_int_equal(list.n, 0);
	store_backlog_list_free(&list);
	for (int i = 0; i < 3; i++)
		stage(temp, &tenants[0], NOW - 5, id);
	stage(temp, &tenants[0], NOW + 5, id); /* scheduled */
	stage(temp, &tenants[0], NOW + 5, id);
	FOUND(store_outbox_put_off(temp->db, id,
		&(struct outbox_delay){.due_us = NOW + 5, .failed = true, .reason = "busy"}, &why));
	add_pause(temp, &tenants[0], "company", pause);
	stage(temp, &tenants[0], 0, id);
	stage(temp, &tenants[1], NOW + 9, id);
	for (int one_only = 0; one_only < 2; one_only++) {
		OK(store_backlog_list(
			temp->db, one_only ? tenants[0].company_id : NULL, 10, NOW, &list, &why));
		assert_int_equal(list.n, 2 - one_only);
		for (size_t i = 0; i < list.n; i++) {
			one = &list.items[i];
			if (strcmp(one->id, tenants[0].company_id) != 0) {
				assert_int_equal(one->scheduled, 1);
				assert_int_equal(one->waiting + one->paused, 0);
				assert_true(one->since_us == 0 && one->why == NULL);
				continue;
			}
			assert_string_equal(one->name, "One");
			assert_int_equal(one->waiting, 4);
			assert_int_equal(one->scheduled, 1);
			assert_int_equal(one->paused, 1);
			assert_int_equal(one->since_us, CREATED);
			assert_string_equal(one->why, "busy");
		}
		store_backlog_list_free(&list);
	}
}

static void test_rate(void **state)
{
	struct temp_db *temp = *state;
	int64_t minute_us = 60 * SECOND_US, start_us = NOW - NOW % minute_us, rate;

	OK(store_outbox_rate(temp->db, start_us, &rate, &why));
	assert_int_equal(rate, 0);
	for (int i = 0; i < 90; i++)
		OK(store_outbox_flow(temp->db, 100, start_us + i * minute_us, &why));
	OK(store_outbox_rate(temp->db, start_us + 90 * minute_us, &rate, &why));
	assert_int_equal(rate, 100 * 60);
	OK(store_outbox_rate(temp->db, start_us + 96 * minute_us, &rate, &why));
	assert_int_equal(rate, 0);
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM outbox_flow"), 61);
}

static void test_breaks(void **state)
{
	struct temp_db *temp = *state;
	struct break_list list;

	for (int i = 0; i < BREAKS_KEPT + 5; i++) {
		OK(store_break_close(temp->db, NOW + i, &why));
		OK(store_break_open(temp->db, "away", "refused", NOW + i, &why));
	}
	OK(store_break_list(temp->db, 3, &list, &why));
	assert_int_equal(list.n, 3);
	assert_true(list.items[0].closed_us == 0 && list.items[0].opened_us == NOW + 104);
	assert_true(list.items[1].closed_us == NOW + 104);
	store_break_list_free(&list);
	assert_int_equal(
		temp_db_number(temp->db, "SELECT count(*) FROM outbox_break"), BREAKS_KEPT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, temp_db_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(pause),
		TEST(login),
		TEST(waiting_for_the_milter),
		TEST(two_pauses),
		TEST(domain_is_removed),
		TEST(cancel_some),
		TEST(backlog),
		TEST(rate),
		TEST(breaks),
	};

	return cmocka_run_group_tests_name("store_pause", tests, NULL, NULL);
}
