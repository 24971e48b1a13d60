/*
 * store_claim: which registered domain a name belongs to, and who is exempt.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/mem.h"
#include "core/store/company/store_claim.h"
#include "core/store/company/store_exemption.h"
#include "tests/unit/temp_db.h"

static const struct claim_sender nobody = {.sender = "", .from = NULL};

/* example.com covers its subdomains, but for the one of another company. */
static int setup(void **state)
{
	static const struct exemption_spec exempt[] = {
		{"example.com", EXEMPT_LOGIN, "ann", false},
		{"example.com", EXEMPT_CLIENT, "10.0.0.0/8", false},
		{"example.com", EXEMPT_CLIENT, "::1", false},
		{"example.com", EXEMPT_SENDER, "root@example.com", false},
		{"example.com", EXEMPT_SENDER, "cron@host.example.com", false},
		{"sub.example.com", EXEMPT_SENDER, "root@sub.example.com", false},
		{"example.com", EXEMPT_SENDER, "here@example.com", .local = true},
		{"own.test", EXEMPT_SENDER, "root@own.test", false},
	};
	struct temp_tenant tenant;
	struct temp_db *temp;

	if (temp_db_setup(state) != 0)
		return -1;
	temp = *state;
	temp_db_tenant(temp->db, "Acme", "example.com", &tenant);
	temp_db_tenant(temp->db, "Sub", "sub.example.com", &tenant);
	temp_db_tenant(temp->db, "Own", "own.test", &tenant);
	temp_db_subdomains(temp->db, "example.com", true, NULL);
	temp_db_policy(temp->db, "sub.example.com", POLICY_SHARED, NULL);
	temp_db_policy(temp->db, "own.test", POLICY_LEARN, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(exempt); i++) {
		struct exemption exemption;

		OK(store_exemption_add(temp->db, &exempt[i], 1, &exemption, &why));
		store_exemption_clear(&exemption);
	}
	return 0;
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		const char *domain; /* NULL: none */
		enum domain_policy policy;
	} cases[] = {
		{"example.com", "example.com", POLICY_EXCLUSIVE},
		{"a.example.com", "example.com", POLICY_EXCLUSIVE},
		{"a.b.c.d.e.f.example.com", "example.com", POLICY_EXCLUSIVE},
		{"sub.example.com", "sub.example.com", POLICY_SHARED},
		/* It does not cover what is below it, but its parent does. */
		{"a.sub.example.com", "example.com", POLICY_EXCLUSIVE},
		{"own.test", "own.test", POLICY_LEARN},
		{"a.own.test", NULL, 0},
		{"anexample.com", NULL, 0},
		{"example.com.test", NULL, 0},
		{"com", NULL, 0},
		{"", NULL, 0},
		{".", NULL, 0},
		{"..example.com", "example.com", POLICY_EXCLUSIVE},
		{"none.test", NULL, 0},
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct claim claim = {.exempt = true};
		int found = store_claim_read(temp->db, cases[i].name, &nobody, &claim, NULL);

		if (found != (cases[i].domain != NULL))
			fail_msg("%s: %d", cases[i].name, found);
		if (found == 0)
			continue;
		assert_string_equal(claim.domain, cases[i].domain);
		assert_int_equal(claim.policy, cases[i].policy);
		assert_false(claim.exempt);
	}
}

/* Each is about example.com. */
static const struct {
	struct claim_sender sender;
	bool exempt;
} exempt_cases[] = {
	/* by login, whatever is sent */
	{{"ann", NULL, "boss@example.com", "boss@example.com", false}, true},
	{{"ann", "192.0.2.1", "", NULL, false}, true},
	{{"Ann", NULL, "boss@example.com", "boss@example.com", false}, false},
	{{"", NULL, "boss@example.com", "boss@example.com", false}, false},
	{{"root@example.com", NULL, "", NULL, false}, false},

	/* by client */
	{{NULL, "10.1.2.3", "boss@example.com", NULL, false}, true},
	{{NULL, "::1", "boss@example.com", NULL, false}, true},
	{{NULL, "[::1]", "boss@example.com", NULL, false}, true},
	{{NULL, "::ffff:10.1.2.3", "boss@example.com", NULL, false}, true},
	{{NULL, "11.1.2.3", "boss@example.com", NULL, false}, false},
	{{NULL, "::2", "boss@example.com", NULL, false}, false},
	{{NULL, "", "boss@example.com", NULL, false}, false},
	{{NULL, "10.0.0.0/8", "boss@example.com", NULL, false}, false},
	{{NULL, NULL, "boss@example.com", NULL, false}, false},

	/* by sender: nothing but what is exempt may be used */
	{{NULL, NULL, "root@example.com", "root@example.com", false}, true},
	{{NULL, NULL, "root@Example.COM", "root@EXAMPLE.com", false}, true},
	{{NULL, NULL, "root@example.com", "cron@host.example.com", false}, true},
	{{NULL, NULL, "root@example.com", "ann@dst.test", false}, true},
	{{NULL, NULL, "ann@dst.test", "root@example.com", false}, true},
	{{NULL, NULL, "root@example.com", "boss@example.com", false}, false},
	{{NULL, NULL, "boss@example.com", "root@example.com", false}, false},
	{{NULL, NULL, "root@example.com", "boss@sub.example.com", false}, false},
	{{NULL, NULL, "root@example.com", "boss@a.example.com", false}, false},
	{{NULL, NULL, "root@example.com", NULL, false}, false},
	{{NULL, NULL, NULL, "root@example.com", false}, false},
	{{NULL, NULL, "", "root@example.com", false}, false},
	{{NULL, NULL, "root@example.com", "", false}, false},
	/* for this host alone: all that needs it is submitted here */
	{{NULL, NULL, "here@example.com", "here@example.com", true}, true},
	{{NULL, NULL, "here@example.com", "here@example.com", false}, false},
	{{NULL, "192.0.2.1", "here@example.com", "root@example.com", false}, false},
	{{NULL, NULL, "root@example.com", "here@example.com", false}, false},
	{{NULL, NULL, "root@example.com", "here@example.com", true}, true},
	{{NULL, NULL, "root@example.com", "root@example.com", true}, true},
	{{NULL, NULL, "here@example.com", "boss@example.com", true}, false},
	/* used by something else than the two, as a field Sender */
	{{NULL, NULL, "ann@dst.test", "ann@dst.test", false}, false},
	/* local parts count to the letter */
	{{NULL, NULL, "Root@example.com", "Root@example.com", false}, false},
	/* what might be read as something else */
	{{NULL, NULL, "boss@example.com.", "root@example.com", false}, false},
	{{NULL, NULL, "boss@.example.com", "root@example.com", false}, false},
	{{NULL, NULL, "boss@\xef\xbd\x85xample.com", "root@example.com", false}, false},
	{{NULL, NULL, "@a.test:boss@example.com", "root@example.com", false}, false},
	{{NULL, NULL, "boss@[192.0.2.1]", "root@example.com", false}, false},
	{{NULL, NULL, "@example.com", "root@example.com", false}, false},
	{{NULL, NULL, "boss@", "root@example.com", false}, false},
	{{NULL, NULL, "boss", "root@example.com", false}, false},
	{{NULL, NULL, "root@anexample.com", "root@example.com", false}, true},
	{{NULL, NULL, "root@com", "root@example.com", false}, true},
};

static void test_exemptions(void **state)
{
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(exempt_cases); i++) {
		struct claim claim = {0};

		assert_int_equal(store_claim_read(temp->db, "example.com", &exempt_cases[i].sender,
					 &claim, NULL),
			1);
		if (claim.exempt != exempt_cases[i].exempt)
			fail_msg("%zu: %s, %s", i, exempt_cases[i].sender.sender,
				exempt_cases[i].sender.from);
	}
}

/* Those of one domain are of no use for another. */
static void test_exemptions_are_of_one_domain(void **state)
{
	static const struct {
		const char *name;
		struct claim_sender sender;
		bool exempt;
	} cases[] = {
		{"sub.example.com", {"ann", "10.1.2.3", "", NULL, false}, false},
		{"sub.example.com",
			{NULL, NULL, "root@sub.example.com", "root@sub.example.com", false}, true},
		{"a.example.com", {"ann", NULL, "", NULL, false}, true},
		{"own.test", {"ann", "10.1.2.3", "", NULL, false}, false},
		{"own.test", {NULL, NULL, "root@own.test", "root@own.test", false}, true},
		{"own.test", {NULL, NULL, "root@own.test", "boss@own.test", false}, false},
		/* a name of its own */
		{"own.test", {NULL, NULL, "root@own.test", "boss@a.own.test", false}, true},
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct claim claim = {0};

		assert_int_equal(
			store_claim_read(temp->db, cases[i].name, &cases[i].sender, &claim, NULL),
			1);
		if (claim.exempt != cases[i].exempt)
			fail_msg("%zu: %s", i, cases[i].name);
	}
}

/* A domain that is not active for sending is not free for all. */
static void test_inactive(void **state)
{
	struct temp_db *temp = *state;
	struct domain domain;
	struct claim claim;

	assert_int_equal(store_domain_find(temp->db, "example.com", &domain, NULL), 1);
	assert_int_equal(temp_db_activate(temp->db, domain.id, false, NULL), 1);
	store_domain_clear(&domain);
	assert_int_equal(store_claim_read(temp->db, "a.example.com", &nobody, &claim, NULL), 1);
	assert_string_equal(claim.domain, "example.com");
}

/* What a company only asked for is free for all, as if it were not there. */
static void test_asked_for(void **state)
{
	static const char sql_company[] = "SELECT min(id) FROM company";
	struct temp_db *temp = *state;
	_cleanup_free_ char *company = temp_db_text(temp->db, sql_company);
	struct domain domain;
	struct claim claim;

	OK(store_domain_add(temp->db, company, "gmail.test",
		&(const struct domain){.pending = true}, 1, &domain, &why));
	assert_int_equal(store_claim_read(temp->db, "gmail.test", &nobody, &claim, NULL), 0);
	assert_int_equal(temp_db_activate(temp->db, domain.id, true, NULL), 1);
	assert_int_equal(store_claim_read(temp->db, "gmail.test", &nobody, &claim, NULL), 1);
	store_domain_clear(&domain);
}

static void test_broken(void **state)
{
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;
	struct claim claim;

	OK(db_exec(temp->db, "DROP TABLE exemption", &why));
	assert_int_equal(store_claim_read(temp->db, "example.com", &nobody, &claim, &err), -1);
	assert_int_not_equal(err.code, ERR_NONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(names),
		TEST(exemptions),
		TEST(exemptions_are_of_one_domain),
		TEST(inactive),
		TEST(asked_for),
		TEST(broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
