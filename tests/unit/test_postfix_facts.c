/* postfix_facts, and postconf below it: what a main.cf says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/conf/postconf.h"
#include "httpd/inject/postfix_facts.h"

/* A configuration folder with this main.cf; removed by drop_folder(). */
static char *make_folder(const char *main_cf)
{
	char *folder = mem_strdup("/tmp/postfix_facts.XXXXXX");
	_cleanup_free_ char *path = NULL;
	FILE *file;

	assert_non_null(mkdtemp(folder));
	path = mem_printf("%s/main.cf", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "compatibility_level = 3.6\n%s", main_cf);
	fclose(file);
	/* postconf waits a second or two before it reads a file that is new. */
	assert_int_equal(utimes(path, (struct timeval[2]){{1, 0}, {1, 0}}), 0);
	return folder;
}

static void drop_folder(char *folder)
{
	_cleanup_free_ char *path = mem_printf("%s/main.cf", folder);

	unlink(path);
	rmdir(folder);
	free(folder);
}

#define QUEUE "queue_directory = /var/spool/postfix\n"

static const struct {
	const char *main_cf;
	int64_t limit;
	bool milter;
} cases[] = {
	{"", 10240000, false},
	{"message_size_limit = 5\n", 5, false},
	{"message_size_limit = 0\n", 0, false},
	{QUEUE "non_smtpd_milters = unix:postern/milter.sock\n", 10240000, true},
	{QUEUE "non_smtpd_milters = { unix:postern/milter.sock, "
	       "default_action=tempfail }, inet:localhost:1\n",
		10240000, true},
	{QUEUE "m = inet:localhost:1 local:/var/spool/postfix/postern/"
	       "milter.sock\nnon_smtpd_milters = $m\n",
		10240000, true},
	{QUEUE "smtpd_milters = unix:postern/milter.sock\n"
	       "non_smtpd_milters = $smtpd_milters\n",
		10240000, true},
	{QUEUE "smtpd_milters = unix:postern/milter.sock\n", 10240000, false},
	{QUEUE "non_smtpd_milters = unix:postern/milter.sock2\n", 10240000, false},
	{QUEUE "non_smtpd_milters = unix:x/postern/milter.sock\n", 10240000,
		false},
	{"queue_directory = /queue\n"
	 "non_smtpd_milters = unix:postern/milter.sock\n",
		10240000, false},
};

static void test_facts(void **state)
{
	char socket[] = "/var/spool/postfix/postern/milter.sock";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *folder = make_folder(cases[i].main_cf);
		struct conf conf = {.milter.socket = socket,
			.submission.postfix_config = folder};
		struct postfix_facts facts;
		struct err err = ERR_INIT;

		if (postfix_facts_read(&conf, &facts, &err) < 0)
			fail_msg("%s: %s", cases[i].main_cf, err.text);
		if (facts.message_size_limit != cases[i].limit ||
			facts.milter_sees_us != cases[i].milter)
			fail_msg("%s: %d, %d", cases[i].main_cf,
				(int)facts.message_size_limit,
				facts.milter_sees_us);
		drop_folder(folder);
	}
}

static void test_rewriting(void **state)
{
	static const struct {
		const char *main_cf;
		bool rewrites;
	} rows[] = {
		{"", false},
		{"virtual_alias_maps = hash:x\n", false},
		{"sender_canonical_maps = hash:x\n", false},
		{"canonical_maps = hash:x\n", true},
		{"recipient_canonical_maps = hash:x\n", true},
		{"masquerade_domains = x.test\n", true},
	};
	char socket[] = "/s";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *folder = make_folder(rows[i].main_cf);
		struct conf conf = {.milter.socket = socket,
			.submission.postfix_config = folder};
		struct postfix_facts facts;

		assert_int_equal(postfix_facts_read(&conf, &facts, NULL), 0);
		if (facts.rewrites_recipients != rows[i].rewrites)
			fail_msg("%s", rows[i].main_cf);
		drop_folder(folder);
	}
}

/* What comes by SMTP meets other milters. */
static void test_smtp_submission(void **state)
{
	char socket[] = "/var/spool/postfix/postern/milter.sock";
	char *folder = make_folder(
		QUEUE "smtpd_milters = unix:postern/milter.sock\n"
		      "canonical_maps = hash:x\n");
	struct conf conf = {.milter.socket = socket,
		.submission = {
			.method = SUBMISSION_SMTP, .postfix_config = folder}};
	struct postfix_facts facts;

	(void)state;
	assert_int_equal(postfix_facts_read(&conf, &facts, NULL), 0);
	assert_true(facts.milter_sees_us);
	assert_false(facts.rewrites_recipients);
	assert_string_equal(postfix_facts_milters(&conf), "smtpd_milters");
	drop_folder(folder);
}

static void test_no_postfix(void **state)
{
	char folder[] = "/nonexistent";
	struct conf conf = {.submission.postfix_config = folder};
	struct postfix_facts facts;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(postfix_facts_read(&conf, &facts, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
}

static void test_values(void **state)
{
	static const char *const names[] = {
		"mydomain", "myhostname", "mydestination"};
	char *folder = make_folder(
		"mydomain = a.test\nmyhostname = h.$mydomain\n"
		"mydestination = $myhostname,\n  b.test\n");
	char *values[3];
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(postconf_read(folder, names, 3, values, &err), 0);
	assert_string_equal(values[0], "a.test");
	assert_string_equal(values[1], "h.a.test");
	assert_string_equal(values[2], "h.a.test, b.test");
	for (size_t i = 0; i < 3; i++)
		free(values[i]);
	drop_folder(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_rewriting),
		cmocka_unit_test(test_smtp_submission),
		cmocka_unit_test(test_no_postfix),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests_name("postfix_facts", tests, NULL, NULL);
}
