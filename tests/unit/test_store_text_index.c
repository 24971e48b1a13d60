/*
 * store_text_index: what a search for words finds, whether blocks have the emails yet or not, and
 * that nothing is left of what was removed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/store/email/store_email.h"
#include "core/store/email/store_purge.h"
#include "core/store/email/store_text_index.h"
#include "tests/unit/temp_db.h"

enum { ONE, OTHER, ANYBODY };

struct world {
	struct temp_tenant tenants[2];
};

static void stage(
	struct temp_db *temp, int tenant, const char *subject, const char *to, const char *mailbox)
{
	struct world *world = temp->more;
	struct email email;

	temp_db_email(&world->tenants[tenant], &email);
	recipients_free(&email.recipients);
	temp_db_recipient(&email, RECIPIENT_TO, to, mailbox);
	temp_db_recipient(&email, RECIPIENT_CC, "second@dst.test", NULL);
	free(email.subject);
	email.subject = mem_strdup(subject);
	email.created_us = 1;
	OK(store_email_stage(temp->db, &email, &why));
	store_email_clear(&email);
}

static int setup(void **state)
{
	struct world *world = mem_new(struct world);
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp->more = world;
	temp_db_tenant(temp->db, "One", "one.test", &world->tenants[ONE]);
	temp_db_tenant(temp->db, "Other", "other.test", &world->tenants[OTHER]);
	stage(temp, ONE, "Your team update", "ann@dst.test", "Ann Müller <ann@dst.test>");
	stage(temp, OTHER, "Team update", "bob@dst.test", NULL);
	stage(temp, ONE, "Update of the team\nof March", "bob@dst.test", NULL);
	stage(temp, ONE, "ÜBER 100%_\\ \"it's\"", "eve@dst.test", NULL);
	stage(temp, OTHER, "0000000000000001", "bob@dst.test", NULL);
	return 0;
}

/* The seqs that are found, from the newest on or up. */
static char *found_by(struct temp_db *temp, int whose, const char *typed, bool up)
{
	const struct world *world = temp->more;
	_cleanup_strv_ struct strv words = STRV_INIT;
	struct buf out = BUF_INIT;
	struct text_found found;

	store_text_index_words(typed, &words);
	OK(store_text_index_find(temp->db,
		&(const struct text_look){
			.company_id = whose == ANYBODY ? NULL : world->tenants[whose].company_id,
			.words = &words,
			.up = up,
			.low = 1,
			.high = INT64_MAX - 1},
		&found, &why));
	assert_false(found.cut);
	for (size_t i = 0; i < found.n; i++)
		buf_printf(&out, "%s%lld", i ? " " : "", (long long)found.seqs[i]);
	free(found.seqs);
	buf_add_str(&out, "");
	return buf_take(&out);
}

static void check_found(struct temp_db *temp, int whose, const char *typed, const char *expected)
{
	_cleanup_free_ char *found = found_by(temp, whose, typed, false);

	assert_string_equal(found, expected);
}

static const struct {
	int whose;
	const char *typed;
	const char *found;
} cases[] = {
	{ONE, "team update", "3 1"},
	{ONE, "update team", "3 1"},
	{ONE, "\"team update\"", "1"},
	{ONE, "TEAM upd", "3 1"},
	{ONE, "eam ann", "1"},
	{ONE, "müLLer", "1"},
	{ONE, "über", "4"},
	{ONE, "100%_\\", "4"},
	{ONE, "second@dst", "4 3 1"},
	{ONE, "\"of team\"", ""},
	{ONE, "\"team of march\"", "3"}, /* what breaks a line is a blank */
	{ONE, "update bob", "3"},
	{ONE, "0000000000000001", ""},
	{OTHER, "0000000000000001", "5"},
	{OTHER, "update", "2"},
	{OTHER, "ann", ""},
	{ANYBODY, "update", "3 2 1"},
	{ANYBODY, "bob@dst.test", "5 3 2"},
	{ANYBODY, "other.test", "5 2"},
	{ANYBODY, "update nobody", ""},
};

static void check_cases(struct temp_db *temp)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *down = found_by(temp, cases[i].whose, cases[i].typed, false);
		_cleanup_free_ char *up = found_by(temp, cases[i].whose, cases[i].typed, true);
		size_t len = strlen(up);

		if (strcmp(down, cases[i].found) != 0)
			fail_msg("case %zu (%s): %s", i, cases[i].typed, down);
		assert_int_equal(len, strlen(down));
		for (size_t c = 0; c < len; c++)
			assert_int_equal(up[c], down[len - 1 - c]);
	}
}

static void fill_all(struct temp_db *temp)
{
	int more;

	do {
		more = store_text_index_fill(temp->db, 0, NULL);
		assert_true(more >= 0);
	} while (more);
}

static int64_t missing(struct temp_db *temp)
{
	int64_t percent = -1;

	OK(store_text_index_missing(temp->db, &percent, &why));
	return percent;
}

static void test_found(void **state)
{
	struct temp_db *temp = *state;

	check_cases(temp); /* among the emails */
	fill_all(temp);
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM text_block"), 2);
	check_cases(temp);
}

/* A database from before: nothing is in a block, and the newest come first. */
static void test_found_while_filled(void **state)
{
	struct temp_db *temp = *state;

	OK(db_exec(temp->db, "UPDATE text_range SET low = 4, high = 3", &why));
	assert_int_equal(missing(temp), 60);
	check_cases(temp);
	assert_int_equal(store_text_index_fill(temp->db, 0, NULL), 1);
	check_cases(temp);
	assert_int_equal(missing(temp), 60);
	fill_all(temp);
	check_cases(temp);
	assert_int_equal(missing(temp), 0);
	stage(temp, ONE, "One more team update", "ann@dst.test", NULL);
	check_found(temp, ANYBODY, "update", "6 3 2 1");
	fill_all(temp);
	check_found(temp, ANYBODY, "update", "6 3 2 1");
}

static int64_t bytes_with(struct temp_db *temp, const char *sql)
{
	return temp_db_number(temp->db, sql);
}

static void test_forgotten(void **state)
{
	static const char sql_ann[] =
		"SELECT count(*) FROM text_block WHERE instr(hex(text), hex('ann@')) > 0";
	static const char sql_second[] =
		"SELECT count(*) FROM text_block WHERE instr(hex(text), hex('second@')) > 0";
	struct temp_db *temp = *state;
	struct purge ann = {.to = "ANN@dst.test"}, all = {0};
	_cleanup_free_ char *next = NULL;

	fill_all(temp);
	OK(db_exec(temp->db, "UPDATE email SET state = 'sent', queue_id = ''", &why));
	assert_int_equal(bytes_with(temp, sql_ann), 1);
	assert_int_equal(store_purge_step(temp->db, &ann, 2 * DAY_US, 1000000, NULL), 0);
	assert_int_equal(ann.recipients, 1);
	assert_int_equal(bytes_with(temp, sql_ann), 0);
	check_found(temp, ONE, "team update", "3 1");
	check_found(temp, ONE, "ann", "");
	assert_int_equal(bytes_with(temp, sql_second), 2);
	assert_int_equal(store_purge_step(temp->db, &all, 2 * DAY_US, 1000000, NULL), 0);
	assert_int_equal(all.removed, 5);
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM text_block"), 0);
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM text_stale"), 0);
	/* With SQLite the next one gets number 1 again. */
	stage(temp, OTHER, "Anew", "bob@dst.test", NULL);
	next = temp_db_text(temp->db, "SELECT CAST(max(seq) AS TEXT) FROM email");
	check_found(temp, ANYBODY, "anew", next);
	fill_all(temp);
	check_found(temp, ANYBODY, "anew", next);
}

/* The number of an email that was taken back is the next one's; not on a server, whose sequence
 * only goes up. */
static void test_number_used_again(void **state)
{
	struct temp_db *temp = *state;

	ONLY_SQLITE(state);
	fill_all(temp);
	OK(db_exec(temp->db, "DELETE FROM email WHERE seq = 4; DELETE FROM email WHERE seq = 5",
		&why));
	check_found(temp, OTHER, "0000000000000001", "");
	stage(temp, ONE, "Anew", "bob@dst.test", NULL);
	check_found(temp, ANYBODY, "anew", "4");
	check_found(temp, ANYBODY, "über", "");
	fill_all(temp);
	check_found(temp, ANYBODY, "anew", "4");
	check_found(temp, ANYBODY, "0000000000000001", "");
	check_found(temp, ANYBODY, "über", "");
}

/* Leaves behind on the stack what is no pointer. */
static __attribute__((noinline)) void dirty_stack(void)
{
	char bytes[16384];

	memset(bytes, 0xfe, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

/* A failure ends in an error, also where nothing was read yet. */
static void test_cannot_be_read(void **state)
{
	struct temp_db *temp = *state;

	OK(db_exec(temp->db, "ALTER TABLE text_stale RENAME TO aside", &why));
	dirty_stack();
	assert_int_equal(store_text_index_fill(temp->db, 0, NULL), -1);
	OK(db_exec(temp->db, "ALTER TABLE aside RENAME TO text_stale", &why));
	fill_all(temp);
	check_cases(temp);
}

/* Many emails of two companies by turns, in more blocks than one: each is found once, in order,
 * also where a look ends in between. */
static void test_many(void **state)
{
	static const char sql_many[] =
		"WITH RECURSIVE number (n) AS"
		" (SELECT 6 UNION ALL SELECT n + 1 FROM number WHERE n < 6005)"
		" INSERT INTO email (seq, id, ticket, company_id, key_id, domain, sender, header_from,"
		" reply_to, subject, message_id, created_us)"
		" SELECT n, printf('%08x-0000-4000-8000-000000000000', n), 'many' || n,"
		" (SELECT company_id FROM email WHERE seq = CASE WHEN n % 7 > 2 THEN 2 ELSE 1 END), 'key', 'one.test',"
		" 'a@one.test', 'a@one.test', '', 'Many of them', '<chosen' || n || '@x>', 1"
		" FROM number";
	struct temp_db *temp = *state;
	_cleanup_strv_ struct strv words = STRV_INIT;

	OK(db_exec(temp->db, sql_many, &why));
	/* Half of them from before. */
	OK(db_exec(temp->db, "UPDATE text_range SET low = 3000, high = 2999", &why));
	for (int i = 0; i < 20; i++)
		assert_int_equal(store_text_index_fill(temp->db, 0, NULL), 1);
	store_text_index_words("many", &words);
	for (int up = 0; up < 2; up++) {
		struct text_look look = {.words = &words, .up = up, .low = 1, .high = 6005};
		struct text_found found = {.cut = true};
		int64_t next = up ? 6 : 6005;

		for (int looks = 0; found.cut; looks++) {
			assert_true(looks < 20);
			OK(store_text_index_find(temp->db, &look, &found, &why));
			for (size_t i = 0; i < found.n; i++, next += up ? 1 : -1)
				if (found.seqs[i] != next)
					fail_msg(
						"up %d: look %d from %lld to %lld, %zu of %zu: %lld",
						up, looks, (long long)look.low,
						(long long)look.high, i, found.n,
						(long long)found.seqs[i]);
			free(found.seqs);
			if (up)
				look.low = found.reached + 1;
			else
				look.high = found.reached - 1;
		}
		assert_int_equal(next, up ? 6006 : 5);
	}
	fill_all(temp);
	assert_true(temp_db_number(temp->db, "SELECT count(*) FROM text_block") > 10);
	check_found(temp, ANYBODY, "chosen5000@", "5000");
	check_found(temp, OTHER, "chosen700@", "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(found),
		TEST(found_while_filled),
		TEST(forgotten),
		TEST(number_used_again),
		TEST(cannot_be_read),
		TEST(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
