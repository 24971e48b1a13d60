/*
 * The conversation with smtpd(8), by itself: which logins reach the check, and the answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "auth/dialog.h"
#include "core/base/str.h"

#define HELLO     "VERSION\t1\t0\nCPID\t7\n"
#define KEY       "AHgAa2V5"         /* NUL x NUL key */
#define OTHER     "AHgAb3RoZXI="     /* NUL x NUL other */
#define UNCLEAR   "AHgAdW5jbGVhcg==" /* NUL x NUL unclear */
#define USER_NAME "VXNlcm5hbWU6"
#define PASSWORD  "UGFzc3dvcmQ6"

/* What the check was asked, and for which client last. */
struct asked {
	int n;
	char client[65];
};

static enum auth_answer check_login(
	void *arg, const struct auth_attempt *attempt, char key_id[static ID_SIZE])
{
	struct asked *asked = arg;

	asked->n++;
	snprintf(asked->client, sizeof(asked->client), "%s", attempt->client);
	assert_int_equal(attempt->password[attempt->len], '\0');
	assert_int_equal(strlen(attempt->password), attempt->len);
	if (str_eq(attempt->password, "unclear"))
		return AUTH_TEMP;
	if (!str_eq(attempt->password, "key"))
		return AUTH_FAIL;
	snprintf(key_id, ID_SIZE, "the-key");
	return AUTH_OK;
}

static struct dialog *start(struct asked *asked)
{
	struct buf greeting = BUF_INIT;
	struct dialog *dialog = dialog_new(check_login, asked, 5, &greeting);

	assert_true(str_starts(buf_str(&greeting), "VERSION\t1\t2\nMECH\tPLAIN\t"));
	assert_non_null(strstr(buf_str(&greeting), "\nCUID\t5\n"));
	buf_free(&greeting);
	return dialog;
}

/* smtpd sends the text; these are the result and the replies. */
static void say(struct dialog *dialog, const char *text, int result, const char *replies)
{
	struct buf out = BUF_INIT;

	assert_int_equal(dialog_input(dialog, text, strlen(text), &out), result);
	assert_string_equal(buf_str(&out), replies);
	buf_free(&out);
}

/* Without TLS no login reaches the check, except one from loopback. */
static void test_tls(void **state)
{
	static const struct {
		const char *fields;
		bool allowed;
	} cases[] = {
		{"rip=192.0.2.1\tsecured", true},
		{"secured\trip=192.0.2.1", true},
		{"rip=127.0.0.1", true},
		{"rip=127.255.255.254", true},
		{"rip=::1", true},
		{"rip=192.0.2.1", false},
		{"rip=2001:db8::1", false},
		{"rip=::127.0.0.1", false},
		{"rip=127.example.com", false},
		{"rip=127.", false},
		{"rip=1270.0.0.1", false},
		{"rip=", false},
		{"rip=unknown", false},
		{"lip=127.0.0.1", false},
		{"rip=192.0.2.1\tlip=127.0.0.1", false},
		{"rip=127.0.0.1\trip=192.0.2.1", false},
		{"rip=127.0.0.1\trip=127.0.0.1 ", false},
		{"rip=192.0.2.1\tsecured=no", false},
		{"rip=192.0.2.1\tunsecured", false},
		{"service=smtp", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (int waits = 0; waits < 2; waits++) {
			_cleanup_free_ char *auth = mem_printf("AUTH\t1\tPLAIN\t%s%s\n",
				cases[i].fields, waits ? "" : "\tresp=" KEY);
			struct asked asked = {0};
			_cleanup_(dialog) struct dialog *dialog = start(&asked);

			say(dialog, HELLO, 0, "");
			if (!cases[i].allowed)
				say(dialog, auth, 0, "FAIL\t1\treason=a login needs TLS\n");
			else
				say(dialog, auth, 0,
					waits ? "CONT\t1\t\n" : "OK\t1\tuser=the-key\n");
			/* Nor does a response to a login that was refused. */
			if (waits)
				say(dialog, "CONT\t1\t" KEY "\n", 0,
					cases[i].allowed
						? "OK\t1\tuser=the-key\n"
						: "FAIL\t1\treason=no such login has begun\n");
			assert_int_equal(asked.n, cases[i].allowed);
		}
	}
}

/* Each of two open logins keeps its mechanism, its step and its client. */
static void test_interleaved(void **state)
{
	struct asked asked = {0};
	_cleanup_(dialog) struct dialog *dialog = start(&asked);

	(void)state;
	say(dialog, HELLO, 0, "");
	say(dialog, "AUTH\t1\tLOGIN\trip=192.0.2.1\tsecured\n", 0, "CONT\t1\t" USER_NAME "\n");
	say(dialog, "AUTH\t2\tPLAIN\trip=192.0.2.2\tsecured\n", 0, "CONT\t2\t\n");
	say(dialog, "CONT\t1\teA==\n", 0, "CONT\t1\t" PASSWORD "\n");
	say(dialog, "CONT\t2\t" OTHER "\n", 0,
		"FAIL\t2\treason=this is no API key that may send\n");
	assert_string_equal(asked.client, "192.0.2.2");
	say(dialog, "CONT\t1\ta2V5\n", 0, "OK\t1\tuser=the-key\n");
	assert_string_equal(asked.client, "192.0.2.1");
	assert_int_equal(asked.n, 2);
	/* An AUTH with the id of an open login starts that login again. */
	say(dialog, "AUTH\t3\tLOGIN\trip=::1\n", 0, "CONT\t3\t" USER_NAME "\n");
	say(dialog, "AUTH\t3\tPLAIN\trip=::1\n", 0, "CONT\t3\t\n");
	say(dialog, "CONT\t3\t" KEY "\n", 0, "OK\t3\tuser=the-key\n");
}

static void test_cancel(void **state)
{
	struct asked asked = {0};
	_cleanup_(dialog) struct dialog *dialog = start(&asked);

	(void)state;
	say(dialog, HELLO, 0, "");
	say(dialog, "AUTH\t1\tPLAIN\trip=::1\nAUTH\t2\tPLAIN\trip=::1\n", 0,
		"CONT\t1\t\nCONT\t2\t\n");
	say(dialog, "CANCEL\t1\nCANCEL\t9\nCANCEL\nCANCEL\tx\n", 0, "");
	say(dialog, "CONT\t1\t" KEY "\n", 0, "FAIL\t1\treason=no such login has begun\n");
	assert_int_equal(asked.n, 0);
	say(dialog, "CONT\t2\t" KEY "\n", 0, "OK\t2\tuser=the-key\n");
}

/* With all slots in use, a new login takes the place of one that waits; the others go on. */
static void test_too_many_open(void **state)
{
	struct asked asked = {0};
	_cleanup_(dialog) struct dialog *dialog = start(&asked);
	int open = 0;

	(void)state;
	say(dialog, HELLO, 0, "");
	for (int i = 1; i <= DIALOG_OPEN_MAX + 1; i++) {
		_cleanup_free_ char *auth = mem_printf("AUTH\t%d\tPLAIN\trip=::1\n", i);
		_cleanup_free_ char *asks = mem_printf("CONT\t%d\t\n", i);

		say(dialog, auth, 0, asks);
	}
	for (int i = DIALOG_OPEN_MAX + 1; i >= 1; i--) {
		_cleanup_free_ char *cont = mem_printf("CONT\t%d\t" KEY "\n", i);
		_cleanup_free_ char *ok = mem_printf("OK\t%d\tuser=the-key\n", i);

		if (i > 1)
			say(dialog, cont, 0, ok);
		else
			say(dialog, cont, 0, "FAIL\t1\treason=no such login has begun\n");
		open += i > 1;
	}
	assert_int_equal(asked.n, open);
	assert_int_equal(open, DIALOG_OPEN_MAX);
}

/* A line of the longest length is read, whatever the pieces that it comes in; a byte more ends
 * the connection. */
static void test_long_line(void **state)
{
	static const char start_of_line[] = "AUTH\t1\tPLAIN\trip=::1\tx=";
	static const char end_of_line[] = "\tresp=" KEY "\n";

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		for (size_t piece = 1; piece <= 4096; piece += 4095) {
			struct asked asked = {0};
			_cleanup_(dialog) struct dialog *dialog = start(&asked);
			struct buf line = BUF_INIT, out = BUF_INIT;
			size_t fill = DIALOG_LINE_MAX - strlen(start_of_line) -
				      (strlen(end_of_line) - 1);
			int result = 0;

			say(dialog, HELLO, 0, "");
			buf_add_str(&line, start_of_line);
			for (size_t i = 0; i < fill + more; i++)
				buf_add_char(&line, 'x');
			buf_add_str(&line, end_of_line);
			assert_int_equal(line.len, DIALOG_LINE_MAX + 1 + more);
			for (size_t at = 0; at < line.len && result == 0; at += piece)
				result = dialog_input(dialog, line.data + at,
					line.len - at < piece ? line.len - at : piece, &out);
			assert_int_equal(result, more ? -1 : 0);
			assert_string_equal(buf_str(&out), more ? "" : "OK\t1\tuser=the-key\n");
			assert_int_equal(asked.n, !more);
			buf_free(&line);
			buf_free(&out);
		}
	}
}

/* A peer that does not speak version 1 is disconnected, and nothing that it asks is checked. */
static void test_version(void **state)
{
	static const struct {
		const char *text;
		int result;
	} cases[] = {
		{"VERSION\t1\t0\n", 0},
		{"VERSION\t1\t9\textra\n", 0},
		{"VERSION\t1\n", 0},
		{"VERSION\t2\t0\nAUTH\t1\tPLAIN\trip=::1\tresp=" KEY "\n", -1},
		{"VERSION\t10\t0\n", -1},
		{"VERSION\n", -1},
		{"AUTH\t1\tPLAIN\trip=::1\tresp=" KEY "\n", -1},
		{"CONT\t1\t" KEY "\n", -1},
		{"CPID\t7\nVERSION\t1\t0\n", -1},
		{"\n", -1},
		{"EHLO me\n", -1},
		{HELLO "AUTH\tx\tPLAIN\trip=::1\tresp=" KEY "\n", -1},
		{HELLO "AUTH\t\tPLAIN\trip=::1\tresp=" KEY "\n", -1},
		{HELLO "AUTH\t12345678901\tPLAIN\trip=::1\tresp=" KEY "\n", -1},
		{HELLO "CONT\tx\t" KEY "\n", -1},
		{HELLO "WHAT\n\nCPID\n", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct asked asked = {0};
		_cleanup_(dialog) struct dialog *dialog = start(&asked);

		say(dialog, cases[i].text, cases[i].result, "");
		assert_int_equal(asked.n, 0);
	}
}

/* What cannot be read as a login fails, and is not checked. */
static void test_responses(void **state)
{
	static const struct {
		const char *asks, *replies;
	} cases[] = {
		{"AUTH\t1\tCRAM-MD5\trip=::1\n", "FAIL\t1\treason=this mechanism is not known\n"},
		{"AUTH\t1\n", "FAIL\t1\treason=this mechanism is not known\n"},
		{"AUTH\t1\tPLAIN\trip=::1\tresp=***\n",
			"FAIL\t1\treason=the response cannot be read\n"},
		{"AUTH\t1\tPLAIN\trip=::1\tresp=a2V5\n",
			"FAIL\t1\treason=the response cannot be read\n"},
		{"AUTH\t1\tPLAIN\trip=::1\tresp=\n",
			"FAIL\t1\treason=the response cannot be read\n"},
		{"AUTH\t1\tLOGIN\trip=::1\nCONT\t1\teA==\nCONT\t1\t***\nCONT\t1\ta2V5\n",
			"CONT\t1\t" USER_NAME "\nCONT\t1\t" PASSWORD "\n"
			"FAIL\t1\treason=the response cannot be read\n"
			"FAIL\t1\treason=no such login has begun\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct asked asked = {0};
		_cleanup_(dialog) struct dialog *dialog = start(&asked);

		say(dialog, HELLO, 0, "");
		say(dialog, cases[i].asks, 0, cases[i].replies);
		assert_int_equal(asked.n, 0);
	}
}

/* The connection ends without a reply, also to what came behind; replies before it stand. */
static void test_undecided(void **state)
{
	struct asked asked = {0};
	_cleanup_(dialog) struct dialog *dialog = start(&asked);

	(void)state;
	say(dialog, HELLO, 0, "");
	say(dialog,
		"AUTH\t1\tPLAIN\trip=::1\tresp=" OTHER "\nAUTH\t2\tPLAIN\trip=::1\tresp=" UNCLEAR
		"\nAUTH\t3\tPLAIN\trip=::1\tresp=" KEY "\n",
		1, "FAIL\t1\treason=this is no API key that may send\n");
	assert_int_equal(asked.n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_interleaved),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_too_many_open),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_responses),
		cmocka_unit_test(test_undecided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
