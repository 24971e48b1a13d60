/*
 * The log: one line for each event, which no value can forge.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "tests/unit/catch.h"

/* The line behind the time and the process, up to its end. */
static const char *after_head(const char *line)
{
	const char *head = strstr(line, "] ");

	assert_non_null(head);
	return head + 2;
}

static void test_line(void **state)
{
	struct log *log = log_new("prog", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
	struct catch catch = catch_stderr();
	_cleanup_free_ char *text = NULL;
	char wanted[40];

	(void)state;
	log_info(log, "start", "address", "127.0.0.1:80", "left_out", NULL, "workers", LOG_INT(-3),
		"empty", "");
	text = catch_end(&catch);
	snprintf(wanted, sizeof(wanted), " prog[%d] ", (int)getpid());
	assert_non_null(strstr(text, wanted));
	assert_string_equal(
		after_head(text), "info event=start address=127.0.0.1:80 workers=-3 empty=\"\"\n");
	/* 2026-11-21T02:43:18.123456+00:00 and a blank. */
	assert_int_equal(text[10], 'T');
	assert_int_equal(text[32], ' ');
	log_free(log);
}

static void test_values_cannot_forge(void **state)
{
	static const struct {
		const char *value;
		const char *logged;
	} cases[] = {
		{"plain-._:/@+<>,[]", "plain-._:/@+<>,[]"},
		{"two words", "\"two words\""},
		{"a=b", "\"a=b\""},
		{"\"", "\"\\\"\""},
		{"\\", "\"\\\\\""},
		{"x\nevent=forged", "\"x\\x0aevent=forged\""},
		{"\r\t\x1b[m\x7f", "\"\\x0d\\x09\\x1b[m\\x7f\""},
		{"Größe", "\"Größe\""},
		{"\xc2\x9b"
		 "31m\xc2\x85 \xc2\xa0\xc2",
			"\"\\x9b31m\\x85 \xc2\xa0\xc2\""},
	};
	struct log *log = log_new("prog", LOG_TARGET_STDERR, LOG_LEVEL_INFO);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct catch catch = catch_stderr();
		_cleanup_free_ char *text = NULL;
		_cleanup_free_ char *wanted = mem_printf("info event=e v=%s\n", cases[i].logged);

		log_info(log, "e", "v", cases[i].value);
		text = catch_end(&catch);
		assert_string_equal(after_head(text), wanted);
	}
	log_free(log);
}

static void test_levels(void **state)
{
	(void)state;
	for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++) {
		struct log *log = log_new("prog", LOG_TARGET_STDERR, LOG_LEVEL_ERROR);
		struct catch catch = catch_stderr();
		_cleanup_free_ char *text = NULL;

		log_set_level(log, (enum log_level)level);
		log_error(log, "e0");
		log_warn(log, "e1");
		log_info(log, "e2");
		log_debug(log, "e3");
		text = catch_end(&catch);
		assert_non_null(strstr(text, "error event=e0\n"));
		assert_int_equal(level >= LOG_LEVEL_WARN, strstr(text, "warn event=e1\n") != NULL);
		assert_int_equal(level >= LOG_LEVEL_INFO, strstr(text, "info event=e2\n") != NULL);
		assert_int_equal(
			level >= LOG_LEVEL_DEBUG, strstr(text, "debug event=e3\n") != NULL);
		log_free(log);
	}
}

static void test_no_log(void **state)
{
	struct catch catch = catch_stderr();
	_cleanup_free_ char *text = NULL;

	(void)state;
	log_error(NULL, "nothing", "a", "b");
	log_free(NULL);
	text = catch_end(&catch);
	assert_string_equal(text, "");
}

enum { THREADS = 4, LINES = 200 };

static void *log_many(void *log)
{
	for (int i = 0; i < LINES; i++)
		log_info(log, "many", "text", "0123456789012345678901234567890123456789");
	return NULL;
}

/* Lines of several threads do not mix. */
static void test_threads(void **state)
{
	struct log *log = log_new("prog", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
	struct catch catch = catch_stderr();
	_cleanup_free_ char *text = NULL;
	pthread_t threads[THREADS];
	char *rest, *line;
	int lines = 0;

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, log_many, log), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	text = catch_end(&catch);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), lines++)
		assert_string_equal(after_head(line),
			"info event=many text="
			"0123456789012345678901234567890123456789");
	assert_int_equal(lines, THREADS * LINES);
	log_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_values_cannot_forge),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_no_log),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
