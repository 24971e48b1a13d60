/* sources: whom a message could be said to come from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "milter/facts.h"

#define FROM   "From"
#define SENDER "Sender"

static const struct {
	const char *sender, *resolved; /* of the envelope */
	const char *fields[3][2];      /* name, value */
	const char *domains;           /* of From, then the others */
	const char *from;
	bool unclear;
} cases[] = {
	{"a@b.test", NULL, {{FROM, "x@y.test"}}, "y.test b.test", "x@y.test", false},
	{"", NULL, {{FROM, "x@y.test"}}, "y.test", "x@y.test", false},
	{"a@b.test", NULL, {{NULL}}, "b.test", NULL, false},
	/* each once */
	{"a@y.test", "a@y.test", {{FROM, "X <x@y.test>"}}, "y.test", "x@y.test", false},
	/* as Postfix understands the envelope */
	{"a%c.test@b.test", "a@c.test", {{FROM, "x@y.test"}}, "y.test b.test c.test", "x@y.test",
		false},
	/* more fields than one */
	{"a@b.test", NULL, {{FROM, "x@y.test"}, {FROM, "x@y.test"}}, "y.test b.test", NULL, true},
	{"a@b.test", NULL, {{FROM, "x@y.test"}, {SENDER, "X <x@y.test>"}}, "y.test b.test",
		"x@y.test", false},
	{"a@b.test", NULL, {{FROM, "x@y.test"}, {SENDER, "z@z.test"}}, "y.test b.test z.test", NULL,
		false},
	{"a@b.test", NULL, {{FROM, "x@y.test"}, {SENDER, "z@z.test"}, {SENDER, "x@y.test"}},
		"y.test b.test z.test", NULL, false},
	/* several mailboxes in one */
	{"a@b.test", NULL, {{FROM, "x@y.test, z@z.test"}}, "y.test z.test b.test", NULL, true},
};

static void read_message(struct milter_session *session, size_t i)
{
	session_begin(session, cases[i].sender, NULL);
	if (cases[i].resolved)
		session_resolved(session, cases[i].resolved);
	for (size_t k = 0; k < 3 && cases[i].fields[k][0]; k++)
		session_header(session, cases[i].fields[k][0], cases[i].fields[k][1]);
}

static void test_sources(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct milter_session *session = session_new(ORIGIN_LOCAL, NULL, false);
		_cleanup_sources_ struct sources sources;
		_cleanup_free_ char *domains = NULL;

		read_message(session, i);
		sources_find(&session->message, &sources);
		domains = strv_join(&sources.domains, " ");
		assert_string_equal(domains, cases[i].domains);
		assert_int_equal(sources.unclear, cases[i].unclear);
		if (cases[i].from)
			assert_string_equal(sources.from, cases[i].from);
		else
			assert_null(sources.from);
		session_free(session);
	}
}

/* A message that names too many is told from one that names as many as are
 * checked, and costs no more. */
static void test_many(void **state)
{
	static const size_t over[] = {0, 1, 50};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(over); i++) {
		struct milter_session *session = session_new(ORIGIN_LOCAL, NULL, false);
		_cleanup_sources_ struct sources sources;
		_cleanup_buf_ struct buf from = BUF_INIT;
		size_t n = SOURCES_DOMAINS + over[i];

		for (size_t k = 0; k < n; k++)
			buf_printf(&from, "%sx@d%zu.test", k ? ", " : "", k);
		session_begin(session, "", NULL);
		session_header(session, FROM, buf_str(&from));
		sources_find(&session->message, &sources);
		assert_int_equal(
			sources.domains.n, over[i] ? SOURCES_DOMAINS + 1 : SOURCES_DOMAINS);
		session_free(session);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
