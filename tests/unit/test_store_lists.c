/*
 * Lists of any length: pages that follow each other, searches, limits of what a
 * company may have, and the removal in steps of what belongs to something.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/store_audit.h"
#include "core/store/company/store_company.h"
#include "core/store/company/store_domain.h"
#include "core/store/company/store_exemption.h"
#include "core/store/company/store_limit.h"
#include "core/store/user/store_session.h"
#include "core/store/user/store_user.h"
#include "tests/unit/temp_db.h"

enum { MANY = 1000, CHUNK = 100 };

/* A chunk of the numbers up to MANY. */
static const char sql_numbers[] =
	"DELETE FROM n;"
	"WITH RECURSIVE number (i) AS"
	" (SELECT %d UNION ALL SELECT i + 1 FROM number WHERE i < %d)"
	" INSERT INTO n SELECT i FROM number";

/* MANY of each kind for the tenant: keys, half of them restricted to its domain
 * and a tenth revoked, exemptions, domains that are asked for, and users with a
 * token. A chunk at a time: a server keeps all versions that one transaction makes of a count. */
static const char sql_many[] =
	"INSERT INTO api_key (id, company_id, domain_id, name, hash, scopes,"
	" created_us, revoked_us) SELECT printf('key-%06d', i), c.id,"
	" CASE i % 2 WHEN 0 THEN d.id END, 'Key ' || i,"
	" CAST(printf('%032d', i) AS BLOB), 1, i / 3, CASE i % 10 WHEN 0 THEN i ELSE 0 END"
	" FROM n, company c JOIN domain d ON d.company_id = c.id"
	" WHERE d.name = 'acme.test';"
	"INSERT INTO exemption (id, company_id, domain_id, kind, value,"
	" created_us) SELECT printf('exempt-%06d', i), d.company_id, d.id,"
	" 'login', 'user' || i, i / 3"
	" FROM n, domain d WHERE d.name = 'acme.test';"
	"INSERT INTO domain (id, company_id, name, active, pending, created_us)"
	" SELECT printf('domain-%06d', i), c.id, printf('d%04d.test', i), 0, "
	"1, i"
	" FROM n, company c WHERE c.name = 'Acme';"
	"INSERT INTO admin_user (id, company_id, login, role, created_us)"
	" SELECT printf('user-%06d', i), c.id, 'login' || i, 'owner', i"
	" FROM n, company c WHERE c.name = 'Acme';"
	"INSERT INTO admin_session (id, user_id, company_id, kind, hash, name,"
	" origin, created_us, expires_us, last_used_us)"
	" SELECT printf('token-%06d', i), printf('user-%06d', i), c.id, "
	"'token',"
	" CAST(printf('%032d', i) AS BLOB), 'Token', '', i / 3, 0, 0"
	" FROM n, company c WHERE c.name = 'Acme';";

static int setup(void **state)
{
	struct temp_tenant *tenants = mem_alloc(2, sizeof(*tenants));
	struct temp_db *temp;

	if (temp_db_setup(state) != 0)
		return -1;
	temp = *state;
	temp->more = tenants;
	temp_db_tenant(temp->db, "Acme", "acme.test", &tenants[0]);
	temp_db_tenant(temp->db, "Other", "other.test", &tenants[1]);
	OK(db_exec(temp->db, "CREATE TEMP TABLE n (i BIGINT)", &why));
	for (int done = 0; done < MANY; done += CHUNK) {
		_cleanup_free_ char *numbers = mem_printf(sql_numbers, done + 1, done + CHUNK);

		OK(db_exec(temp->db, numbers, &why));
		OK(db_exec(temp->db, sql_many, &why));
	}
	return 0;
}

static int64_t number(struct db *db, const char *sql)
{
	return temp_db_number(db, sql);
}

/* Walks along all pages of a list; `get` gives the id of each item of one. */
struct walk {
	struct page page;
	struct page_end end;
	size_t n;     /* items so far */
	size_t pages; /* and pages */
};

static void go_on(struct walk *walk, const char *const *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_string_not_equal(ids[i], walk->page.after);
		strcpy(walk->page.after, ids[i]);
	}
	if (walk->end.next[0])
		strcpy(walk->page.after, walk->end.next);
	walk->n += n;
	walk->pages++;
	assert_true(walk->pages < 200);
}

#define WALK(walk, list_type, list_call, type)                                                     \
	do {                                                                                       \
		struct list_type list;                                                             \
		const char *ids[100];                                                              \
		FOUND(list_call);                                                                  \
		assert_true(list.n <= 100);                                                        \
		for (size_t k = 0; k < list.n; k++)                                                \
			ids[k] = list.items[k].id;                                                 \
		go_on(&(walk), ids, list.n);                                                       \
		row_list_free(&(type), list.items, list.n);                                        \
	} while ((walk).end.more || (walk).end.next[0])

static void test_pages(void **state)
{
	struct temp_db *temp = *state;
	const struct temp_tenant *tenant = temp->more;
	const char *const companies[] = {NULL, tenant->company_id};

	for (size_t c = 0; c < ARRAY_SIZE(companies); c++) {
		const char *company = companies[c];
		const struct key_filter all = {.company_id = company};
		const struct key_filter valid = {.company_id = company, .valid_only = true};
		/* Of all companies there is one more of most. */
		size_t others = company == NULL;
		struct walk walks[6];

		for (size_t i = 0; i < ARRAY_SIZE(walks); i++)
			walks[i] = (struct walk){.page = {.limit = 99}};
		WALK(walks[0], key_list,
			store_key_list(temp->db, &all, &walks[0].page, &list, &walks[0].end, &why),
			store_key_type);
		assert_int_equal(walks[0].n, MANY + 1 + others);
		WALK(walks[1], key_list,
			store_key_list(
				temp->db, &valid, &walks[1].page, &list, &walks[1].end, &why),
			store_key_type);
		assert_int_equal(walks[1].n, MANY - MANY / 10 + 1 + others);
		WALK(walks[2], domain_list,
			store_domain_list(temp->db, company, false, &walks[2].page, &list,
				&walks[2].end, &why),
			store_domain_type);
		assert_int_equal(walks[2].n, MANY + 1 + others);
		WALK(walks[3], exemption_list,
			store_exemption_list(temp->db, company, NULL, &walks[3].page, &list,
				&walks[3].end, &why),
			store_exemption_type);
		assert_int_equal(walks[3].n, MANY);
		WALK(walks[4], user_list,
			store_user_list(
				temp->db, company, &walks[4].page, &list, &walks[4].end, &why),
			store_user_type);
		assert_int_equal(walks[4].n, MANY);
		WALK(walks[5], session_list,
			store_session_list_tokens(
				temp->db, company, &walks[5].page, &list, &walks[5].end, &why),
			store_token_type);
		assert_int_equal(walks[5].n, MANY);
	}
}

/* Behind what is not of the list there is nothing, also of another company. */
static void test_cursor_of_others(void **state)
{
	struct temp_db *temp = *state;
	const struct temp_tenant *tenants = temp->more;
	const struct key_filter keys = {.company_id = tenants[1].company_id};
	struct page page = {.limit = 10};
	struct domain_list domains;
	struct key_list list;

	strcpy(page.after, tenants[0].key_id);
	assert_int_equal(store_key_list(temp->db, &keys, &page, &list, NULL, NULL), 0);
	strcpy(page.after, tenants[0].domain_id);
	assert_int_equal(store_domain_list(temp->db, tenants[1].company_id, false, &page, &domains,
				 NULL, NULL),
		0);
}

static void test_search(void **state)
{
	static const struct {
		const char *search;
		size_t n;
	} cases[] = {
		{"key 77", 12}, /* 77, 177, ..., 770 to 779, but 770 twice */
		{"ACME.TEST key 778", 1},
		{"key-000778", 1}, /* an id */
		{"nobody's", 0},
		{"", MANY + 1},
		{"   ", MANY + 1},
	};
	struct temp_db *temp = *state;
	const struct temp_tenant *tenant = temp->more;
	const struct key_filter filter = {.company_id = tenant->company_id};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct walk walk = {.page = {.limit = 100, .search = cases[i].search}};

		WALK(walk, key_list,
			store_key_list(temp->db, &filter, &walk.page, &list, &walk.end, &why),
			store_key_type);
		if (i == 0)
			assert_true(walk.n >= 12 && walk.n < 30);
		else
			assert_int_equal(walk.n, cases[i].n);
	}
}

/* A search looks at so many rows for a page, and says where it stopped. */
static void test_search_is_bounded(void **state)
{
	static const char sql_more[] =
		"INSERT INTO exemption (id, company_id, domain_id, kind, value,"
		" created_us) SELECT printf('more-%%06d', %d + n.i),"
		" d.company_id, d.id, 'login', 'more' || (%d + n.i), 9"
		" FROM n, domain d WHERE d.name = 'other.test'";
	struct temp_db *temp = *state;
	struct walk walk = {.page = {.limit = 100, .search = "user1000"}};

	for (int i = 0; i < 5 * MANY; i += CHUNK) {
		_cleanup_free_ char *sql = mem_printf(sql_more, i, i);

		OK(db_exec(temp->db, sql, &why));
	}
	WALK(walk, exemption_list,
		store_exemption_list(temp->db, NULL, NULL, &walk.page, &list, &walk.end, &why),
		store_exemption_type);
	assert_int_equal(walk.n, 1);
	assert_int_equal(walk.pages, 1 + 5 * MANY / PAGE_LOOK);
}

static int64_t entries(struct db *db, const char *sql)
{
	return number(db, sql);
}

/* Interrupted after any step, what is left can be removed; each is written down
 * once. */
static void test_domain_goes_in_steps(void **state)
{
	struct temp_db *temp = *state;
	const struct temp_tenant *tenant = temp->more;
	struct domain domain;
	int steps = 0, result;

	while ((result = store_domain_remove(temp->db, tenant->domain_id, NULL)) == STORE_MORE) {
		steps++;
		assert_int_equal(number(temp->db,
					 "SELECT count(*) FROM api_key k"
					 " WHERE k.domain_id IS NOT NULL"
					 " AND k.company_id = (SELECT id"
					 " FROM company WHERE name = 'Acme')") +
					 number(temp->db,
						 "SELECT count(*)"
						 " FROM exemption"),
			MANY / 2 + MANY - steps * STORE_REMOVE_STEP);
		FOUND(store_domain_get(temp->db, NULL, tenant->domain_id, &domain, &why));
		store_domain_clear(&domain);
	}
	assert_int_equal(result, 1);
	assert_int_equal(steps, (MANY / 2 + MANY) / STORE_REMOVE_STEP);
	assert_int_equal(store_domain_remove(temp->db, tenant->domain_id, NULL), 0);
	assert_int_equal(entries(temp->db,
				 "SELECT count(*) FROM audit"
				 " WHERE action = 'domain.remove'"),
		1);
	assert_int_equal(entries(temp->db,
				 "SELECT count(DISTINCT object_id)"
				 " FROM audit"
				 " WHERE action = 'key.remove'"),
		MANY / 2);
	assert_int_equal(entries(temp->db,
				 "SELECT count(*) FROM audit"
				 " WHERE action = 'key.remove'"),
		MANY / 2);
	/* The company's other keys stay. */
	assert_int_equal(number(temp->db,
				 "SELECT count(*) FROM api_key"
				 " WHERE id LIKE 'key-%'"),
		MANY / 2);
}

static void test_company_goes_in_steps(void **state)
{
	static const char *const tables[] = {"SELECT count(*) FROM api_key",
		"SELECT count(*) FROM domain", "SELECT count(*) FROM company"};
	struct temp_db *temp = *state;
	const struct temp_tenant *tenant = temp->more;
	int steps = 0, result;

	while ((result = store_company_remove(temp->db, tenant->company_id, NULL)) == STORE_MORE)
		steps++;
	assert_int_equal(result, 1);
	assert_true(steps >= 4 * MANY / STORE_REMOVE_STEP);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		assert_int_equal(number(temp->db, tables[i]), 1);
	assert_int_equal(number(temp->db, "SELECT count(*) FROM exemption"), 0);
	assert_int_equal(number(temp->db, "SELECT count(*) FROM admin_user"), 0);
	assert_int_equal(number(temp->db, "SELECT count(*) FROM admin_session"), 0);
	assert_int_equal(entries(temp->db,
				 "SELECT count(*) FROM audit"
				 " WHERE action = 'company.remove'"),
		1);
	assert_int_equal(entries(temp->db,
				 "SELECT count(*) FROM audit"
				 " WHERE action = 'user.remove'"),
		MANY);
}

static void test_limits(void **state)
{
	static const struct {
		enum store_limit limit;
		int64_t has;
		const char *setting;
	} cases[] = {
		{LIMIT_KEYS, MANY - MANY / 10 + 1, "limits.keys"},
		{LIMIT_DOMAINS, 1, "limits.domains"},
		{LIMIT_PENDING_DOMAINS, MANY, "limits.pending_domains"},
		{LIMIT_EXEMPTIONS, MANY, "limits.exemptions"},
		{LIMIT_USERS, MANY, "limits.users"},
	};
	static const char sql_wrong[] =
		"SELECT count(*) FROM company_count c WHERE count <>"
		" CASE kind WHEN 'keys' THEN (SELECT count(*) FROM api_key k"
		"   WHERE k.company_id = c.company_id AND k.revoked_us = 0)"
		" WHEN 'domains' THEN (SELECT count(*) FROM domain d"
		"   WHERE d.company_id = c.company_id AND d.pending = 0)"
		" WHEN 'pending_domains' THEN (SELECT count(*) FROM domain d"
		"   WHERE d.company_id = c.company_id AND d.pending = 1)"
		" WHEN 'exemptions' THEN (SELECT count(*) FROM exemption x"
		"   WHERE x.company_id = c.company_id)"
		" WHEN 'users' THEN (SELECT count(*) FROM admin_user u"
		"   WHERE u.company_id = c.company_id) END";
	struct temp_db *temp = *state;
	const struct temp_tenant *tenant = temp->more;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;

		OK(store_limit_check(
			temp->db, cases[i].limit, tenant->company_id, cases[i].has, &why));
		assert_int_equal(store_limit_check(temp->db, cases[i].limit, tenant->company_id,
					 cases[i].has - 1, &err),
			-1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_non_null(strstr(err.text, cases[i].setting));
	}
	OK(store_limit_check(temp->db, LIMIT_TOKENS, "user-000001", 1, &why));
	assert_int_equal(store_limit_check(temp->db, LIMIT_TOKENS, "user-000001", 0, NULL), -1);
	/* What goes makes room. */
	OK(db_exec(temp->db,
		"UPDATE api_key SET revoked_us = 1 WHERE id IN"
		" (SELECT id FROM api_key WHERE revoked_us = 0 LIMIT 2);"
		"DELETE FROM api_key WHERE id IN (SELECT id FROM api_key LIMIT 5);"
		"UPDATE domain SET pending = 0 WHERE id IN"
		" (SELECT id FROM domain WHERE pending = 1 LIMIT 3);"
		"DELETE FROM domain WHERE id IN (SELECT id FROM domain WHERE pending = 1 LIMIT 1);"
		"DELETE FROM admin_user WHERE id IN (SELECT id FROM admin_user LIMIT 4)",
		&why));
	assert_int_equal(temp_db_number(temp->db, sql_wrong), 0);
	OK(store_limit_check(temp->db, LIMIT_DOMAINS, tenant->company_id, 4, &why));
}

/* The revoked keys that are remembered are those that were revoked last. */
static void test_revoked_keys_give_way(void **state)
{
	struct temp_db *temp = *state;
	const struct temp_tenant *tenant = temp->more;

	for (int i = 0; i < 20; i++)
		OK(store_key_forget_revoked(temp->db, tenant->company_id, 30, &why));
	assert_int_equal(number(temp->db,
				 "SELECT count(*) FROM api_key"
				 " WHERE revoked_us > 0"),
		30);
	assert_int_equal(number(temp->db,
				 "SELECT min(revoked_us) FROM api_key"
				 " WHERE revoked_us > 0"),
		710);
	assert_int_equal(entries(temp->db,
				 "SELECT count(*) FROM audit"
				 " WHERE action = 'key.remove'"),
		70);
}

int main(void)
{
#define OWN_TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		/* One database for those that remove nothing, and last for the one that removes
		 * some. */
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_cursor_of_others),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_search_is_bounded),
		cmocka_unit_test(test_limits),
		OWN_TEST(domain_goes_in_steps),
		OWN_TEST(company_goes_in_steps),
		OWN_TEST(revoked_keys_give_way),
	};

	return cmocka_run_group_tests(tests, setup, temp_db_teardown);
}
