/*
 * The settings file: what it gives, what is refused and how it is said, and
 * that what is printed can be read again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/conf/setting.h"
#include "tests/unit/temp_folder.h"

#define FILE_NAME "postern.conf"

static int setup(void **state)
{
	*state = temp_folder_new();
	return chdir(*state);
}

static int teardown(void **state)
{
	temp_folder_free(*state);
	return 0;
}

static void write_named(const char *name, const char *text, size_t len)
{
	FILE *file = fopen(name, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static void write_file(const char *text, size_t len)
{
	write_named(FILE_NAME, text, len);
}

static struct conf *load(const char *text)
{
	struct conf *conf = NULL;
	struct err err = ERR_INIT;

	write_file(text, strlen(text));
	if (conf_load(FILE_NAME, &conf, &err) < 0)
		fail_msg("%s", err.text);
	return conf;
}

static void assert_same(const struct conf *a, const struct conf *b)
{
	for (size_t i = 0; i < settings_n; i++)
		if (!setting_equal(&settings[i], a, b))
			fail_msg("%s.%s differs", settings[i].section, settings[i].name);
}

static void test_empty_files_give_the_defaults(void **state)
{
	static const char *const texts[] = {"", "\n\n", "; nothing\n# too\n", "  ; indented\n",
		"[http]\n", "\xef\xbb\xbf[http]\n", "[http] ; comment\n[log]# comment\n"};
	_cleanup_(conf) struct conf *defaults = conf_default();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(conf) struct conf *conf = load(texts[i]);

		assert_same(conf, defaults);
	}
}

static void test_settings_are_read(void **state)
{
	_cleanup_(conf) struct conf *conf = load(
		"; head\n"
		"[http]\n"
		"listen = [::1]:80\n"
		"workers=3\n"
		"\n"
		"request_timeout\t=\t2m ; two minutes\n"
		"[log]\r\n"
		"level = debug\r\n"
		"[http]\n"
		"idle_timeout = 5s");

	(void)state;
	assert_string_equal(conf->http.listen, "[::1]:80");
	assert_int_equal(conf->http.workers, 3);
	assert_int_equal(conf->http.request_timeout_ms, 120000);
	assert_int_equal(conf->http.idle_timeout_ms, 5000);
	assert_int_equal(conf->log.level, LOG_LEVEL_DEBUG);
	assert_int_equal(conf->http.max_recipients, 0);
}

static void test_a_name_may_bring_its_section(void **state)
{
	_cleanup_(conf) struct conf *conf = load(
		"log.level = debug\n"
		"[http]\n"
		"milter.trace_header = on\n"
		"http.max_recipients = 7\n"
		"workers = 3\n");

	(void)state;
	assert_int_equal(conf->log.level, LOG_LEVEL_DEBUG);
	assert_int_equal(conf->milter.trace_header, 1);
	assert_int_equal(conf->http.max_recipients, 7);
	assert_int_equal(conf->http.workers, 3);
}

/* A comment begins with a blank and a semicolon; other semicolons, number
 * signs and any UTF-8 are part of the value. */
static void test_odd_values(void **state)
{
	static const struct {
		const char *line;
		const char *database;
	} cases[] = {
		{"database = /a;b#c", "/a;b#c"},
		{"database = /a ;b", "/a"},
		{"database = /a\t; b", "/a"},
		{"database = /Größe/文", "/Größe/文"},
		{"database = /a = b : c", "/a = b : c"},
		{"database = /with blanks/x  ", "/with blanks/x"},
		{"database = /\"quoted\"", "/\"quoted\""},
		{"database = /a\\tb%s", "/a\\tb%s"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = mem_printf("[store]\n%s\n", cases[i].line);
		_cleanup_(conf) struct conf *conf = load(text);

		assert_string_equal(conf->store.database, cases[i].database);
	}
}

static void test_lists_add_up(void **state)
{
	_cleanup_(conf) struct conf *conf = load(
		"[milter]\n"
		"internal_hosts = 10.0.0.0/8\n"
		"local_domains = a.test\n"
		"internal_hosts = ::1, ::2\n"
		"local_domains = b.test\n");

	(void)state;
	assert_string_equal(conf->milter.internal_hosts, "10.0.0.0/8 ::1, ::2");
	assert_string_equal(conf->milter.local_domains, "a.test b.test");
}

static void test_faults_name_the_line(void **state)
{
	static const struct {
		const char *text;
		const char *says; /* after the name of the file */
	} cases[] = {
		{"[http]\nlisten = x\n", ":2: http.listen: \"x\" is not a num"},
		{"[http]\n\nworkers = -1", ":3: http.workers: \"-1\" is not a"},
		{"[http]\nport = 80\n", ":2: there is no setting http.port"},
		{"[web]\nport = 80\n", ":1: there is no section [web]"},
		{"[HTTP]\n", ":1: there is no section [HTTP]"},
		{"[]\n", ":1: there is no section []"},
		{"[http]\nlog.port = 80\n", ":2: there is no setting log.port"},
		{"web.port = 80\n", ":1: there is no setting web.port"},
		{".port = 80\n", ":1: there is no setting .port"},
		{"[log]\nlevel = info\nlog.level = info\n",
			":3: log.level is already set in line 2"},
		{"listen = x\n", ":1: listen stands before the first [sect"},
		{"[http]\nworkers = 1\nworkers = 1\n", ":3: http.workers is already set in line 2"},
		{"[http]\nworkers = 1\n[log]\n[http]\nworkers = 2\n",
			":5: http.workers is already set in line 2"},
		{"[http]\nworkers\n", ":2: \"workers\" is neither [section]"},
		{"[http]\nworkers: 3\n", ":2: \"workers: 3\" is neither"},
		{"[http\n", ":1: the ] behind [http"},
		{"[http] workers = 1\n", ":1: unexpected text behind [http]"},
		{"[http]\n workers = 1\n", ":2: a setting must not be inden"},
		{"[http]\nworkers = 1\n\tlisten = x\n", ":3: a setting must"},
		{"[http]\nworkers =\n", ":2: http.workers: \"\" is not a wh"},
		{"[http]\nworkers = 1 # one\n", ":2: http.workers: a comment"},
		{"[http]\nworkers = # one\n", ":2: http.workers: a comment"},
		{"[http]\nworkers =;\n", ":2: http.workers: a comment"},
		{"[http]\n= 3\n", ":2: there is no setting http."},
		{"[store]\ndatabase = /\xff\n", ":2: the text is not UTF-8"},
		{"[store]\ndatabase = /\x1b[m\n", ":2: there is a control"},
		{"[store]\ndatabase = /a\rb\n", ":2: there is a control"},
		{"[submission]\nmethod = qmqp\n", ":2: submission.method: \"qmqp\" is not one of"},
		{"[milter]\ninternal_hosts = ::1\ninternal_hosts = x\n",
			":3: milter.internal_hosts: \"x\": it is no IPv4"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct conf *conf = NULL;
		struct err err = ERR_INIT;

		write_file(cases[i].text, strlen(cases[i].text));
		if (conf_load(FILE_NAME, &conf, &err) == 0)
			fail_msg("accepted: %s", cases[i].text);
		assert_null(conf);
		assert_int_equal(err.code, ERR_CONFIG);
		if (!str_starts(err.text, FILE_NAME) ||
			!str_starts(err.text + strlen(FILE_NAME), cases[i].says))
			fail_msg("case %zu: %s", i, err.text);
	}
}

static void test_nul_is_refused(void **state)
{
	static const char text[] = "[http]\nworkers = 1\0 2\n";
	struct conf *conf;
	struct err err = ERR_INIT;

	(void)state;
	write_file(text, sizeof(text) - 1);
	assert_int_equal(conf_load(FILE_NAME, &conf, &err), -1);
	assert_string_equal(err.text, FILE_NAME ":2: there is a control character");
}

static void test_all_faults_are_told(void **state)
{
	struct conf *conf;
	struct err err = ERR_INIT;
	_cleanup_buf_ struct buf many = BUF_INIT;

	(void)state;
	buf_add_str(&many, "[http]\nworkers = x\nport = 1\n");
	write_file(many.data, many.len);
	assert_int_equal(conf_load(FILE_NAME, &conf, &err), -1);
	assert_string_equal(err.text, FILE_NAME
		":2: http.workers: \"x\" is not a whole number from "
		"0 to 256; " FILE_NAME ":3: there is no setting http.port");

	for (int i = 0; i < 50; i++)
		buf_printf(&many, "port%d = 1\n", i);
	write_file(many.data, many.len);
	assert_int_equal(conf_load(FILE_NAME, &conf, &err), -1);
	assert_true(strlen(err.text) < ERR_TEXT_MAX);
	assert_non_null(strstr(err.text, "; and "));
	assert_string_equal(err.text + strlen(err.text) - 5, " more");
}

/* What stands in a section that is misspelt is no fault of its own. */
static void test_a_faulty_section_is_one_fault(void **state)
{
	static const char *const sections[] = {
		"[web]", "[http", "[http] x", "[log]\n[web]", "[http]\n[htpt]"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		_cleanup_free_ char *text = mem_printf(
			"%s\nlisten = [::1]:80\nport = 80\n[http]\n"
			"listen = [::1]:80\n",
			sections[i]);
		struct conf *conf;
		struct err err = ERR_INIT;

		write_file(text, strlen(text));
		assert_int_equal(conf_load(FILE_NAME, &conf, &err), -1);
		if (strstr(err.text, "; "))
			fail_msg("%s: %s", sections[i], err.text);
	}
}

/* A line is taken whole or refused. */
static void test_long_lines(void **state)
{
	struct conf *conf = NULL;
	size_t longest = 0;

	(void)state;
	for (size_t len = 20; len < 400; len++) {
		_cleanup_buf_ struct buf text = BUF_INIT;
		struct err err = ERR_INIT;
		size_t path;

		buf_add_str(&text, "[store]\ndatabase = /");
		path = text.len - 1;
		while (text.len < len + strlen("[store]\n"))
			buf_add_char(&text, 'x');
		buf_add_char(&text, '\n');
		write_file(text.data, text.len);
		if (conf_load(FILE_NAME, &conf, &err) < 0) {
			assert_true(str_starts(err.text, FILE_NAME ":2: "));
			continue;
		}
		longest = len;
		assert_int_equal(strlen(conf->store.database), text.len - path - 1);
		conf_free(conf);
	}
	assert_true(longest > 150);
	assert_true(longest < 200);
}

static void test_long_lines_say_so(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct conf *conf;
	struct err err = ERR_INIT;

	(void)state;
	buf_add_str(&text, "; ");
	while (text.len < 5000)
		buf_add_char(&text, 'x');
	write_file(text.data, text.len);
	assert_int_equal(conf_load(FILE_NAME, &conf, &err), -1);
	assert_string_equal(err.text, FILE_NAME ":1: the line is longer than 197 bytes");
}

static void test_files_that_cannot_be_read(void **state)
{
	struct conf *conf;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(conf_load("/nowhere/x.conf", &conf, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_string_equal(err.text, "cannot read /nowhere/x.conf: No such file or directory");

	assert_int_equal(conf_load("/tmp", &conf, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.text, "Is a directory"));

	if (geteuid() == 0)
		return; /* root may read everything */
	write_file("", 0);
	assert_int_equal(chmod(FILE_NAME, 0), 0);
	assert_int_equal(conf_load(FILE_NAME, &conf, &err), -1);
	assert_non_null(strstr(err.text, "Permission denied"));
	assert_int_equal(chmod(FILE_NAME, 0600), 0);
}

/* Files beside it add to it, and none changes what another one sets. */
static void test_a_folder_of_files(void **state)
{
	static const char once[] = "[log]\nlevel = debug\n[milter]\ninternal_hosts = 10.0.0.0/8\n";
	static const char list[] = "internal_hosts = 192.0.2.1\n";
	static const char section[] = "[milter]\n";
	static const char fault[] = "junk";
	static const char twice[] = "[http]\n\n[log]\nlevel = info\n";
	struct conf *conf = NULL;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(mkdir(FILE_NAME ".d", 0755), 0);
	write_named(FILE_NAME ".d/a.conf", once, strlen(once));
	write_named(FILE_NAME ".d/.c.conf", fault, strlen(fault));
	write_named(FILE_NAME ".d/c.conf.dpkg-new", fault, strlen(fault));
	conf = load("[milter]\ninternal_hosts = ::1\n[http]\n");
	assert_string_equal(conf->milter.internal_hosts, "::1 10.0.0.0/8");
	assert_int_equal(conf->log.level, LOG_LEVEL_DEBUG);
	conf_free(conf);

	/* A section ends with its file. */
	write_named(FILE_NAME ".d/b.conf", list, strlen(list));
	assert_int_equal(conf_load(FILE_NAME, &conf, &err), -1);
	assert_string_equal(err.text, FILE_NAME
		".d/b.conf:1: internal_hosts stands before "
		"the first [section]");

	write_named(FILE_NAME ".d/b.conf", section, strlen(section));
	write_file(twice, strlen(twice));
	assert_int_equal(conf_load(FILE_NAME, &conf, &err), -1);
	assert_string_equal(
		err.text, FILE_NAME ".d/a.conf:2: log.level is already set in " FILE_NAME ":4");

	assert_int_equal(unlink(FILE_NAME ".d/b.conf"), 0);
	assert_int_equal(symlink("nowhere", FILE_NAME ".d/b.conf"), 0);
	write_file("", 0);
	assert_int_equal(conf_load(FILE_NAME, &conf, &err), -1);
	assert_string_equal(
		err.text, "cannot read " FILE_NAME ".d/b.conf: No such file or directory");
}

/* What was learnt gives way to what an admin sets, in a file before or behind it. */
static void test_learnt_settings(void **state)
{
	static const char learnt[] =
		"[auth]\nurl = smtp://learnt.test\n[milter]\n"
		"internal_hosts = 10.0.0.0/8\n";
	static const char later[] = "[auth]\nurl = smtp://later.test\n";
	struct conf *conf;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(mkdir(FILE_NAME ".d", 0755), 0);
	write_named(FILE_NAME ".d/learnt.conf", learnt, strlen(learnt));
	conf = load("[milter]\ninternal_hosts = ::1\n");
	assert_string_equal(conf->auth.url, "smtp://learnt.test");
	assert_string_equal(conf->milter.internal_hosts, "::1 10.0.0.0/8");
	conf_free(conf);
	conf = load("[auth]\nurl = smtp://own.test\n");
	assert_string_equal(conf->auth.url, "smtp://own.test");
	conf_free(conf);
	write_named(FILE_NAME ".d/z.conf", later, strlen(later));
	conf = load("");
	assert_string_equal(conf->auth.url, "smtp://later.test");
	conf_free(conf);
	write_file(later, strlen(later));
	assert_int_equal(conf_load(FILE_NAME, &conf, &err), -1);
	assert_string_equal(
		err.text, FILE_NAME ".d/z.conf:2: auth.url is already set in " FILE_NAME ":2");
}

static void check_round_trip(const struct conf *conf)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_buf_ struct buf again = BUF_INIT;
	_cleanup_(conf) struct conf *read = NULL;

	conf_print(conf, &text);
	read = load(buf_str(&text));
	assert_same(conf, read);
	conf_print(read, &again);
	assert_string_equal(buf_str(&text), buf_str(&again));
}

static void test_print_can_be_read(void **state)
{
	_cleanup_(conf) struct conf *defaults = conf_default();
	_cleanup_buf_ struct buf text = BUF_INIT;

	(void)state;
	check_round_trip(defaults);
	buf_add_str(&text,
		"[store]\ndatabase = /Größe/a;b#c = [x]\n"
		"[http]\nlisten = [::1]:0\nworkers = 7\n"
		"max_message_bytes = 1025\n"
		"request_timeout = 1001ms\n"
		"[submission]\npostfix_config = /etc/postfix-x\n"
		"[log]\nlevel = warn\ntarget = syslog\n"
		"[milter]\n");
	/* More than one line can hold. */
	for (int i = 0; i < 40; i++)
		buf_printf(&text, "internal_hosts = 10.%d.0.0/16,::%d\n", i, i);
	{
		_cleanup_(conf) struct conf *conf = load(buf_str(&text));

		assert_true(strlen(conf->milter.internal_hosts) > 400);
		check_round_trip(conf);
	}
}

static void test_reload(void **state)
{
	_cleanup_(conf) struct conf *live = conf_default();
	_cleanup_(conf) struct conf *fresh = load(
		"[store]\ndatabase = /other\n"
		"[http]\nworkers = 9\nmax_recipients = 5\n"
		"[submission]\nsendmail = /bin/other\n"
		"[log]\nlevel = debug\n");
	_cleanup_buf_ struct buf restart = BUF_INIT;

	(void)state;
	conf_reload(live, fresh, &restart);
	assert_string_equal(buf_str(&restart), "store.database http.workers");
	assert_string_equal(live->store.database, "/var/lib/postern/postern.db");
	assert_int_equal(live->http.workers, 0);
	assert_int_equal(live->http.max_recipients, 5);
	assert_string_equal(live->submission.sendmail, "/bin/other");
	assert_int_equal(live->log.level, LOG_LEVEL_DEBUG);

	buf_clear(&restart);
	conf_reload(live, live, &restart);
	assert_string_equal(buf_str(&restart), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_empty_files_give_the_defaults),
		TEST(test_settings_are_read),
		TEST(test_a_name_may_bring_its_section),
		TEST(test_odd_values),
		TEST(test_lists_add_up),
		TEST(test_faults_name_the_line),
		TEST(test_nul_is_refused),
		TEST(test_all_faults_are_told),
		TEST(test_a_faulty_section_is_one_fault),
		TEST(test_long_lines),
		TEST(test_long_lines_say_so),
		TEST(test_files_that_cannot_be_read),
		TEST(test_a_folder_of_files),
		TEST(test_learnt_settings),
		TEST(test_print_can_be_read),
		TEST(test_reload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
