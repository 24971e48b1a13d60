/*
 * The row of a message that came with a key's login: which recipients of the envelope To and
 * Cc name, and its Message-ID.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/str.h"
#include "milter/facts.h"
#include "milter/key_email.h"
#include "milter/session.h"

static const char *const kinds[] = {
	[RECIPIENT_TO] = "to", [RECIPIENT_CC] = "cc", [RECIPIENT_BCC] = "bcc"};

static const struct facts facts = {
	.mailbox = (char[]){"a@x.test"},
	.domain = (char[]){"x.test"},
	.tags = (char[]){""},
	.variables = (char[]){""},
};

/* The session of a message with these recipients, so far with From alone. */
static struct milter_session *begin(const char *const *envelope)
{
	struct milter_session *session = session_new(ORIGIN_EXTERNAL, "192.0.2.1", false);

	session_begin(session, "a@x.test", "some-key");
	session_service(session, SESSION_KEY_SERVICE);
	for (size_t i = 0; envelope[i]; i++)
		session_recipient(session, envelope[i], NULL);
	session_header(session, "From", "a@x.test");
	return session;
}

/* The recipients of a message with these fields, each as `KIND TEXT`, a line each. */
static char *recipients_of(const char *to, const char *cc, const char *const *envelope)
{
	_cleanup_(milter_session) struct milter_session *session = begin(envelope);
	struct buf text = BUF_INIT;
	struct email email;

	if (to)
		session_header(session, "To", to);
	if (cc)
		session_header(session, "Cc", cc);
	key_email_make(session, &facts, 1, &email);
	for (size_t i = 0; i < email.recipients.n; i++) {
		const struct recipient *one = &email.recipients.items[i];

		buf_printf(&text, "%s %s\n", kinds[one->kind],
			one->mailbox ? one->mailbox : one->address);
	}
	store_email_clear(&email);
	return buf_take(&text);
}

static void test_recipients(void **state)
{
	static const struct {
		const char *to, *cc, *envelope[4], *expected;
	} cases[] = {
		{"b@x.test", NULL, {"<b@x.test>"}, "to b@x.test\n"},
		{NULL, NULL, {"b@x.test"}, "bcc b@x.test\n"},
		{"b@x.test", "c@x.test", {"c@x.test", "b@x.test", "d@x.test"},
			"to b@x.test\ncc c@x.test\nbcc d@x.test\n"},
		{"elsewhere@x.test", NULL, {"b@x.test"}, "bcc b@x.test\n"},
		/* In both fields: the first counts, and there is one row. */
		{"b@x.test", "Bob <b@x.test>", {"b@x.test"}, "to b@x.test\n"},
		{"b@x.test, b@x.test", NULL, {"b@x.test"}, "to b@x.test\n"},
		{"B@X.test", NULL, {"b@x.test"}, "to b@x.test\n"},
		{"friends: b@x.test, Cy <c@x.test>;", NULL, {"b@x.test", "c@x.test"},
			"to b@x.test\nto Cy <c@x.test>\n"},
		{"undisclosed-recipients:;", NULL, {"b@x.test"}, "bcc b@x.test\n"},
		{"=?utf-8?q?Z=C3=B6?= <b@x.test>", NULL, {"b@x.test"}, "to Zö <b@x.test>\n"},
		{"Ann\n\tBee\n <b@x.test>,\n c@x.test", NULL, {"b@x.test", "c@x.test"},
			"to Ann Bee <b@x.test>\nto c@x.test\n"},
		{"Ann B. Bee <B@x.test>", NULL, {"b@x.test"}, "to Ann B. Bee <B@x.test>\n"},
		{"Ann  <b@X.test>", NULL, {"b@x.test"}, "to Ann <b@X.test>\n"},
		{"b@x.test Ann <c@x.test>", NULL, {"b@x.test", "c@x.test"},
			"to b@x.test\nto Ann <c@x.test>\n"},
		{"b@x.test Ann", NULL, {"b@x.test"}, "to b@x.test\n"},
		{"<b@x.test>", NULL, {"b@x.test"}, "to b@x.test\n"},
		{"\"Bee, Ann\" <b@x.test>", NULL, {"b@x.test"}, "to Bee, Ann <b@x.test>\n"},
		{"\"b\\ c\"@x.test", NULL, {"\"b c\"@x.test"}, "to \"b c\"@x.test\n"},
		{"\"b\"@x.test", NULL, {"b@x.test"}, "to b@x.test\n"},
		{"ü@bücher.test", NULL, {"ü@bücher.test"}, "to ü@bücher.test\n"},
		{"b@x.test, <c@", NULL, {"b@x.test", "c@x.test"}, "to b@x.test\nbcc c@x.test\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = recipients_of(
			cases[i].to, cases[i].cc, cases[i].envelope);

		assert_string_equal(text, cases[i].expected);
	}
}

/* A message without a Message-ID gets one of its id; one that has it keeps it, whatever it is. */
static void test_message_id(void **state)
{
	static const struct {
		const char *field, *expected; /* NULL: made of the id */
	} cases[] = {
		{NULL, NULL},
		{"<mine@y.test>", "<mine@y.test>"},
		{"\n <mine@y.test>\n", "<mine@y.test>"},
		{"no brackets", "no brackets"},
	};
	static const char *const envelope[] = {"b@x.test", NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(milter_session) struct milter_session *session = begin(envelope);
		_cleanup_free_ char *own = NULL;
		struct email email;

		if (cases[i].field)
			session_header(session, "Message-ID", cases[i].field);
		key_email_make(session, &facts, 1, &email);
		own = mem_printf("<%s@x.test>", email.id);
		assert_string_equal(email.message_id, cases[i].expected ? cases[i].expected : own);
		assert_int_equal(session->message.has_message_id, cases[i].field != NULL);
		store_email_clear(&email);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recipients),
		cmocka_unit_test(test_message_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
