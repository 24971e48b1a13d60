/* inject_settings: what has to be there, by method. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "httpd/inject/inject.h"
#include "tests/unit/temp_folder.h"

static int setup(void **state)
{
	char *folder = temp_folder_new();

	*state = folder;
	temp_folder_write(folder, "sendmail", "%s", "");
	temp_folder_write(folder, "text", "%s", "");
	temp_folder_write(folder, "main.cf", "%s", "");
	if (chdir(folder) < 0 || chmod("sendmail", 0755) < 0 || chmod("text", 0644) < 0)
		return -1;
	return 0;
}

static int teardown(void **state)
{
	temp_folder_free(*state);
	return 0;
}

static void test_check(void **state)
{
	static const struct {
		enum submission_method method;
		const char *sendmail;
		const char *postfix_config;
		const char *fault;
	} cases[] = {
		{SUBMISSION_SENDMAIL, "sendmail", "", NULL},
		{SUBMISSION_SENDMAIL, "sendmail", ".", NULL},
		{SUBMISSION_SENDMAIL, "gone", "", "submission.sendmail: gone: No such file"},
		{SUBMISSION_SENDMAIL, "text", "", "submission.sendmail: text: Permission denied"},
		{SUBMISSION_SENDMAIL, ".", "", "submission.sendmail: .: this"},
		{SUBMISSION_SENDMAIL, "sendmail", "gone",
			"submission.postfix_config: gone/main.cf: No such"},
		{SUBMISSION_SMTP, "gone", "", NULL},
		{SUBMISSION_SMTP, "gone", "text", "submission.postfix_config: text/main.cf: Not a"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *sendmail = mem_strdup(cases[i].sendmail);
		_cleanup_free_ char *postfix_config = mem_strdup(cases[i].postfix_config);
		struct conf conf = {.submission.method = cases[i].method};
		struct err err = ERR_INIT;
		int result;

		conf.submission.sendmail = sendmail;
		conf.submission.postfix_config = postfix_config;
		result = inject_settings_check(&conf, &err);
		assert_int_equal(result, cases[i].fault ? -1 : 0);
		if (cases[i].fault == NULL)
			continue;
		assert_int_equal(err.code, ERR_CONFIG);
		if (strncmp(err.text, cases[i].fault, strlen(cases[i].fault)) != 0)
			fail_msg("%s", err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_check, setup, teardown),
	};

	return cmocka_run_group_tests_name("inject_settings", tests, NULL, NULL);
}
