/*
 * store_refusal: what is counted as one, and that nobody fills the disk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/str.h"
#include "core/store/company/store_domain.h"
#include "core/store/host/store_refusal.h"
#include "tests/unit/temp_db.h"

static const struct refusal_note usual = {
	.outcome = REFUSAL_REJECTED,
	.reason = "no_ticket",
	.domain = "example.com",
	.origin = "internal",
	.client = "10.0.0.1",
	.login = "ann",
	.sender = "a@example.com",
	.from = "b@example.com",
	.queue_id = "4F2A",
	.now_us = 1000,
	.keep = 1000,
};

static const struct refusal_scope everything = {0};

static void note(struct db *db, const struct refusal_note *what)
{
	OK(store_refusal_note(db, what, &why));
}

static void read_list(
	struct db *db, const struct refusal_scope *scope, int limit, struct refusal_list *list_r)
{
	OK(store_refusal_list(db, scope, limit, list_r, &why));
}

static void test_round_trip(void **state)
{
	struct temp_db *temp = *state;
	struct refusal_list list;
	const struct refusal *got;

	note(temp->db, &usual);
	read_list(temp->db, &everything, 10, &list);
	assert_int_equal(list.n, 1);
	got = &list.items[0];
	assert_int_equal(got->outcome, REFUSAL_REJECTED);
	assert_string_equal(got->reason, "no_ticket");
	assert_string_equal(got->domain, "example.com");
	assert_string_equal(got->origin, "internal");
	assert_string_equal(got->client, "10.0.0.1");
	assert_string_equal(got->login, "ann");
	assert_string_equal(got->sender, "a@example.com");
	assert_string_equal(got->from, "b@example.com");
	assert_string_equal(got->queue_id, "4F2A");
	assert_true(got->count == 1);
	assert_true(got->first_us == 1000);
	assert_true(got->last_us == 1000);
	store_refusal_list_free(&list);
}

static void test_nothing_known(void **state)
{
	struct temp_db *temp = *state;
	const struct refusal_note bare = {.reason = "no_ticket", .keep = 10};
	struct refusal_list list;

	note(temp->db, &bare);
	note(temp->db, &bare);
	read_list(temp->db, &everything, 10, &list);
	assert_int_equal(list.n, 1);
	assert_true(list.items[0].count == 2);
	assert_string_equal(list.items[0].domain, "");
	assert_string_equal(list.items[0].from, "");
	store_refusal_list_free(&list);
}

static void test_equal_ones_are_counted(void **state)
{
	struct temp_db *temp = *state;
	struct refusal_note again = usual;
	struct refusal_list list;

	note(temp->db, &usual);
	again.now_us = 2000;
	again.queue_id = "5B3C";
	note(temp->db, &again);
	read_list(temp->db, &everything, 10, &list);
	assert_int_equal(list.n, 1);
	assert_true(list.items[0].count == 2);
	assert_true(list.items[0].first_us == 1000);
	assert_true(list.items[0].last_us == 2000);
	assert_string_equal(list.items[0].queue_id, "5B3C");
	store_refusal_list_free(&list);
}

static void test_others_are_not(void **state)
{
	struct temp_db *temp = *state;
	struct refusal_note others[] = {usual, usual, usual, usual, usual, usual, usual, usual};
	struct refusal_list list;

	others[0].outcome = REFUSAL_LEARNT;
	others[1].reason = "ticket_unknown";
	others[2].domain = "other.test";
	others[3].origin = "login";
	others[4].client = "10.0.0.2";
	others[5].login = "bob";
	others[6].sender = "c@example.com";
	others[7].from = "c@example.com";
	note(temp->db, &usual);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		note(temp->db, &others[i]);
	read_list(temp->db, &everything, 100, &list);
	assert_int_equal(list.n, 1 + ARRAY_SIZE(others));
	store_refusal_list_free(&list);
}

static void test_texts_are_cut_and_mended(void **state)
{
	struct temp_db *temp = *state;
	struct refusal_note odd = usual;
	struct refusal_list list;
	char text[1000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text + 254, "\xf0\x9f\x98\x80", 4); /* across the cut */
	odd.sender = text;
	odd.from = "a\xff@b";
	note(temp->db, &odd);
	read_list(temp->db, &everything, 1, &list);
	assert_int_equal(strlen(list.items[0].sender), 254);
	assert_string_equal(list.items[0].from, "a?@b");
	store_refusal_list_free(&list);
}

/* A company that has one.test, and asks for two.test; its id, a new string. */
static char *add_owner(struct db *db)
{
	struct temp_tenant tenant;
	struct domain domain;

	temp_db_tenant(db, "One", "one.test", &tenant);
	OK(store_domain_add(db, tenant.company_id, "two.test",
		&(const struct domain){.pending = true}, 1, &domain, &why));
	store_domain_clear(&domain);
	return mem_strdup(tenant.company_id);
}

static void test_scopes(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_free_ char *company = add_owner(temp->db);
	const struct {
		struct refusal_scope scope;
		int limit;
		const char *senders; /* newest first */
	} cases[] = {
		{{0}, 10, "d c b a"},
		{{0}, 2, "d c"},
		{{0}, 0, ""},
		{{.domain = "one.test"}, 10, "c a"},
		{{.domain = "two.test", .learnt_only = true}, 10, "d"},
		{{.learnt_only = true}, 10, "d c"},
		{{.domain = "none.test"}, 10, ""},
		{{.company_id = company}, 10, "c a"},
		{{.company_id = company}, 1, "c"},
		{{.company_id = company, .domain = "one.test", .learnt_only = true}, 10, "c"},
		{{.company_id = company, .domain = "two.test"}, 10, ""}, /* asked for */
		{{.company_id = "none"}, 10, ""},
	};
	static const struct {
		const char *sender, *domain;
		enum refusal_outcome outcome;
	} notes[] = {
		{"a", "one.test", REFUSAL_REJECTED},
		{"b", "two.test", REFUSAL_HELD},
		{"c", "one.test", REFUSAL_LEARNT},
		{"d", "two.test", REFUSAL_LEARNT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		struct refusal_note one = usual;

		one.sender = notes[i].sender;
		one.domain = notes[i].domain;
		one.outcome = notes[i].outcome;
		one.now_us = (int64_t)i + 1;
		note(temp->db, &one);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strv_ struct strv found = STRV_INIT;
		_cleanup_free_ char *senders = NULL;
		struct refusal_list list;

		read_list(temp->db, &cases[i].scope, cases[i].limit, &list);
		for (size_t k = 0; k < list.n; k++)
			strv_add(&found, list.items[k].sender);
		senders = strv_join(&found, " ");
		assert_string_equal(senders, cases[i].senders);
		store_refusal_list_free(&list);
	}
}

static void flood(struct db *db, int64_t keep, int from, int to)
{
	for (int i = from; i < to; i++) {
		_cleanup_free_ char *sender = mem_printf("%d@example.com", i);
		struct refusal_note one = usual;

		one.sender = sender;
		one.now_us = i;
		one.keep = keep;
		note(db, &one);
	}
}

/* What a page ends with is told to members: it does not say how many rows were
 * made in between. */
static void test_numbers_count_nothing(void **state)
{
	struct temp_db *temp = *state;
	struct refusal one = {0};
	struct refusal_list list;

	flood(temp->db, 1000, 1, 5);
	read_list(temp->db, &everything, 10, &list);
	assert_int_equal(list.n, 4);
	for (size_t i = 0; i < list.n; i++) {
		int64_t apart = list.items[i].seq - one.seq;

		assert_true(list.items[i].seq > 0);
		assert_true(apart > 1000000 || apart < -1000000);
		one.seq = list.items[i].seq;
	}
	store_refusal_list_free(&list);
}

/* A page goes on where the one before ended, also when a row moves to the front
 * meanwhile, and with rows of the same time, whatever their order. */
static void test_pages(void **state)
{
	struct temp_db *temp = *state;
	struct refusal_scope scope = {0};
	struct refusal_note one = usual;
	struct refusal_list list;
	static const char *const senders[] = {"a", "b", "c", "d", "e"};
	char found[8] = "";

	for (size_t i = 0; i < ARRAY_SIZE(senders); i++) {
		one.sender = senders[i];
		one.now_us = i < 3 ? 7 : 6 + (int64_t)i;
		note(temp->db, &one);
	}
	for (int i = 0; i < 6; i++) {
		read_list(temp->db, &scope, 1, &list);
		if (list.n > 0) {
			strcat(found, list.items[0].sender);
			scope.behind_us = list.items[0].last_us;
			scope.behind_seq = list.items[0].seq;
		}
		store_refusal_list_free(&list);
		one.sender = "e";
		one.now_us = 20 + i;
		note(temp->db, &one);
	}
	assert_int_equal(strlen(found), ARRAY_SIZE(senders));
	assert_memory_equal(found, "ed", 2);
	for (size_t i = 0; i < ARRAY_SIZE(senders); i++)
		assert_non_null(strstr(found, senders[i]));
}

static int64_t rows(struct db *db)
{
	static const char sql_rows[] = "SELECT count(*) FROM refusal";

	return temp_db_number(db, sql_rows);
}

/* Of sixteen new rows one, by chance, removes the oldest: the chance that there
 * are so many more than may be is below one in a billion. */
static void test_rows_are_bounded(void **state)
{
	enum { MORE = 400 };
	static const char sql_oldest[] = "SELECT min(last_us) FROM refusal";
	struct temp_db *temp = *state;

	OK(db_begin(temp->db, &why));
	flood(temp->db, 100, 1, 1001);
	assert_in_range(rows(temp->db), 100, 100 + MORE);
	assert_in_range(temp_db_number(temp->db, sql_oldest), 901 - MORE, 901);
	/* A bound that was lowered is reached step by step. */
	flood(temp->db, 20, 1001, 2001);
	assert_in_range(rows(temp->db), 20, 20 + MORE);
	OK(db_commit(temp->db, &why));
}

/* What comes again and again is the newest, and stays. */
static void test_busy_ones_stay(void **state)
{
	static const char sql_busy[] = "SELECT count FROM refusal WHERE sender = 'busy'";
	struct temp_db *temp = *state;
	struct refusal_note busy = usual;

	busy.sender = "busy";
	OK(db_begin(temp->db, &why));
	for (int i = 0; i < 10; i++) {
		busy.now_us = i * 20;
		note(temp->db, &busy);
		flood(temp->db, 50, i * 20, i * 20 + 20);
	}
	OK(db_commit(temp->db, &why));
	assert_true(temp_db_number(temp->db, sql_busy) == 10);
}

static void test_broken(void **state)
{
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	OK(db_exec(temp->db, "DROP TABLE refusal", &why));
	assert_int_equal(store_refusal_note(temp->db, &usual, &err), -1);
	assert_int_not_equal(err.code, ERR_NONE);
}

/* A trigger of somebody else's that lets nothing in. */
static void test_not_taken(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	OK(db_exec(temp->db,
		"CREATE TRIGGER no BEFORE INSERT ON refusal"
		" BEGIN SELECT RAISE(IGNORE); END",
		&why));
	assert_int_equal(store_refusal_note(temp->db, &usual, &err), -1);
	assert_int_equal(err.code, ERR_INTERNAL);
}

/* A word that only a later program knows. */
static void test_unknown_outcome(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	struct refusal_list list;

	note(temp->db, &usual);
	OK(db_exec(temp->db, "PRAGMA ignore_check_constraints = 1", &why));
	OK(db_exec(temp->db, "UPDATE refusal SET outcome = 'later'", &why));
	read_list(temp->db, &everything, 10, &list);
	assert_int_equal(list.n, 1);
	assert_string_equal(store_refusal_outcome_name(list.items[0].outcome), "unknown");
	store_refusal_list_free(&list);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, temp_db_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(round_trip),
		TEST(unknown_outcome),
		TEST(nothing_known),
		TEST(equal_ones_are_counted),
		TEST(others_are_not),
		TEST(texts_are_cut_and_mended),
		TEST(scopes),
		TEST(numbers_count_nothing),
		TEST(pages),
		TEST(rows_are_bounded),
		TEST(busy_ones_stay),
		TEST(broken),
		TEST(not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
