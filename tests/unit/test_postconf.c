/* postconf: what a main.cf names as the host's own. */
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
#include "core/conf/conf.h"
#include "core/postfix/postconf.h"
#include "tests/unit/temp_folder.h"

#define NONE                                                                                       \
	"compatibility_level = 3.6\nmydomain = here.test\nmyorigin =\n"                            \
	"mydestination =\n"

/* Writes a main.cf with this text; DIR in it is the folder. */
static void write_main_cf(const char *folder, const char *text)
{
	const char *mark = strstr(text, "DIR");

	temp_folder_write(folder, "main.cf", NONE "%.*s%s%s\n",
		(int)(mark ? (size_t)(mark - text) : strlen(text)), text, mark ? folder : "",
		mark ? mark + strlen("DIR") : "");
}

static const struct {
	const char *main_cf;
	const char *list;
	int wanted; /* whether a.test is own; -1: not known */
} cases[] = {
	{"mydestination = b.test", "", 0},
	{"mydestination = b.test, localhost, A.test.", "", 1},
	{"mydestination = b.test !a.test", "", 0},
	{"mydestination = !a.test a.test", "", 0},
	{"mydestination = a.test !a.test", "", 1},
	{"mydestination = !DIR/list a.test", "b.test A.test", 0},
	{"mydestination = !a.test\nrelay_domains = a.test", "", 1},
	{"mydestination = ! a.test", "", 1},
	{"mydestination = xa.test a.test.b", "", 0},
	{"mydomain = a.test\nmyorigin = $mydomain", "", 1},
	{"myorigin = DIR/list", "a.test", 1},
	{"virtual_alias_domains = DIR/list", "# a.test\nb.test", 0},
	{"virtual_alias_domains = DIR/list", "b.test\n a.test,c.test", 1},
	{"virtual_alias_domains = DIR/none", "", -1},
	{"virtual_alias_domains = DIR/list", "hash:x", -1},
	{"virtual_alias_maps = texthash:x", "", -1},
	{"virtual_mailbox_domains = a.test", "", 1},
	{"relay_domains = inline:{a.test=x}", "", -1},
	{"relay_domains = .test", "", -1},
};

static void test_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *folder = temp_folder_new();
		_cleanup_(postconf_domains) struct postconf_domains *domains = NULL;
		_cleanup_free_ char *names = NULL;
		const char *where = NULL;
		struct err err = ERR_INIT;
		int got, found;

		write_main_cf(folder, cases[i].main_cf);
		temp_folder_write(folder, "list", "%s\n", cases[i].list);
		assert_int_equal(postconf_domains_read(folder, &domains, &err), 0);
		got = postconf_domains_names(domains, &names, &err);
		if (got == 0)
			got = postconf_names_have(names, "a.test");
		else
			assert_int_equal(err.code, ERR_CONFIG);
		if (got != cases[i].wanted)
			fail_msg("%s: %d %s", cases[i].main_cf, got, err.text);
		found = postconf_domains_find(domains, "a.test", &where, &err);
		if (got >= 0 && found != got)
			fail_msg("%s: found %d", cases[i].main_cf, found);
		temp_folder_free(folder);
	}
}

static void test_no_postfix(void **state)
{
	struct postconf_domains *domains;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(postconf_domains_read("/nonexistent", &domains, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
}

/* Where the settings do not say it. */
static void test_milter_socket(void **state)
{
	static const struct {
		const char *set, *main_cf, *folder, *found;
		int result;
	} sockets[] = {
		{"/a/m", "queue_directory = /q", NULL, "/a/m", 0},
		{"", "queue_directory = /q", NULL, "/q/postern/milter.sock", 0},
		{"", "q = /x\nqueue_directory = $q/y", NULL, "/x/y/postern/milter.sock", 0},
		{"", "", "/nonexistent", "/var/spool/postfix/postern/milter.sock", -1},
		{"",
			"queue_directory = /very/long/very/long/very/long/very/"
			"long/very/long/very/long/very/long/very/long/very/"
			"long/q",
			NULL, NULL, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sockets); i++) {
		char *folder = temp_folder_new();
		_cleanup_(conf) struct conf *conf = conf_default();
		struct err err = ERR_INIT;

		write_main_cf(folder, sockets[i].main_cf);
		free(conf->milter.socket);
		conf->milter.socket = mem_strdup(sockets[i].set);
		free(conf->submission.postfix_config);
		conf->submission.postfix_config = mem_strdup(
			sockets[i].folder ? sockets[i].folder : folder);
		assert_int_equal(postconf_find_milter_socket(conf, &err), sockets[i].result);
		if (sockets[i].found)
			assert_string_equal(conf->milter.socket, sockets[i].found);
		if (sockets[i].result < 0)
			assert_non_null(strstr(err.text, "set milter.socket"));
		temp_folder_free(folder);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_no_postfix),
		cmocka_unit_test(test_milter_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
