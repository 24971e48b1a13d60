/*
 * A buffer that grows: contents, the NUL behind them, who owns what.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

static void test_starts_empty(void **state)
{
	struct buf buf = BUF_INIT;

	(void)state;
	assert_int_equal(buf.len, 0);
	assert_string_equal(buf_str(&buf), "");
	buf_clear(&buf);
	assert_string_equal(buf_str(&buf), "");
	buf_free(&buf);
}

static void test_adds(void **state)
{
	_cleanup_buf_ struct buf buf = BUF_INIT;

	(void)state;
	buf_add(&buf, "ab\0c", 4);
	buf_add_str(&buf, "de");
	buf_add_char(&buf, '\0');
	buf_add_str(&buf, "");
	buf_add(&buf, NULL, 0);
	buf_printf(&buf, "%d-%s", 42, "x");
	assert_int_equal(buf.len, 4 + 2 + 1 + 4);
	assert_memory_equal(buf.data,
		"ab\0cde\0"
		"42-x",
		buf.len + 1);
}

/* Whatever the sizes of the pieces, nothing is lost and a NUL follows. */
static void test_grows(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 1000; piece = piece * 3 + 1) {
		_cleanup_buf_ struct buf buf = BUF_INIT;
		_cleanup_free_ char *text = mem_alloc(piece, 1);

		memset(text, 'x', piece);
		for (size_t i = 1; i <= 50; i++) {
			buf_add(&buf, text, piece);
			assert_int_equal(buf.len, i * piece);
			assert_int_equal(buf.data[buf.len], '\0');
		}
		assert_int_equal(strlen(buf.data), 50 * piece);
	}
}

/* The same where the kernel is asked for large pages. */
static void test_grows_large(void **state)
{
	enum { PIECE = 1024 * 1024, PIECES = 20 };
	_cleanup_buf_ struct buf buf = BUF_INIT;

	(void)state;
	for (int i = 0; i < PIECES; i++) {
		memset(buf_reserve(&buf, PIECE), 'a' + i, PIECE);
		buf_wrote(&buf, PIECE);
	}
	assert_int_equal(buf.len, PIECES * PIECE);
	assert_int_equal(buf.data[buf.len], '\0');
	for (size_t i = 0; i < buf.len; i += PIECE / 4)
		assert_int_equal(buf.data[i], 'a' + i / PIECE);
}

static void test_printf_grows(void **state)
{
	_cleanup_buf_ struct buf buf = BUF_INIT;

	(void)state;
	for (int i = 0; i < 300; i++)
		buf_printf(&buf, "%*d", i, i);
	assert_int_equal(buf.len, strlen(buf.data));
	/* 0 prints one character into no width; the others fill theirs. */
	assert_int_equal(buf.len, 1 + 299 * 300 / 2);
}

static void test_reserve(void **state)
{
	_cleanup_buf_ struct buf buf = BUF_INIT;
	char *to;

	(void)state;
	buf_add_str(&buf, "head ");
	to = buf_reserve(&buf, 5000);
	memset(to, 'y', 5000);
	buf_wrote(&buf, 3);
	assert_string_equal(buf.data, "head yyy");
	buf_wrote(&buf, 0);
	assert_int_equal(buf.len, 8);
}

/* What is reserved and never written leaves a text behind. */
static void test_reserve_for_nothing(void **state)
{
	_cleanup_buf_ struct buf buf = BUF_INIT;
	char *freed = mem_alloc(300, 1);

	(void)state;
	memset(freed, 'x', 300);
	free(freed); /* likely to come back */
	buf_reserve(&buf, 10);
	assert_string_equal(buf_str(&buf), "");
}

static void test_take(void **state)
{
	struct buf buf = BUF_INIT;
	char *text = buf_take(&buf);

	(void)state;
	assert_string_equal(text, "");
	free(text);
	buf_add_str(&buf, "mine");
	text = buf_take(&buf);
	assert_string_equal(text, "mine");
	free(text);
	assert_null(buf.data);
	assert_int_equal(buf.len, 0);
	assert_int_equal(buf.cap, 0);
}

static void test_clear_keeps_memory(void **state)
{
	_cleanup_buf_ struct buf buf = BUF_INIT;
	const char *before;

	(void)state;
	buf_add_str(&buf, "some");
	before = buf.data;
	buf_clear(&buf);
	assert_int_equal(buf.len, 0);
	assert_string_equal(buf_str(&buf), "");
	buf_add_str(&buf, "more");
	assert_ptr_equal(buf.data, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_empty),
		cmocka_unit_test(test_adds),
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_grows_large),
		cmocka_unit_test(test_printf_grows),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_reserve_for_nothing),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_clear_keeps_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
