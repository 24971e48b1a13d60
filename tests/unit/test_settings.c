/*
 * The table of settings, and the values of each type.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/conf/setting.h"

static const struct setting *find(const char *section, const char *name)
{
	const struct setting *setting = setting_find(section, name);

	if (setting == NULL)
		fail_msg("no setting %s.%s", section, name);
	return setting;
}

static void test_table_is_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < settings_n; i++) {
		const struct setting *one = &settings[i];

		assert_true(one->min <= one->max);
		assert_true(strlen(one->help) > 10);
		assert_int_equal(one->help[strlen(one->help) - 1], '.');
		assert_int_equal(one->type == SETTING_CHOICE, one->choices != NULL);
		/* Each has its own place, and is found by its name. */
		for (size_t k = 0; k < i; k++)
			assert_true(settings[k].offset != one->offset);
		assert_ptr_equal(setting_find(one->section, one->name), one);
		assert_true(setting_section_known(one->section));
	}
	/* Every member has a row, except for store.place: the rows fill the struct. */
	assert_int_equal(settings_n + 1, sizeof(struct conf) / sizeof(int64_t));
	assert_null(setting_find("http", "nonsense"));
	assert_null(setting_find("nonsense", "listen"));
	assert_false(setting_section_known("nonsense"));
}

/* A section stands in one piece, for printing. */
static void test_sections_are_grouped(void **state)
{
	(void)state;
	for (size_t i = 1; i < settings_n; i++) {
		if (str_eq(settings[i].section, settings[i - 1].section))
			continue;
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(settings[k].section, settings[i].section);
	}
}

static void test_defaults_are_as_documented(void **state)
{
	_cleanup_(conf) struct conf *conf = conf_default();

	(void)state;
	for (size_t i = 0; i < settings_n; i++) {
		_cleanup_buf_ struct buf value = BUF_INIT;

		setting_format(&settings[i], conf, &value);
		assert_string_equal(buf_str(&value), settings[i].fallback);
	}
	assert_int_equal(conf->http.request_timeout_ms, 60000);
	assert_int_equal(conf->http.max_message_bytes, 40 * 1024 * 1024);
	assert_int_equal(conf->submission.method, SUBMISSION_SENDMAIL);
	assert_string_equal(conf->submission.postfix_config, "");
}

static void test_good_numbers(void **state)
{
	static const struct {
		const char *section;
		const char *name;
		const char *text;
		int64_t number;
		const char *printed; /* NULL: as text */
	} cases[] = {
		{"http", "workers", "0", 0, NULL},
		{"http", "workers", "256", 256, NULL},
		{"http", "max_connections", "1000000", 1000000, NULL},
		{"http", "max_message_bytes", "1024", 1024, "1K"},
		{"http", "max_message_bytes", "1025", 1025, NULL},
		{"http", "max_message_bytes", "64K", 65536, NULL},
		{"http", "max_message_bytes", "2048K", 2 << 20, "2M"},
		{"http", "max_message_bytes", "1G", 1 << 30, NULL},
		{"http", "request_timeout", "1s", 1000, NULL},
		{"http", "request_timeout", "1500ms", 1500, NULL},
		{"http", "request_timeout", "90s", 90000, NULL},
		{"http", "request_timeout", "120s", 120000, "2m"},
		{"http", "request_timeout", "2min", 120000, "2m"},
		{"http", "request_timeout", "1h", 3600000, NULL},
		{"retention", "emails", "120s", 120000, "2min"},
		{"retention", "emails", "2min", 120000, NULL},
		{"retention", "events", "30d", INT64_C(2592000000), NULL},
		{"retention", "audit", "730d", INT64_C(63072000000), NULL},
		{"retention", "content", "0", 0, "0ms"},
		{"http", "drain_timeout", "0s", 0, "0ms"},
		{"http", "drain_timeout", "0", 0, "0ms"},
		{"submission", "method", "sendmail", 0, NULL},
		{"submission", "method", "smtp", 1, NULL},
		{"log", "target", "syslog", 1, NULL},
		{"log", "level", "error", 0, NULL},
		{"log", "level", "debug", 3, NULL},
	};
	_cleanup_(conf) struct conf *conf = conf_default();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct setting *setting = find(cases[i].section, cases[i].name);
		_cleanup_buf_ struct buf printed = BUF_INIT;
		struct err err = ERR_INIT;

		if (setting_parse(setting, cases[i].text, conf, &err) < 0)
			fail_msg("%s: %s", cases[i].name, err.text);
		assert_int_equal(setting_number(setting, conf), cases[i].number);
		setting_format(setting, conf, &printed);
		assert_string_equal(
			buf_str(&printed), cases[i].printed ? cases[i].printed : cases[i].text);
	}
}

static void test_good_texts(void **state)
{
	static const struct {
		const char *section;
		const char *name;
		const char *text;
	} cases[] = {
		{"store", "database", "/a"},
		{"store", "database", "/Daten/Größe 1/postern.db"},
		{"http", "listen", "0.0.0.0:0"},
		{"http", "listen", "127.0.0.1:65535"},
		{"http", "listen", "[::]:80"},
		{"http", "listen", "[2001:db8::1]:8587"},
		{"submission", "postfix_config", ""},
		{"submission", "smtp_server", ""},
		{"submission", "smtp_server", "unix:/a"},
		{"submission", "smtp_server", "inet:127.0.0.2:25"},
		{"submission", "smtp_server", "inet:[::1]:25"},
		{"milter", "socket_mode", "0666"},
		{"milter", "socket_mode", "660"},
		{"milter", "internal_hosts", ""},
		{"milter", "internal_hosts", "10.0.0.0/8, ::1"},
		{"milter", "internal_hosts", "10.0.0.0/8 !10.9.0.0/16"},
		{"milter", "local_domains", ""},
		{"milter", "local_domains", "Example.com, localhost a_b.test"},
	};
	_cleanup_(conf) struct conf *conf = conf_default();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct setting *setting = find(cases[i].section, cases[i].name);
		struct err err = ERR_INIT;

		if (setting_parse(setting, cases[i].text, conf, &err) < 0)
			fail_msg("%s: %s", cases[i].name, err.text);
		assert_string_equal(setting_text(setting, conf), cases[i].text);
	}
}

static void test_bad_values(void **state)
{
	static const struct {
		const char *section;
		const char *name;
		const char *text;
		const char *says;
	} cases[] = {
		{"http", "workers", "", "a whole number from 0 to 256"},
		{"http", "workers", "-1", "a whole number from 0 to 256"},
		{"http", "workers", "-0", "a whole number from 0 to 256"},
		{"http", "drain_timeout", "-0", "a duration"},
		{"http", "workers", "257", "a whole number from 0 to 256"},
		{"http", "workers", "two", "\"two\" is not a whole number"},
		{"http", "workers", "2.5", "\"2.5\" is not a whole number"},
		{"http", "workers", "0x10", "\"0x10\" is not a whole"},
		{"http", "workers", "99999999999999999999", "a whole number"},
		{"http", "max_message_bytes", "40MB", "from 1K to 1G (as 512"},
		{"http", "max_message_bytes", "1023", "from 1K to 1G"},
		{"http", "max_message_bytes", "2G", "from 1K to 1G"},
		{"http", "max_message_bytes", "9223372036854775807G", "1G"},
		{"http", "max_message_bytes", "M", "\"M\" is not a size"},
		{"http", "request_timeout", "60", "from 1s to 1h (as 250ms"},
		{"http", "request_timeout", "1 s", "a duration"},
		{"http", "request_timeout", "1d", "a duration"},
		{"http", "request_timeout", "999ms", "a duration"},
		{"http", "request_timeout", "0", "a duration"},
		{"retention", "emails", "1m", "minutes or months? Write 1min for minutes, 30d for"},
		{"retention", "content", "12months", "12min for minutes, 360d"},
		{"retention", "events", "2M", "2min for minutes, 60d"},
		{"retention", "events", "1y", "is not a duration from 0ms"},
		{"http", "listen", "localhost:80", "a numeric address"},
		{"http", "listen", "127.0.0.1", "a numeric address"},
		{"http", "listen", "127.0.0.1:", "a numeric address"},
		{"http", "listen", "127.0.0.1:65536", "a numeric address"},
		{"http", "listen", ":80", "a numeric address"},
		{"http", "listen", "::1:80", "a numeric address"},
		{"http", "listen", "[::1]", "a numeric address"},
		{"http", "listen", "[::1:80", "a numeric address"},
		{"http", "listen", "[127.0.0.1]:80", "a numeric address"},
		{"http", "listen", "", "a numeric address"},
		{"store", "database", "", "an absolute path"},
		{"store", "database", "postern.db", "an absolute path"},
		{"submission", "smtp_server", "unix:", "a server on this host"},
		{"submission", "smtp_server", "unix:smtpd", "a server"},
		{"submission", "smtp_server", "/smtpd", "a server"},
		{"submission", "smtp_server", "127.0.0.1:25", "a server"},
		{"submission", "smtp_server", "inet:127.0.0.1", "a server"},
		{"submission", "smtp_server", "inet:localhost:25", "a server"},
		{"submission", "smtp_server", "inet:192.0.2.1:25", "a server"},
		{"submission", "smtp_server", "inet:[::2]:25", "a server"},
		{"submission", "method", "qmqp", "is not one of sendmail"},
		{"log", "level", "INFO", "one of error, warn, info, debug"},
		{"log", "level", "", "one of error, warn, info, debug"},
		{"milter", "socket_mode", "0680", "octal permissions"},
		{"milter", "socket_mode", "1777", "octal permissions"},
		{"milter", "socket_mode", "66", "octal permissions"},
		{"milter", "local_domains", "user@example.com", "a list of domain names"},
		{"milter", "local_domains", "hash:/etc/x", "a list of domain"},
		{"milter", "refuse_local", "bounce", "one of reject, hold, discard"},
		{"milter", "trace_header", "yes", "one of off, on"},
		{"milter", "internal_hosts", "10.0.0.0/8 here", "\"here\": it is no IPv4"},
	};
	_cleanup_(conf) struct conf *conf = conf_default();
	_cleanup_(conf) struct conf *same = conf_default();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct setting *setting = find(cases[i].section, cases[i].name);
		struct err err = ERR_INIT;

		if (setting_parse(setting, cases[i].text, conf, &err) == 0)
			fail_msg("%s accepts \"%s\"", setting->name, cases[i].text);
		assert_int_equal(err.code, ERR_CONFIG);
		if (strstr(err.text, cases[i].says) == NULL)
			fail_msg("%s: %s", setting->name, err.text);
		assert_true(setting_equal(setting, conf, same));
	}
}

static void test_socket_path_fits_the_kernel(void **state)
{
	const struct setting *setting = find("milter", "socket");
	_cleanup_(conf) struct conf *conf = conf_default();
	char path[109];

	(void)state;
	memset(path, '/', sizeof(path));
	path[108] = '\0';
	assert_int_equal(setting_parse(setting, path, conf, NULL), -1);
	path[107] = '\0';
	assert_int_equal(setting_parse(setting, path, conf, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_is_sound),
		cmocka_unit_test(test_sections_are_grouped),
		cmocka_unit_test(test_defaults_are_as_documented),
		cmocka_unit_test(test_good_numbers),
		cmocka_unit_test(test_good_texts),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_socket_path_fits_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
