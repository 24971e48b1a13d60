/* source_journal: what Postfix's users have said, and where it goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "events/source.h"
#include "tests/unit/temp_db.h"

enum { POSTFIX_UID = 102 };

/* Whoever writes to the journal is known by the user that the kernel saw. */
static const struct {
	int uid;
	const char *tag;
	const char *message;
	bool counts;
	const char *program; /* as the kernel has it, or NULL */
} entries[] = {
	{POSTFIX_UID, "postfix/qmgr", "0000000ABC: removed", true, NULL},
	{65534, "postfix/qmgr", "0000000DEF: removed", false, NULL},
	{0, "postfix/local", "0000000ABC: to=<a@b>", true, NULL},
	{0, "postfix/postsuper", "0000000ABC: removed", true, NULL},
	{0, "systemd-journald", "Suppressed 9 messages from postfix@-.service", true, NULL},
	{0, "cron", "nothing", false, NULL},
	/* a service with a name of its own, and another program that uses it */
	{0, "postfix-slow/pipe", "0000000ABC: to=<b@b>", true, "pipe"},
	{0, "postfix/slow/local", "0000000ABC: to=<c@b>", true, "local"},
	{0, "postfix-slow/pipe", "0000000DEF: to=<b@b>", false, "logger"},
	{65534, "postfix-slow/pipe", "0000000DEF: to=<c@b>", false, "pipe"},
	{POSTFIX_UID, "postfix/smtp", "the last one", true, NULL},
};

/* A journal with all of them, made by systemd's own program. */
static void make_journal(const struct temp_db *temp)
{
	_cleanup_free_ char *export = temp_db_file(temp, "entries");
	_cleanup_free_ char *journal = temp_db_file(temp, "system.journal");
	_cleanup_free_ char *command = mem_printf(
		"/lib/systemd/systemd-journal-remote -o %s %s 2>/dev/null", journal, export);
	FILE *file = fopen(export, "w");

	assert_non_null(file);
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		fprintf(file,
			"__REALTIME_TIMESTAMP=%zu\n__MONOTONIC_TIMESTAMP=%zu\n"
			"_BOOT_ID=0123456789abcdef0123456789abcdef\n_UID=%d\n"
			"SYSLOG_IDENTIFIER=%s\nMESSAGE=%s\n%s%s%s\n",
			1700000000000000 + i, 1000 + i, entries[i].uid, entries[i].tag,
			entries[i].message, entries[i].program ? "_COMM=" : "",
			entries[i].program ? entries[i].program : "",
			entries[i].program ? "\n" : "");
	assert_int_equal(fclose(file), 0);
	assert_int_equal(system(command), 0);
}

static void open_at(const struct temp_db *temp, const char *position, struct source **source_r)
{
	const struct journal_match match = {temp->folder, POSTFIX_UID, "postfix"};

	OK(source_journal_open(&match, position, source_r, &why));
}

static void expect_rest(struct source *source, size_t from)
{
	struct source_line line;

	for (size_t i = from; i < ARRAY_SIZE(entries); i++) {
		if (!entries[i].counts)
			continue;
		assert_int_equal(source_next(source, &line, NULL), 1);
		assert_null(line.gap);
		assert_string_equal(line.tag, entries[i].tag);
		assert_int_equal(line.len, strlen(entries[i].message));
		assert_memory_equal(line.text, entries[i].message, line.len);
		assert_true(line.time_us == 1700000000000000 + (int64_t)i);
	}
	assert_int_equal(source_next(source, &line, NULL), 0);
}

static void test_users(void **state)
{
	_cleanup_(source) struct source *source = NULL;

	make_journal(*state);
	open_at(*state, NULL, &source);
	expect_rest(source, 0);
}

static void test_position(void **state)
{
	_cleanup_(source) struct source *source = NULL;
	_cleanup_buf_ struct buf position = BUF_INIT;
	struct source_line line;

	make_journal(*state);
	open_at(*state, NULL, &source);
	assert_int_equal(source_next(source, &line, NULL), 1);
	source->ops->position(source, &position);
	source_free(TAKE_PTR(source));
	open_at(*state, buf_str(&position), &source);
	expect_rest(source, 1);
	source_free(TAKE_PTR(source));
	/* nothing was read by this one: it stays where it was */
	open_at(*state, buf_str(&position), &source);
	buf_clear(&position);
	source->ops->position(source, &position);
	source_free(TAKE_PTR(source));
	open_at(*state, buf_str(&position), &source);
	expect_rest(source, 1);
}

/* What the position named is gone: all that is there is read, after a gap is reported. */
static void test_lost(void **state)
{
	static const char gone[] =
		"s=00000000000000000000000000000000;i=1;"
		"b=0123456789abcdef0123456789abcdef;m=1;t=5;x=1";
	_cleanup_(source) struct source *source = NULL;
	struct source_line line;

	make_journal(*state);
	open_at(*state, gone, &source);
	assert_int_equal(source_next(source, &line, NULL), 1);
	assert_string_equal(line.gap, "cursor_lost");
	expect_rest(source, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_db_setup_folder, temp_db_teardown)
		TEST(test_users),
		TEST(test_position),
		TEST(test_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
