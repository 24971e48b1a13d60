/* gzip: what unpacks, what does not, and how much memory it takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/gzip.h"
#include "core/base/mem.h"

enum { MB = 1024 * 1024 };

static void pack_zeros(struct buf *out, size_t len)
{
	_cleanup_free_ char *zeros = mem_alloc(len, 1);

	gzip_pack(zeros, len, out);
}

static void test_good(void **state)
{
	_cleanup_buf_ struct buf packed = BUF_INIT;
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	buf_add_str(&out, ">");
	gzip_pack("hello", 5, &packed);
	assert_int_equal(gzip_unpack(packed.data, packed.len, 5, &out, NULL), 0);
	assert_string_equal(out.data, ">hello");
	/* Several members, of which some are empty. */
	gzip_pack("", 0, &packed);
	gzip_pack(" you", 4, &packed);
	gzip_pack("", 0, &packed);
	assert_int_equal(gzip_unpack(packed.data, packed.len, 9, &out, NULL), 0);
	assert_string_equal(out.data, ">hellohello you");
}

static void test_empty(void **state)
{
	_cleanup_buf_ struct buf packed = BUF_INIT;
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	gzip_pack("", 0, &packed);
	assert_int_equal(gzip_unpack(packed.data, packed.len, 0, &out, NULL), 0);
	assert_int_equal(out.len, 0);
}

static void test_large(void **state)
{
	_cleanup_buf_ struct buf data = BUF_INIT;
	_cleanup_buf_ struct buf packed = BUF_INIT;
	_cleanup_buf_ struct buf out = BUF_INIT;
	uint32_t x = 1;

	(void)state;
	while (data.len < 3 * MB) {
		x = x * 1664525 + 1013904223;
		buf_add_char(&data, (char)(x >> 28));
	}
	gzip_pack(data.data, data.len, &packed);
	assert_int_equal(gzip_unpack(packed.data, packed.len, data.len, &out, NULL), 0);
	assert_int_equal(out.len, data.len);
	assert_memory_equal(out.data, data.data, data.len);
}

static void test_limit(void **state)
{
	static const struct {
		size_t len;
		size_t max;
		int result;
	} cases[] = {
		{0, 0, 0},
		{1, 0, -1},
		{1, 1, 0},
		{4096, 4096, 0},
		{4096, 4095, -1},
		{4097, 4096, -1},
		{100 * 1000, 100 * 1000, 0},
		{100 * 1000, 100 * 1000 - 1, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf packed = BUF_INIT;
		_cleanup_buf_ struct buf out = BUF_INIT;
		struct err err = ERR_INIT;

		buf_add_str(&out, "before");
		pack_zeros(&packed, cases[i].len);
		assert_int_equal(gzip_unpack(packed.data, packed.len, cases[i].max, &out, &err),
			cases[i].result);
		if (cases[i].result == 0) {
			assert_int_equal(out.len, 6 + cases[i].len);
		} else {
			assert_int_equal(err.code, ERR_TOO_LARGE);
			assert_string_equal(out.data, "before");
		}
	}
}

/* What is packed a thousand times smaller takes no more memory than max. */
static void test_bomb(void **state)
{
	_cleanup_buf_ struct buf packed = BUF_INIT;
	_cleanup_buf_ struct buf out = BUF_INIT;
	struct err err = ERR_INIT;

	(void)state;
	pack_zeros(&packed, 64 * MB);
	assert_true(packed.len < 100 * 1000);
	assert_int_equal(gzip_unpack(packed.data, packed.len, 3 * MB, &out, &err), -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
	assert_true(out.cap <= 3 * MB + 2);
	assert_int_equal(out.len, 0);
}

/* No part of it is taken for all of it. */
static void test_truncated(void **state)
{
	_cleanup_buf_ struct buf packed = BUF_INIT;

	(void)state;
	gzip_pack("hello hello hello", 17, &packed);
	for (size_t len = 0; len < packed.len; len++) {
		_cleanup_free_ char *copy = mem_dup(packed.data, len);
		_cleanup_buf_ struct buf out = BUF_INIT;
		struct err err = ERR_INIT;

		assert_int_equal(gzip_unpack(copy, len, MB, &out, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_non_null(strstr(err.text, "ends early"));
		assert_string_equal(buf_str(&out), "");
	}
}

static void test_bad(void **state)
{
	_cleanup_buf_ struct buf good = BUF_INIT;
	struct {
		const char *name;
		size_t at; /* the byte that is wrong */
	} cases[] = {
		{"magic", 0},
		{"method", 2},
		{"reserved flags", 3},
		{"check sum", 0},
		{"length", 0},
		{"next member", 0},
	};

	(void)state;
	gzip_pack("hello hello hello", 17, &good);
	cases[3].at = good.len - 8;
	cases[4].at = good.len - 4;
	cases[5].at = good.len;
	gzip_pack("hello", 5, &good);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *copy = mem_dup(good.data, good.len);
		_cleanup_buf_ struct buf out = BUF_INIT;
		struct err err = ERR_INIT;

		copy[cases[i].at] ^= 0xff;
		if (gzip_unpack(copy, good.len, MB, &out, &err) == 0)
			fail_msg("%s", cases[i].name);
		assert_int_equal(err.code, ERR_INVALID);
		assert_string_equal(buf_str(&out), "");
	}
}

/* zlib and raw deflate are not gzip. */
static void test_other_formats(void **state)
{
	static const unsigned char zlib[] = {0x78, 0x9c, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01};
	_cleanup_buf_ struct buf out = BUF_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(gzip_unpack(zlib, sizeof(zlib), MB, &out, &err), -1);
	assert_int_equal(gzip_unpack("a=b&c=d", 7, MB, &out, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_other_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
