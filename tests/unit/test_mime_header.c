/*
 * mime_header: which fields a caller may set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "core/mime/mime_header.h"

#define X19 "xxxxxxxxxxxxxxxxxxx"

static void test_names(void **state)
{
	static const struct {
		const char *name;
		bool valid;
	} cases[] = {
		{"X", true},
		{"X-Entity-Ref-ID", true},
		{"List-Unsubscribe", true},
		{"!#$%&'*+.^_`{|}~", true},
		{"(\"weird\")", true},
		{X19 X19 X19 X19, true},
		{X19 X19 X19 X19 "x", false},
		{"", false},
		{"X:", false},
		{"X Y", false},
		{" X", false},
		{"X\t", false},
		{"X\r\nY", false},
		{"X\x7f", false},
		{"Zoë", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (mime_header_name_valid(cases[i].name) != cases[i].valid)
			fail_msg("%s", cases[i].name);
}

static void test_values(void **state)
{
	static const struct {
		const char *value;
		bool valid;
	} cases[] = {
		{"", true},
		{"x", true},
		{"a\tb", true},
		{"日本語 😀 é \xc2\xa0", true},
		{"a\r\nBcc: b@example.com", false},
		{"a\n", false},
		{"\r", false},
		{"\x01", false},
		{"\x1b[0m", false},
		{"\x7f", false},
		{"\xc2\x80", false},
		{"\xc2\x85", false},
		{"\xc2\x9f", false},
		{"\xc2", false},
		{"\xff", false},
		{"\xed\xa0\x80", false},
		{"\xc0\x8a", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (mime_header_value_valid(cases[i].value) != cases[i].valid)
			fail_msg("%zu: %s", i, cases[i].value);
}

static void test_reserved(void **state)
{
	static const struct {
		const char *name;
		bool reserved;
	} cases[] = {
		{"from", true},
		{"From", true},
		{"TO", true},
		{"cc", true},
		{"Bcc", true},
		{"Subject", true},
		{"Message-ID", true},
		{"Reply-To", true},
		{"Content-Type", true},
		{"MIME-Version", true},
		{"Content-Transfer-Encoding", true},
		{"X-Postern-Ticket", true},
		{"x-postern-", true},
		{"X-Postern", false},
		{"Date", false},
		{"Sender", false},
		{"From-X", false},
		{"X-From", false},
		{"References", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (mime_header_reserved(cases[i].name) != cases[i].reserved)
			fail_msg("%s", cases[i].name);
}

#define X100 X19 X19 X19 X19 X19 "xxxxx"
#define X900 X100 X100 X100 X100 X100 X100 X100 X100 X100

static void test_message_ids(void **state)
{
	static const struct {
		const char *text;
		bool valid;
	} cases[] = {
		{"<a@b>", true},
		{"<a.b+c=d/{e}|f~g@x-y.example.com>", true},
		{"<!#$%&'*+-/=?^_`{|}~@b>", true},
		{"<a@[127.0.0.1]>", true},
		{"<a@[]>", true},
		{"<a@[!\"#@<>;:^~]>", true},
		{"<" X900 X19 X19 X19 X19 "xxxxxx@b>", true},
		{"<" X900 X19 X19 X19 X19 "xxxxxxx@b>", false},
		{"", false},
		{"<", false},
		{"<>", false},
		{"a@b", false},
		{"<a@b", false},
		{"a@b>", false},
		{"<a>", false},
		{"<@b>", false},
		{"<a@>", false},
		{"<a@b@c>", false},
		{"<a@b><c@d>", false},
		{"<a@b> <c@d>", false},
		{"<<a@b>>", false},
		{" <a@b>", false},
		{"<a@b> ", false},
		{"<a b@c>", false},
		{"<a\t@b>", false},
		{"<.a@b>", false},
		{"<a.@b>", false},
		{"<a..b@c>", false},
		{"<a@.b>", false},
		{"<a@b.>", false},
		{"<\"a\"@b>", false},
		{"<a(b)@c>", false},
		{"<a:b@c>", false},
		{"<a,b@c>", false},
		{"<a\\b@c>", false},
		{"<ü@b>", false},
		{"<a@ü>", false},
		{"<a@[ü]>", false},
		{"<a@[b>", false},
		{"<a@b]>", false},
		{"<a@[b]c>", false},
		{"<a@[[b]>", false},
		{"<a@[b c]>", false},
		{"<a@[b\\c]>", false},
		{"<a@b\x7f>", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (mime_header_msg_id_valid(cases[i].text) != cases[i].valid)
			fail_msg("%s", cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_message_ids),
		cmocka_unit_test(test_reserved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
