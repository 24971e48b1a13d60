/*
 * mime_fields: subjects, names and addresses come out as they went in, within
 * the limits of RFC 5322 and RFC 2047.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/compose/mime_build.h"
#include "core/mime/mime_gmime.h"
#include "tests/unit/mime_sample.h"

static void test_subjects(void **state)
{
	(void)state;
	for (size_t i = 0; i < MIME_SAMPLE_TEXTS; i++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf out = BUF_INIT;
		GMimeMessage *parsed;

		mime_sample_fill(&message);
		message.subject = mem_strdup(mime_sample_texts[i]);
		parsed = mime_sample_build(&message, &out);
		assert_string_equal(g_mime_message_get_subject(parsed), mime_sample_texts[i]);
		mime_sample_check_words(out.data);
		g_object_unref(parsed);
	}
}

/* Characters of every length, at every place that a line can break. */
static void test_subject_lengths(void **state)
{
	static const char *const units[] = {"x", "é", "日", "😀", "é x ", "x é"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(units) * 150; i++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf subject = BUF_INIT;
		_cleanup_buf_ struct buf out = BUF_INIT;
		GMimeMessage *parsed;

		for (size_t n = 0; n <= i / ARRAY_SIZE(units); n++)
			buf_add_str(&subject, units[i % ARRAY_SIZE(units)]);
		buf_add_str(&subject, "é");
		mime_sample_fill(&message);
		message.subject = mem_strdup(subject.data);
		parsed = mime_sample_build(&message, &out);
		assert_string_equal(g_mime_message_get_subject(parsed), subject.data);
		mime_sample_check_words(out.data);
		g_object_unref(parsed);
	}
}

/* An ASCII subject stays readable as it is, encoded by its sender or not. */
static void test_subject_ascii(void **state)
{
	static const char *const subjects[] = {
		"Hello, world! (50% = \"half\")", "=?utf-8?q?caf=C3=A9?= now", "a =? b"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf out = BUF_INIT;
		_cleanup_free_ char *field = NULL;

		mime_sample_fill(&message);
		message.subject = mem_strdup(subjects[i]);
		assert_int_equal(mime_build(&message, &out, NULL), 0);
		field = mime_sample_field(&out, "Subject");
		assert_string_equal(field + 1, subjects[i]);
	}
}

static void check_mailbox(InternetAddressList *list, int i, const char *name, const char *spec)
{
	InternetAddress *address = internet_address_list_get_address(list, i);
	const char *got = internet_address_get_name(address);

	assert_string_equal(got ? got : "", name);
	assert_string_equal(
		internet_address_mailbox_get_addr(INTERNET_ADDRESS_MAILBOX(address)), spec);
}

static const char *const display_names[] = {"", "Ann", "Ann Lee", "Doe, John", "Dr. X",
	"Acme (Support)", "a@b.com", "say \"hi\"", "back\\slash", "a:b;c", "<x>", "Zoë Müller",
	"日本語", "é, \"ö\" <ü@x>", "=?utf-8?x", "=?", "O'Neil", "a_b", JA100, X900 X900,
	"x \" " X100 " " X100 " " X100 " \\ " X100, "=?é?=", "[x]", "é  é"};

static void test_names(void **state)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	GMimeMessage *parsed;
	InternetAddressList *list;

	(void)state;
	mime_sample_fill(&message);
	for (size_t i = 0; i < ARRAY_SIZE(display_names); i++) {
		struct addr *addr = addr_list_add(&message.cc);

		addr->name = mem_strdup(display_names[i]);
		addr->local = mem_strdup(i % 2 ? "\"a, b\"" : "a");
		addr->domain = mem_strdup("x.example");
	}
	parsed = mime_sample_build(&message, &out);
	mime_sample_check_words(out.data);
	list = g_mime_message_get_cc(parsed);
	assert_int_equal(internet_address_list_length(list), ARRAY_SIZE(display_names));
	for (size_t i = 0; i < ARRAY_SIZE(display_names); i++)
		check_mailbox(list, (int)i, display_names[i],
			i % 2 ? "\"a, b\"@x.example" : "a@x.example");
	g_object_unref(parsed);
}

/* The milter reads the From field of its own messages with addr_parse(). */
static void test_names_read_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(display_names); i++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf out = BUF_INIT;
		_cleanup_free_ char *field = NULL;
		_cleanup_addr_ struct addr addr = {0};
		struct err err = ERR_INIT;

		mime_sample_fill(&message);
		free(message.from.name);
		message.from.name = mem_strdup(display_names[i]);
		g_object_unref(mime_sample_build(&message, &out));
		field = mime_sample_field(&out, "From");
		if (addr_parse(field, &addr, &err) < 0)
			fail_msg("%s: %s", field, err.text);
		assert_string_equal(addr.local, message.from.local);
		assert_string_equal(addr.domain, message.from.domain);
		if (strstr(display_names[i], "  ") == NULL)
			assert_string_equal(addr.name, display_names[i]);
	}
}

/* UTF-8 stands in the address itself as it is (RFC 6532). */
static void test_utf8_address(void **state)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	_cleanup_free_ char *from = NULL;

	(void)state;
	mime_sample_fill(&message);
	addr_clear(&message.from);
	assert_int_equal(addr_parse("Jörg <jörg@bücher.example>", &message.from, NULL), 0);
	g_object_unref(mime_sample_build(&message, &out));
	from = mime_sample_field(&out, "From");
	assert_string_equal(from, " =?UTF-8?Q?J=C3=B6rg?= <jörg@xn--bcher-kva.example>");
}

/* Fifty recipients fold, and all arrive. */
static void test_many_recipients(void **state)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	GMimeMessage *parsed;

	(void)state;
	mime_sample_fill(&message);
	for (int i = 0; i < 1000; i++) {
		_cleanup_free_ char *text = mem_printf("Person %d <p%d@dst.example>", i, i);

		mime_sample_addr(&message.cc, text);
	}
	parsed = mime_sample_build(&message, &out);
	assert_int_equal(internet_address_list_length(g_mime_message_get_cc(parsed)), 1000);
	for (const char *line = out.data; *line != '\n'; line = strchr(line, '\n') + 1)
		assert_true(strcspn(line, "\n") <= 76);
	g_object_unref(parsed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_subjects),
		cmocka_unit_test(test_subject_lengths),
		cmocka_unit_test(test_subject_ascii),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_read_back),
		cmocka_unit_test(test_utf8_address),
		cmocka_unit_test(test_many_recipients),
	};

	mime_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
