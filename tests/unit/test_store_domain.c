/*
 * store_domain: one owner for each name, and keys that go with their domain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/buf.h"
#include "core/store/company/store_domain.h"
#include "tests/unit/temp_db.h"

static void test_add_and_find(void **state)
{
	struct temp_db *temp = *state;
	struct temp_tenant tenant;
	struct domain added, found;

	temp_db_tenant(temp->db, "Acme", "example.com", &tenant);
	OK(store_domain_add(temp->db, tenant.company_id, "b.test",
		&(const struct domain){.active = false}, 77, &added, &why));
	assert_string_equal(added.company_id, tenant.company_id);
	assert_string_equal(added.name, "b.test");
	assert_false(added.active);
	assert_true(added.created_us == 77);

	assert_int_equal(store_domain_find(temp->db, "b.test", &found, NULL), 1);
	assert_string_equal(found.id, added.id);
	assert_string_equal(found.company_id, tenant.company_id);
	assert_string_equal(found.name, "b.test");
	assert_false(found.active);
	assert_true(found.created_us == 77);
	store_domain_clear(&found);
	store_domain_clear(&added);

	assert_int_equal(store_domain_find(temp->db, "example.com", &found, NULL), 1);
	assert_true(found.active);
	store_domain_clear(&found);
	assert_int_equal(store_domain_find(temp->db, "none.test", &found, NULL), 0);
	assert_null(found.name);
}

static void test_add_faults(void **state)
{
	static const char nowhere[] = "00000000-0000-4000-8000-000000000000";
	struct temp_db *temp = *state;
	struct temp_tenant one, other;
	struct domain domain = {0};
	struct err err = ERR_INIT;

	temp_db_tenant(temp->db, "One", "one.test", &one);
	temp_db_tenant(temp->db, "Other", "other.test", &other);
	assert_int_equal(store_domain_add(temp->db, other.company_id, "one.test",
				 &(const struct domain){.active = true}, 1, &domain, &err),
		-1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_non_null(strstr(err.text, "one.test"));
	assert_int_equal(store_domain_add(temp->db, nowhere, "new.test",
				 &(const struct domain){.active = true}, 1, &domain, &err),
		-1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, nowhere));
	assert_null(domain.name);
}

static void assert_domains(
	struct db *db, const char *company_id, const char *const *names, size_t n)
{
	struct domain_list list;

	FOUND(store_domain_list(db, company_id, false, WHOLE, &list, NULL, &why));
	assert_int_equal(list.n, n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(list.items[i].name, names[i]);
	store_domain_list_free(&list);
}

static void test_list(void **state)
{
	static const char *const names[] = {"a.test", "b.test", "c.test"};
	static const char *const of_other[] = {"b.test"};
	struct temp_db *temp = *state;
	struct temp_tenant one, other;
	struct domain domain;

	temp_db_tenant(temp->db, "One", "c.test", &one);
	temp_db_tenant(temp->db, "Other", "b.test", &other);
	OK(store_domain_add(temp->db, one.company_id, "a.test",
		&(const struct domain){.active = true}, 1, &domain, &why));
	store_domain_clear(&domain);
	assert_domains(temp->db, NULL, names, 3);
	assert_domains(temp->db, other.company_id, of_other, 1);
	assert_domains(temp->db, "none", NULL, 0);
}

static void test_set_active(void **state)
{
	struct temp_db *temp = *state;
	struct temp_tenant tenant;

	temp_db_tenant(temp->db, "Acme", "example.com", &tenant);
	for (int active = 0; active < 2; active++) {
		struct domain domain;

		assert_int_equal(temp_db_activate(temp->db, tenant.domain_id, active, NULL), 1);
		assert_int_equal(store_domain_find(temp->db, "example.com", &domain, NULL), 1);
		assert_int_equal(domain.active, active);
		store_domain_clear(&domain);
	}
}

static void ask(
	struct db *db, const struct temp_tenant *tenant, const char *name, char id[static ID_SIZE])
{
	struct domain domain;

	OK(store_domain_add(db, tenant->company_id, name, &(const struct domain){.pending = true},
		5, &domain, &why));
	assert_true(domain.pending);
	assert_false(domain.active);
	memcpy(id, domain.id, ID_SIZE);
	store_domain_clear(&domain);
}

/* Who finds what under the name: the registered one, and the company's own. */
static void assert_found(
	struct db *db, const struct temp_tenant *tenant, const char *name, int registered, int own)
{
	struct domain domain = {0};

	assert_int_equal(store_domain_find(db, name, &domain, NULL), registered);
	store_domain_clear(&domain);
	assert_int_equal(store_domain_find_own(db, tenant->company_id, name, &domain, NULL), own);
	store_domain_clear(&domain);
}

/* What a company only asked for belongs to it alone and stops nobody. */
static void test_ask(void **state)
{
	struct temp_db *temp = *state;
	char id[ID_SIZE], other_id[ID_SIZE];
	struct temp_tenant one, other;
	struct domain domain = {0};
	struct err err = ERR_INIT;

	temp_db_tenant(temp->db, "One", "one.test", &one);
	temp_db_tenant(temp->db, "Other", "other.test", &other);
	ask(temp->db, &one, "new.test", id);
	ask(temp->db, &other, "new.test", other_id);
	assert_found(temp->db, &one, "new.test", 0, 1);
	ask(temp->db, &other, "one.test", other_id);
	assert_found(temp->db, &other, "one.test", 1, 1);
	assert_int_equal(store_domain_add(temp->db, one.company_id, "new.test",
				 &(const struct domain){.pending = true}, 1, &domain, &err),
		-1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_int_equal(store_domain_add(temp->db, one.company_id, "one.test",
				 &(const struct domain){.pending = true}, 1, &domain, &err),
		-1);
	assert_int_equal(err.code, ERR_EXISTS);

	assert_int_equal(store_domain_get(temp->db, one.company_id, id, &domain, NULL), 1);
	assert_true(domain.pending);
	store_domain_clear(&domain);
	assert_int_equal(store_domain_get(temp->db, other.company_id, id, &domain, NULL), 0);
}

static void test_register_what_was_asked_for(void **state)
{
	struct temp_db *temp = *state;
	char id[ID_SIZE], other_id[ID_SIZE];
	struct temp_tenant one, other;
	struct err err = ERR_INIT;

	temp_db_tenant(temp->db, "One", "one.test", &one);
	temp_db_tenant(temp->db, "Other", "other.test", &other);
	ask(temp->db, &one, "new.test", id);
	ask(temp->db, &other, "new.test", other_id);
	assert_int_equal(temp_db_activate(temp->db, id, true, NULL), 1);
	assert_found(temp->db, &one, "new.test", 1, 1);
	assert_int_equal(temp_db_activate(temp->db, other_id, true, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_found(temp->db, &other, "new.test", 1, 1);
	assert_int_equal(store_domain_remove(temp->db, id, NULL), 1);
	assert_found(temp->db, &one, "new.test", 0, 0);
	assert_int_equal(temp_db_activate(temp->db, other_id, true, NULL), 1);
	assert_found(temp->db, &other, "new.test", 1, 1);
}

static void assert_rules(struct db *db, enum domain_policy policy, bool covers_subdomains)
{
	struct domain domain;

	assert_int_equal(store_domain_find(db, "example.com", &domain, NULL), 1);
	assert_int_equal(domain.policy, policy);
	assert_int_equal(domain.covers_subdomains, covers_subdomains);
	store_domain_clear(&domain);
}

static void test_rules(void **state)
{
	struct temp_db *temp = *state;
	struct temp_tenant tenant;

	temp_db_tenant(temp->db, "Acme", "example.com", &tenant);
	assert_rules(temp->db, POLICY_EXCLUSIVE, false);
	for (int i = POLICIES - 1; i >= 0; i--) {
		assert_int_equal(
			temp_db_policy(temp->db, "example.com", (enum domain_policy)i, NULL), 1);
		assert_int_equal(temp_db_subdomains(temp->db, "example.com", i & 1, NULL), 1);
		assert_rules(temp->db, (enum domain_policy)i, i & 1);
	}
}

static void cover(struct db *db, const struct temp_tenant *tenant)
{
	assert_int_equal(temp_db_subdomains(db, tenant->domain, true, NULL), 1);
}

static int is_covered(struct db *db, const struct temp_tenant *tenant, const char *name)
{
	struct domain domain = {.name = (char *)name};

	memcpy(domain.company_id, tenant->company_id, ID_SIZE);
	return store_domain_is_covered(db, &domain, NULL);
}

/* The nearest that covers a name says whose it is, active or not. */
static void test_covered(void **state)
{
	static const struct {
		const char *name;
		int of_one, of_other;
	} cases[] = {
		{"x.one.test", 0, 1},
		{"x.y.one.test", 0, 1},
		{"one.test", 0, 0},
		{"xone.test", 0, 0},
		{"test", 0, 0},
		{"sub.one.test", 0, 1},
		{"x.sub.one.test", 1, 0},
		{"x.lone.test", 0, 0},
	};
	struct temp_db *temp = *state;
	struct temp_tenant one, other, lone;
	char id[ID_SIZE];

	temp_db_tenant(temp->db, "One", "one.test", &one);
	temp_db_tenant(temp->db, "Other", "sub.one.test", &other);
	temp_db_tenant(temp->db, "Lone", "lone.test", &lone);
	ask(temp->db, &lone, "y.one.test", id);
	assert_int_equal(is_covered(temp->db, &other, "x.one.test"), 0);
	cover(temp->db, &one);
	cover(temp->db, &other);
	assert_int_equal(temp_db_activate(temp->db, one.domain_id, false, NULL), 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (is_covered(temp->db, &one, cases[i].name) != cases[i].of_one ||
			is_covered(temp->db, &other, cases[i].name) != cases[i].of_other)
			fail_msg("%s", cases[i].name);
}

static void test_policy_names(void **state)
{
	enum domain_policy policy = POLICY_LEARN;

	(void)state;
	assert_false(store_domain_policy_parse("", &policy));
	assert_false(store_domain_policy_parse("Shared", &policy));
	assert_int_equal(policy, POLICY_LEARN);
	for (int i = 0; i < POLICIES; i++) {
		assert_true(store_domain_policy_parse(
			store_domain_policy_name((enum domain_policy)i), &policy));
		assert_int_equal(policy, i);
	}
}

/* The page as the first letters of its names, a + when there are more; NULL for
 * a cursor that is none. */
static char *page_of(struct db *db, const struct domain_scope *scope, const struct page *page)
{
	struct buf out = BUF_INIT;
	struct domain_list list;
	bool more;
	int found = store_domain_page(db, scope, page, &list, &more, NULL);

	assert_true(found >= 0);
	if (found == 0)
		return NULL;
	for (size_t i = 0; i < list.n; i++)
		buf_add_char(&out, list.items[i].name[0]);
	buf_add_str(&out, more ? "+" : "");
	store_domain_list_free(&list);
	return buf_take(&out);
}

/* The names are a.test to e.test, the newest last; c and d are as old. x is
 * another company's. */
static const struct {
	const char *domain;
	int limit;
	char after, before;
	const char *page;
} pages[] = {
	{NULL, 9, 0, 0, "edcba"},
	{NULL, 5, 0, 0, "edcba"},
	{NULL, 4, 0, 0, "edcb+"},
	{NULL, 2, 'd', 0, "cb+"},
	{NULL, 2, 'b', 0, "a"},
	{NULL, 2, 'a', 0, ""},
	{NULL, 2, 0, 'a', "cb+"},
	{NULL, 2, 0, 'c', "ed"},
	{NULL, 2, 0, 'e', ""},
	{NULL, 2, 'x', 0, NULL},
	{"c.test", 9, 0, 0, "c"},
	{"c.test", 9, 'c', 0, ""},
	{"c.test", 9, 'b', 0, NULL},
};

static void add_at(struct db *db, const char *company_id, const char *name, int64_t created_us,
	char id[static ID_SIZE])
{
	struct domain domain;

	OK(store_domain_add(db, company_id, name, &(const struct domain){.active = true},
		created_us, &domain, &why));
	memcpy(id, domain.id, ID_SIZE);
	store_domain_clear(&domain);
}

static void test_pages(void **state)
{
	static const int64_t created[] = {5, 6, 7, 7, 9};
	struct temp_db *temp = *state;
	struct temp_tenant one, other;
	char ids[128][ID_SIZE] = {0};

	temp_db_tenant(temp->db, "Other", "x.test", &other);
	temp_db_tenant(temp->db, "One", "gone.test", &one);
	assert_int_equal(store_domain_remove(temp->db, one.domain_id, NULL), 1);
	memcpy(ids['x'], other.domain_id, ID_SIZE);
	for (int i = 0; i < 5; i++) {
		char name[] = {(char)('a' + i), '.', 't', 'e', 's', 't', 0};

		add_at(temp->db, one.company_id, name, created[i], ids['a' + i]);
	}
	/* What is as old stands in the order of the ids. */
	if (strcmp(ids['c'], ids['d']) > 0) {
		OK(db_exec(temp->db,
			"UPDATE domain SET name = 't' WHERE name = 'c.test';"
			"UPDATE domain SET name = 'c.test'"
			" WHERE name = 'd.test';"
			"UPDATE domain SET name = 'd.test' WHERE name = 't'",
			&why));
		memcpy(ids['t'], ids['c'], ID_SIZE);
		memcpy(ids['c'], ids['d'], ID_SIZE);
		memcpy(ids['d'], ids['t'], ID_SIZE);
	}
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		const struct domain_scope scope = {one.company_id, pages[i].domain};
		struct page page = {.limit = pages[i].limit};
		_cleanup_free_ char *got = NULL;

		strcpy(page.after, ids[(int)pages[i].after]);
		strcpy(page.before, ids[(int)pages[i].before]);
		got = page_of(temp->db, &scope, &page);
		if ((got == NULL) != (pages[i].page == NULL) ||
			(got && strcmp(got, pages[i].page) != 0))
			fail_msg("%zu: %s", i, got ? got : "no cursor");
	}
}

/* A key that was restricted to a domain must not outlive it as one that is
 * restricted to none, nor come back with the next owner of the name. */
static void test_remove_takes_keys_along(void **state)
{
	struct temp_db *temp = *state;
	const struct key_spec spec = {.domain = "example.com", .scopes = KEY_SENDING};
	struct temp_tenant tenant;
	struct domain domain;
	struct key key;
	uint8_t hash[SECRET_HASH_LEN];

	temp_db_tenant(temp->db, "Acme", "example.com", &tenant);
	temp_db_key(temp->db, &tenant, "narrow", &spec, &key);
	store_key_clear(&key);
	secret_hash("narrow", 6, hash);
	assert_int_equal(store_key_find(temp->db, hash, &key, NULL), 1);
	store_key_clear(&key);

	assert_int_equal(store_domain_remove(temp->db, tenant.domain_id, NULL), 1);
	assert_int_equal(store_domain_remove(temp->db, tenant.domain_id, NULL), 0);
	assert_int_equal(store_key_find(temp->db, hash, &key, NULL), 0);
	assert_int_equal(store_key_find(temp->db, tenant.hash, &key, NULL), 1);
	store_key_clear(&key);

	OK(store_domain_add(temp->db, tenant.company_id, "example.com",
		&(const struct domain){.active = true}, 1, &domain, &why));
	store_domain_clear(&domain);
	assert_int_equal(store_key_find(temp->db, hash, &key, NULL), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, temp_db_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(add_and_find),
		TEST(add_faults),
		TEST(list),
		TEST(pages),
		TEST(set_active),
		TEST(rules),
		TEST(covered),
		TEST(policy_names),
		TEST(ask),
		TEST(register_what_was_asked_for),
		TEST(remove_takes_keys_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
