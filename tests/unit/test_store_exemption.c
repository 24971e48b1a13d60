/*
 * store_exemption: what may be exempt, and that it goes with its domain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/buf.h"
#include "core/store/company/store_domain.h"
#include "core/store/company/store_exemption.h"
#include "tests/unit/temp_db.h"

static int setup(void **state)
{
	struct temp_tenant tenant;
	struct temp_db *temp;

	if (temp_db_setup(state) != 0)
		return -1;
	temp = *state;
	temp_db_tenant(temp->db, "Acme", "example.com", &tenant);
	temp_db_tenant(temp->db, "Other", "other.test", &tenant);
	return 0;
}

static void add(struct db *db, const char *domain, enum exemption_kind kind, const char *value)
{
	const struct exemption_spec spec = {domain, kind, value, false};
	struct exemption exemption;

	static int64_t now_us = 77;

	now_us++;
	OK(store_exemption_add(db, &spec, now_us, &exemption, &why));
	assert_string_equal(exemption.domain, domain);
	assert_int_equal(exemption.kind, kind);
	assert_string_equal(exemption.value, value);
	assert_true(exemption.created_us == now_us);
	store_exemption_clear(&exemption);
}

static void test_good(void **state)
{
	static const struct {
		enum exemption_kind kind;
		const char *value;
	} cases[] = {
		{EXEMPT_LOGIN, "ann"},
		{EXEMPT_LOGIN, "ann@example.com"},
		{EXEMPT_LOGIN, "Ann \xc3\xa4"},
		{EXEMPT_CLIENT, "10.0.0.1"},
		{EXEMPT_CLIENT, "10.0.0.0/8"},
		{EXEMPT_CLIENT, "2001:db8::/32"},
		{EXEMPT_CLIENT, "0.0.0.0/0"},
		{EXEMPT_SENDER, "root@example.com"},
		{EXEMPT_SENDER, "root@host.example.com"},
		{EXEMPT_SENDER, "\"a b\"@example.com"},
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		add(temp->db, "example.com", cases[i].kind, cases[i].value);
}

/* However a network is written, it is one and the same. */
static void test_spellings(void **state)
{
	static const char *const rows[][4] = {
		/* as it is stored, and otherwise */
		{"10.0.0.1", "10.0.0.1/32", "::ffff:10.0.0.1", "[::FFFF:10.0.0.1]/128"},
		{"10.0.0.0/8", "::ffff:10.0.0.0/104", "10.0.0.0/08", NULL},
		{"::1", "[::1]", "::1/128", "0:0:0:0:0:0:0:1"},
		{"2001:db8::/32", "2001:DB8::/32", "[2001:0db8:0::]/32", NULL},
		{"::/0", "[::]/0", "0::0/0", NULL},
		{"0.0.0.0/0", "::ffff:0:0/96", NULL, NULL},
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		add(temp->db, "example.com", EXEMPT_CLIENT, rows[i][0]);
		for (size_t k = 0; k < 4 && rows[i][k]; k++) {
			const struct exemption_spec spec = {
				"example.com", EXEMPT_CLIENT, rows[i][k], false};
			struct exemption exemption = {0};
			struct err err = ERR_INIT;
			char id[ID_SIZE];

			assert_int_equal(
				store_exemption_add(temp->db, &spec, 1, &exemption, &err), -1);
			assert_int_equal(err.code, ERR_EXISTS);
			OK(store_exemption_find(temp->db, &spec, id, &why) - 1);
		}
	}
}

static void test_find(void **state)
{
	static const struct {
		struct exemption_spec spec;
		int found;
	} cases[] = {
		{{"example.com", EXEMPT_LOGIN, "ann", false}, 1},
		{{"example.com", EXEMPT_LOGIN, "Ann", false}, 0},
		{{"other.test", EXEMPT_LOGIN, "ann", false}, 0},
		{{"none.test", EXEMPT_LOGIN, "ann", false}, 0},
		{{"example.com", EXEMPT_SENDER, "ann@example.com", false}, 0},
		{{"example.com", EXEMPT_CLIENT, "ann", false}, -1},
	};
	struct temp_db *temp = *state;
	char id[ID_SIZE];

	add(temp->db, "example.com", EXEMPT_LOGIN, "ann");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			store_exemption_find(temp->db, &cases[i].spec, id, NULL), cases[i].found);
}

static void test_faults(void **state)
{
	char long_login[300];
	const struct {
		struct exemption_spec spec;
		enum err_code code;
		const char *why;
	} cases[] = {
		{{"none.test", EXEMPT_LOGIN, "ann", false}, ERR_NOT_FOUND, "none.test"},
		{{"example.com", EXEMPT_LOGIN, "there", false}, ERR_EXISTS, "there"},
		{{"example.com", EXEMPT_LOGIN, "", false}, ERR_INVALID, "empty"},
		{{"example.com", EXEMPT_LOGIN, "a\nb", false}, ERR_INVALID, "control"},
		{{"example.com", EXEMPT_LOGIN, "\xff", false}, ERR_INVALID, "UTF-8"},
		{{"example.com", EXEMPT_LOGIN, long_login, false}, ERR_INVALID, "longer"},
		{{"example.com", EXEMPT_CLIENT, "", false}, ERR_INVALID, "not one"},
		{{"example.com", EXEMPT_CLIENT, "10.0.0.1 ::1", false}, ERR_INVALID, "not one"},
		{{"example.com", EXEMPT_CLIENT, ", 10.0.0.0/8 ", false}, ERR_INVALID, "not one"},
		{{"example.com", EXEMPT_CLIENT, "10.0.0.1/8", false}, ERR_INVALID, "bits set"},
		{{"example.com", EXEMPT_CLIENT, "host.test", false}, ERR_INVALID, "no IPv4"},
		{{"example.com", EXEMPT_SENDER, "root", false}, ERR_INVALID, "no address of"},
		{{"example.com", EXEMPT_SENDER, "", false}, ERR_INVALID, "no address of"},
		{{"example.com", EXEMPT_SENDER, "@example.com", false}, ERR_INVALID,
			"no address of"},
		{{"example.com", EXEMPT_SENDER, "root@other.test", false}, ERR_INVALID,
			"no address of"},
		{{"example.com", EXEMPT_SENDER, "root@anexample.com", false}, ERR_INVALID,
			"no address of"},
		{{"example.com", EXEMPT_SENDER, "root@com", false}, ERR_INVALID, "no address of"},
	};
	struct temp_db *temp = *state;

	memset(long_login, 'x', sizeof(long_login) - 1);
	long_login[sizeof(long_login) - 1] = '\0';
	add(temp->db, "example.com", EXEMPT_LOGIN, "there");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct exemption exemption = {0};
		struct err err = ERR_INIT;

		assert_int_equal(
			store_exemption_add(temp->db, &cases[i].spec, 1, &exemption, &err), -1);
		assert_int_equal(err.code, cases[i].code);
		if (!strstr(err.text, cases[i].why))
			fail_msg("%zu: %s", i, err.text);
		assert_null(exemption.value);
	}
}

/* What is listed, as `domain kind value;`. */
static char *listed(struct db *db, const char *domain)
{
	struct exemption_list list;
	struct buf text = BUF_INIT;

	FOUND(store_exemption_list(db, NULL, domain, WHOLE, &list, NULL, &why));
	for (size_t i = 0; i < list.n; i++)
		buf_printf(&text, "%s %s %s;", list.items[i].domain,
			store_exemption_kind_name(list.items[i].kind), list.items[i].value);
	store_exemption_list_free(&list);
	return buf_take(&text);
}

static void assert_listed(struct db *db, const char *domain, const char *wanted)
{
	_cleanup_free_ char *text = listed(db, domain);

	assert_string_equal(text, wanted);
}

static void test_list(void **state)
{
	struct temp_db *temp = *state;

	assert_listed(temp->db, NULL, "");
	add(temp->db, "other.test", EXEMPT_LOGIN, "ann");
	add(temp->db, "example.com", EXEMPT_SENDER, "root@example.com");
	add(temp->db, "example.com", EXEMPT_LOGIN, "bob");
	add(temp->db, "example.com", EXEMPT_LOGIN, "ann");
	assert_listed(temp->db, NULL,
		"example.com login ann;example.com login bob;"
		"example.com sender root@example.com;other.test login ann;");
	assert_listed(temp->db, "other.test", "other.test login ann;");
	assert_listed(temp->db, "example.com",
		"example.com login ann;example.com login bob;"
		"example.com sender root@example.com;");
	assert_listed(temp->db, "none.test", "");
}

static void test_remove(void **state)
{
	struct temp_db *temp = *state;
	struct exemption_list list;

	add(temp->db, "example.com", EXEMPT_LOGIN, "ann");
	FOUND(store_exemption_list(temp->db, NULL, NULL, WHOLE, &list, NULL, &why));
	assert_int_equal(store_exemption_remove(temp->db, list.items[0].id, NULL), 1);
	assert_int_equal(store_exemption_remove(temp->db, list.items[0].id, NULL), 0);
	store_exemption_list_free(&list);
	assert_listed(temp->db, NULL, "");
}

/* The next owner of the name must not find holes in it. */
static void test_goes_with_its_domain(void **state)
{
	struct temp_db *temp = *state;
	struct domain domain;

	add(temp->db, "example.com", EXEMPT_LOGIN, "ann");
	add(temp->db, "other.test", EXEMPT_LOGIN, "ann");
	assert_int_equal(store_domain_find(temp->db, "example.com", &domain, NULL), 1);
	assert_int_equal(store_domain_remove(temp->db, domain.id, NULL), 1);
	store_domain_clear(&domain);
	assert_listed(temp->db, NULL, "other.test login ann;");
}

/* A word that only a later program knows. */
static void test_unknown_kind(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;

	add(temp->db, "other.test", EXEMPT_LOGIN, "ann");
	OK(db_exec(temp->db, "PRAGMA ignore_check_constraints = 1", &why));
	OK(db_exec(temp->db, "UPDATE exemption SET kind = 'later'", &why));
	assert_listed(temp->db, NULL, "other.test unknown ann;");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(good),
		TEST(faults),
		TEST(spellings),
		TEST(find),
		TEST(list),
		TEST(remove),
		TEST(unknown_kind),
		TEST(goes_with_its_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
