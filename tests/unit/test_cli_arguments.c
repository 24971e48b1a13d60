/*
 * The command line, and the table of verbs that it is held against.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cli/arguments.h"
#include "cli/verbs.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/conf/conf.h"

/* Splits at blanks and parses; the words live as long as line. */
static int parse(const char *text, struct strv *line, struct arguments *arguments, struct err *err)
{
	strv_add(line, "postern");
	strv_split(line, text, ' ');
	return arguments_parse((int)line->n, line->items, arguments, err);
}

static void assert_value(const char *value, const char *wanted)
{
	if (wanted == NULL)
		assert_null(value);
	else
		assert_string_equal(value, wanted);
}

/* The verb as one text, as `company add`. */
static void assert_verb(const struct verb *verb, const char *wanted)
{
	_cleanup_free_ char *text = mem_printf(
		"%s%s%s", verb->noun, verb->name ? " " : "", verb->name ? verb->name : "");

	assert_string_equal(text, wanted);
}

static void test_good_lines(void **state)
{
	static const struct {
		const char *line;
		const char *verb;
		const char *argument;
		const char *company;
		const char *inactive;
		const char *conf;
		bool json;
	} cases[] = {
		{"company list", .verb = "company list"},
		{"company add A", "company add", .argument = "A"},
		{"company add --json A", "company add", "A", .json = true},
		{"--json -c f company add A", "company add", "A", .conf = "f", .json = true},
		{"company --config f add A --json", "company add", "A", .conf = "f", .json = true},
		{"company -cf list", "company list", .conf = "f"},
		{"company list --config=f", "company list", .conf = "f"},
		{"company add -- --json", "company add", .argument = "--json"},
		{"domain add x.y --company 7", "domain add", "x.y", .company = "7"},
		{"domain add --company=7 --inactive x.y", "domain add", "x.y", .company = "7",
			.inactive = ""},
		{"--company 7 domain add x.y", "domain add", "x.y", .company = "7"},
		{"key create --company 7 --name n", "key create", .company = "7"},
		{"config", .verb = "config"},
		{"db backup /x", "db backup", .argument = "/x"},
		{"held drop A B C", "held drop", .argument = "A"},
		{"held release", .verb = "held release"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strv_ struct strv line = STRV_INIT;
		struct arguments got;
		struct err err = ERR_INIT;

		if (parse(cases[i].line, &line, &got, &err) < 0)
			fail_msg("%s: %s", cases[i].line, err.text);
		assert_verb(got.verb, cases[i].verb);
		assert_value(got.argument, cases[i].argument);
		assert_value(got.values[OPTION_COMPANY], cases[i].company);
		assert_value(got.values[OPTION_INACTIVE], cases[i].inactive);
		assert_string_equal(
			got.conf_path, cases[i].conf ? cases[i].conf : CONF_DEFAULT_PATH);
		assert_int_equal(got.json, cases[i].json);
	}
}

static void test_bad_lines(void **state)
{
	static const struct {
		const char *line;
		const char *says;
	} cases[] = {
		{"", "a command is missing"},
		{"--json", "a command is missing"},
		{"compny",
			"there is no command \"compny\", but company, domain, dkim, exempt, "
			"suppression, key, "
			"webhook, email, outbox, stats, held, hosts, probe, user, token, audit, db, config, "
			"setup, doctor, status; did you mean company?"},
		{"company lsit",
			"company has no \"lsit\", but add, list, show, remove; did you mean list?"},
		{"company list --jsn", "there is no option --jsn; did you mean --json?"},
		{"key list --compny=x", "there is no option --compny=x; did you mean --company?"},
		{"nonsense",
			"there is no command \"nonsense\", but company, domain, dkim, exempt, "
			"suppression, key, webhook, email, outbox, stats, held, hosts, probe, user, token, audit, db, config, "
			"setup, doctor, status"},
		{"company", "company what? There are add, list, show, remove"},
		{"company nonsense", "company has no \"nonsense\", but add, list, show, remove"},
		{"company add", "NAME is missing"},
		{"company add a b", "\"b\" is one word too many"},
		{"company list a", "\"a\" is one word too many"},
		{"config show", "\"show\" is one word too many"},
		{"held show A B", "\"B\" is one word too many"},
		{"held drop", "QUEUEID is missing"},
		{"domain add x.y", "--company is missing"},
		{"key create --company 7", "--name is missing"},
		{"key create --name 7", "--company is missing"},
		{"company list --limit 3", "--limit does not belong to this command"},
		{"company list --inactive", "--inactive does not belong to this command"},
		{"company list --nonsense", "there is no option --nonsense"},
		{"company list -x", "there is no option -x"},
		{"company list -xc f", "there is no option -x"},
		{"company list --json=1", "there is no option --json=1"},
		{"company list -c", "-c wants a value"},
		{"company list --config", "--config wants a value"},
		{"domain add x.y --company", "--company wants a value"},
		{"domain add x.y --company 1 --company 2", "--company is given twice"},
		{"domain add x.y --inactive --inactive --company 1", "--inactive is given twice"},
		{"nonsense --help", "there is no command \"nonsense\""},
		{"help nonsense", "there is no command \"nonsense\""},
		{"company nonsense --help", "company has no \"nonsense\""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strv_ struct strv line = STRV_INIT;
		struct arguments got;
		struct err err = ERR_INIT;

		if (parse(cases[i].line, &line, &got, &err) == 0)
			fail_msg("accepted: %s", cases[i].line);
		assert_int_equal(err.code, ERR_INVALID);
		if (!str_starts(err.text, cases[i].says))
			fail_msg("%s: %s", cases[i].line, err.text);
	}
}

static void test_help_needs_no_more(void **state)
{
	static const struct {
		const char *line;
		const char *noun;
		bool verb;
	} cases[] = {
		{"--help", NULL, false},
		{"-h", NULL, false},
		{"company --help", "company", false},
		{"company add --help", "company", true},
		{"--help domain add", "domain", true},
		{"config --help", "config", true},
		{"help", NULL, false},
		{"help company", "company", false},
		{"help domain add", "domain", true},
		{"help config --json", "config", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strv_ struct strv line = STRV_INIT;
		struct arguments got;

		assert_int_equal(parse(cases[i].line, &line, &got, NULL), 0);
		assert_true(got.help);
		assert_value(got.noun, cases[i].noun);
		assert_int_equal(got.verb != NULL, cases[i].verb);
	}
}

/* The row of the words; for a variant, with its option. */
static const struct verb *find(const struct verb *verb)
{
	const char *values[OPTIONS] = {NULL};

	if (verb->variant) {
		assert_true(verb->options[0].required);
		values[verb->options[0].id] = "";
	}
	return verbs_variant(verbs_find(verb->noun, verb->name), values);
}

/* Words for people, not names of the code. */
static void test_titles(void **state)
{
	(void)state;
	for (size_t i = 0; verbs[i]; i++) {
		const struct column *column = verbs[i]->columns;

		for (; column && column->name; column++)
			assert_true(column->title == NULL || strchr(column->title, '_') == NULL);
	}
}

/* The options of a verb come in the order that its row has them; all rows are
 * complete; the verbs of a noun stand together. */
static void test_table_is_sound(void **state)
{
	(void)state;
	for (size_t i = 0; verbs[i]; i++) {
		const struct verb *verb = verbs[i];

		assert_true(verb->run || verb->operation);
		assert_non_null(verb->columns);
		assert_int_equal(verb->help[strlen(verb->help) - 1], '.');
		assert_null(verb->options[VERB_OPTIONS_MAX - 1].help);
		assert_ptr_equal(find(verb), verb);
		assert_true(verbs_has_noun(verb->noun));
		for (size_t k = 0; i > 0 && k < i - 1; k++)
			if (str_eq(verbs[k]->noun, verb->noun))
				assert_string_equal(verbs[i - 1]->noun, verb->noun);
		for (size_t k = 0; verb->options[k].help; k++)
			assert_ptr_equal(verbs_takes(verb, verb->options[k].id), &verb->options[k]);
	}
	for (int i = 0; i < OPTIONS; i++)
		assert_non_null(verbs_options[i].name);
	assert_null(verbs_find("company", NULL));
	assert_null(verbs_find("config", "x"));
	assert_false(verbs_has_noun("add"));
}

static void test_usage_of_a_verb(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT;

	(void)state;
	usage_add_short(verbs_find("domain", "add"), &text);
	assert_string_equal(buf_str(&text),
		"usage: postern domain add NAME --company ID [--inactive] [--policy P]\n           "
		"[--subdomains S]\n");
	buf_clear(&text);
	usage_add_verb(verbs_find("email", "list"), &text);
	assert_true(str_starts(
		buf_str(&text), "usage: postern email list [--to ADDRESS] [--from ADDRESS]"));
	assert_non_null(strstr(buf_str(&text), "\n\nLists the newest"));
	assert_non_null(strstr(buf_str(&text), "\n  --limit N\n      How"));
	assert_non_null(strstr(buf_str(&text), "\n  --json  "));
}

/* The general help has every verb, and fits a terminal. */
static void test_usage_of_all(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_strv_ struct strv lines = STRV_INIT;

	(void)state;
	usage_add_all(NULL, &text);
	for (size_t i = 0; verbs[i]; i++) {
		_cleanup_free_ char *words = mem_printf("postern %s%s%s", verbs[i]->noun,
			verbs[i]->name ? " " : "", verbs[i]->name ? verbs[i]->name : "");

		assert_non_null(strstr(buf_str(&text), words));
		usage_add_verb(verbs[i], &text);
	}
	strv_split(&lines, buf_str(&text), '\n');
	for (size_t i = 0; i < lines.n; i++)
		if (strlen(lines.items[i]) > 79)
			fail_msg("too long: %s", lines.items[i]);
}

static void test_usage_of_a_noun(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT;

	(void)state;
	usage_add_all("db", &text);
	assert_true(str_starts(buf_str(&text),
		"usage:\n  postern db migrate "
		"[--no-backup] [--new]\n"
		"          Makes the database "));
	assert_non_null(strstr(buf_str(&text),
		"program.\n  postern db check\n          Checks all pages and all references of "
		"the database, whatever the"));
}

static void test_usage_of_a_noun_that_is_a_verb(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT;

	(void)state;
	usage_add_verb(verbs_find("hosts", NULL), &text);
	assert_non_null(strstr(buf_str(&text), "\nSee also:\n  postern hosts remove HOST\n"));
	buf_clear(&text);
	usage_add_verb(verbs_find("hosts", "remove"), &text);
	assert_null(strstr(buf_str(&text), "See also"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_lines),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_help_needs_no_more),
		cmocka_unit_test(test_table_is_sound),
		cmocka_unit_test(test_titles),
		cmocka_unit_test(test_usage_of_a_verb),
		cmocka_unit_test(test_usage_of_all),
		cmocka_unit_test(test_usage_of_a_noun),
		cmocka_unit_test(test_usage_of_a_noun_that_is_a_verb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
