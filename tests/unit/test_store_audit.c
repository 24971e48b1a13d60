/*
 * store_audit: an entry for every change, in its transaction.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "core/base/str.h"
#include "core/db/committer.h"
#include "core/store/store_audit.h"
#include "core/store/company/store_company.h"
#include "core/store/company/store_domain.h"
#include "core/store/company/store_exemption.h"
#include "core/store/company/store_key.h"
#include "tests/unit/temp_db.h"

static const struct db_actor ann = {"user", "id of ann", "ann", "192.0.2.1", false};

static int64_t count(struct db *db)
{
	return temp_db_number(db, "SELECT count(*) FROM audit");
}

/* The newest entries, the newest first. */
static void read_all(struct db *db, struct audit_list *list_r)
{
	const struct audit_scope all = {0};
	const struct page page = {.limit = 100};
	struct page_end end;

	assert_int_equal(store_audit_page(db, &all, &page, list_r, &end, NULL), 1);
}

/* The member of an object of JSON as text; fails without. A new string. */
static char *member(const char *object, const char *name)
{
	json_t *json = object ? json_loads(object, 0, NULL) : NULL;
	json_t *value = json_object_get(json, name);
	char *text;

	if (value == NULL)
		fail_msg("no %s in %s", name, object ? object : "NULL");
	text = json_is_string(value) ? mem_strdup(json_string_value(value))
				     : json_dumps(value, JSON_ENCODE_ANY);
	json_decref(json);
	return text;
}

/* The last entry: what, of which object, and one column before and after; NULL
 * for an object that was not there. */
static void assert_last(struct db *db, const char *action, const char *id, const char *column,
	const char *before, const char *after)
{
	struct audit_list list;
	const struct audit *last;

	read_all(db, &list);
	assert_true(list.n > 0);
	last = &list.items[0];
	assert_string_equal(last->action, action);
	assert_string_equal(last->object_id, id);
	assert_string_equal(last->actor, "user");
	assert_string_equal(last->actor_id, ann.id);
	assert_string_equal(last->actor_name, ann.name);
	assert_string_equal(last->origin, ann.origin);
	assert_true(last->at_us > 0);
	if (before) {
		_cleanup_free_ char *text = member(last->before, column);

		assert_string_equal(text, before);
	} else {
		assert_null(last->before);
	}
	if (after) {
		_cleanup_free_ char *text = member(last->after, column);

		assert_string_equal(text, after);
	} else {
		assert_null(last->after);
	}
	row_list_free(&store_audit_type, list.items, list.n);
}

static void test_every_change(void **state)
{
	struct temp_db *temp = *state;
	struct db *db = temp->db;
	struct key_range range;
	struct company company;
	struct domain domain, asked;
	struct exemption exemption;
	struct key key;
	const uint8_t hash[SECRET_HASH_LEN] = {1}, other[SECRET_HASH_LEN] = {2};

	db_set_actor(db, &ann);
	OK(store_company_add(db, "Acme \"&\" Söhne", 1, &company, &why));
	assert_last(db, "company.add", company.id, "name", NULL, "Acme \"&\" Söhne");

	OK(store_domain_add(db, company.id, "b.example", &(const struct domain){.pending = true}, 1,
		&asked, &why));
	assert_last(db, "domain.ask", asked.id, "pending", NULL, "true");
	assert_int_equal(temp_db_activate(db, asked.id, true, NULL), 1);
	assert_last(db, "domain.register", asked.id, "pending", "true", "false");
	OK(store_domain_add(db, company.id, "a.example", &(const struct domain){.active = true}, 1,
		&domain, &why));
	assert_last(db, "domain.add", domain.id, "name", NULL, "a.example");
	assert_int_equal(temp_db_activate(db, domain.id, false, NULL), 1);
	assert_last(db, "domain.deactivate", domain.id, "active", "true", "false");
	assert_int_equal(temp_db_activate(db, domain.id, true, NULL), 1);
	assert_last(db, "domain.activate", domain.id, "active", "false", "true");
	assert_int_equal(temp_db_policy(db, "a.example", POLICY_LEARN, NULL), 1);
	assert_last(db, "domain.set", domain.id, "policy", "exclusive", "learn");
	assert_int_equal(temp_db_subdomains(db, "a.example", true, NULL), 1);
	assert_last(db, "domain.set", domain.id, "subdomains", "own", "covered");

	OK(store_exemption_add(db,
		&(struct exemption_spec){"a.example", EXEMPT_LOGIN, "joe", false}, 1, &exemption,
		&why));
	assert_last(db, "exemption.add", exemption.id, "value", NULL, "joe");
	assert_int_equal(store_exemption_remove(db, exemption.id, NULL), 1);
	assert_last(db, "exemption.remove", exemption.id, "domain", "a.example", NULL);
	store_exemption_clear(&exemption);

	OK(store_key_create(db, &(struct key_spec){company.id, "a.example", "k", KEY_SENDING}, hash,
		1, &key, &why));
	assert_last(db, "key.create", key.id, "domain", NULL, "a.example");
	range = (struct key_range){company.id, NULL};
	assert_int_equal(store_key_rename(db, &range, key.id, "new", NULL), 1);
	assert_last(db, "key.rename", key.id, "name", "k", "new");
	assert_int_equal(store_key_revoke(db, &(const struct key_range){0}, key.id, 7, NULL), 1);
	assert_last(db, "key.revoke", key.id, "revoked_us", "0", "7");
	store_key_clear(&key);
	OK(store_key_create(
		db, &(struct key_spec){company.id, NULL, "l", KEY_SENDING}, other, 1, &key, &why));
	assert_int_equal(store_key_revoke(db, &range, key.id, 8, NULL), 1);
	assert_last(db, "key.revoke", key.id, "revoked_us", "0", "8");
	store_key_clear(&key);

	assert_int_equal(store_domain_remove(db, domain.id, NULL), 1);
	assert_last(db, "domain.remove", domain.id, "name", "a.example", NULL);
	assert_int_equal(store_company_remove(db, company.id, NULL), 1);
	assert_last(db, "company.remove", company.id, "name", "Acme \"&\" Söhne", NULL);
	store_domain_clear(&domain);
	store_domain_clear(&asked);
	store_company_clear(&company);
	assert_int_equal(temp_db_number(db,
				 "SELECT count(*) FROM audit"
				 " WHERE company_id IS NULL"),
		0);
}

/* What changes nothing, or fails, leaves no entry. */
static void test_no_change(void **state)
{
	struct temp_db *temp = *state;
	struct db *db = temp->db;
	struct temp_tenant tenant;
	struct key_range other = {"none", NULL};
	struct company company;
	struct domain domain;
	int64_t before;

	temp_db_tenant(db, "Acme", "a.example", &tenant);
	before = count(db);
	assert_int_equal(temp_db_policy(db, "a.example", POLICY_EXCLUSIVE, NULL), 1);
	assert_int_equal(temp_db_activate(db, tenant.domain_id, true, NULL), 1);
	assert_int_equal(store_domain_remove(db, "none", NULL), 0);
	assert_int_equal(store_key_revoke(db, &(const struct key_range){0}, "none", 1, NULL), 0);
	assert_int_equal(store_key_revoke(db, &other, tenant.key_id, 1, NULL), 0);
	assert_int_equal(store_key_rename(db, &other, tenant.key_id, "x", NULL), 0);
	assert_int_equal(store_exemption_remove(db, "none", NULL), 0);
	assert_int_equal(store_company_remove(db, "none", NULL), 0);
	assert_int_equal(store_company_add(db, "Acme", 1, &company, NULL), -1);
	assert_int_equal(store_domain_add(db, tenant.company_id, "a.example",
				 &(const struct domain){.active = true}, 1, &domain, NULL),
		-1);
	assert_int_equal(count(db), before);

	assert_int_equal(
		store_key_revoke(db, &(const struct key_range){0}, tenant.key_id, 5, NULL), 1);
	assert_int_equal(
		store_key_revoke(db, &(const struct key_range){0}, tenant.key_id, 6, NULL), 0);
	assert_int_equal(count(db), before + 1);
}

/* What goes with a domain or a company is written down too. */
static void test_cascades(void **state)
{
	struct temp_db *temp = *state;
	struct db *db = temp->db;
	struct temp_tenant tenant, stays;
	struct exemption exemption;
	struct key key;

	temp_db_tenant(db, "Acme", "a.example", &tenant);
	temp_db_tenant(db, "Stays", "s.example", &stays);
	temp_db_key(db, &tenant, "bound",
		&(struct key_spec){tenant.company_id, "a.example", "bound", KEY_SENDING}, &key);
	OK(store_exemption_add(db,
		&(struct exemption_spec){"a.example", EXEMPT_LOGIN, "joe", false}, 1, &exemption,
		&why));
	assert_int_equal(store_domain_remove(db, tenant.domain_id, NULL), 1);
	assert_int_equal(temp_db_number(db,
				 "SELECT count(*) FROM audit"
				 " WHERE before IS NOT NULL"
				 " AND after IS NULL"
				 " AND action IN ('domain.remove',"
				 " 'key.remove', 'exemption.remove')"),
		3);
	store_exemption_clear(&exemption);
	store_key_clear(&key);

	assert_int_equal(store_company_remove(db, stays.company_id, NULL), 1);
	assert_int_equal(temp_db_number(db,
				 "SELECT count(*) FROM audit"
				 " WHERE after IS NULL"),
		3 + 3);
	/* The other company's key is still there. */
	assert_int_equal(temp_db_number(db, "SELECT count(*) FROM api_key"), 1);
}

/* The entry is undone with its change. */
static void test_rolled_back(void **state)
{
	struct temp_db *temp = *state;
	struct company company;

	OK(db_begin(temp->db, &why));
	OK(store_company_add(temp->db, "Acme", 1, &company, &why));
	assert_int_equal(count(temp->db), 1);
	db_rollback(temp->db);
	assert_int_equal(count(temp->db), 0);
	store_company_clear(&company);
}

/* A change whose entry cannot be written is not made. */
static void test_no_entry_no_change(void **state)
{
	struct temp_db *temp = *state;
	struct temp_tenant tenant;
	struct company company;
	struct err err = ERR_INIT;

	temp_db_tenant(temp->db, "Acme", "a.example", &tenant);
	temp_db_forbid(temp->db, "INSERT", "audit");
	assert_int_equal(store_company_add(temp->db, "Other", 1, &company, &err), -1);
	assert_int_equal(temp_db_activate(temp->db, tenant.domain_id, false, NULL), -1);
	assert_int_equal(store_company_remove(temp->db, tenant.company_id, NULL), -1);
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM company"), 1);
	assert_int_equal(temp_db_number(temp->db, "SELECT active FROM domain"), 1);
}

struct add_job {
	struct commit_job job;
	const char *name;
};

static int run_add(struct db *db, void *arg, struct err *err)
{
	struct add_job *add = arg;
	struct company company;

	if (store_company_add(db, add->name, 1, &company, err) < 0)
		return -1;
	store_company_clear(&company);
	return 0;
}

static void ignore(void *arg, int result, const struct err *err)
{
	(void)arg;
	(void)err;
	assert_int_equal(result, 0);
}

/* Each job writes in its own name, and the next one not in that of the last. */
static void test_actor_of_job(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(committer) struct committer *committer = committer_new_inline(temp->db);
	struct add_job one = {
		.job = {.run = run_add, .done = ignore, .arg = &one, .actor = &ann}, .name = "one"};
	struct add_job two = {.job = {.run = run_add, .done = ignore, .arg = &two}, .name = "two"};
	struct audit_list list;

	committer_submit(committer, &one.job);
	committer_submit(committer, &two.job);
	read_all(temp->db, &list);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.items[1].actor_name, "ann");
	assert_string_equal(list.items[0].actor, "system");
	assert_string_equal(list.items[0].actor_name, "");
	row_list_free(&store_audit_type, list.items, list.n);
}

/* What changes no object, in the name of whoever did it. */
static void test_action(void **state)
{
	struct temp_db *temp = *state;
	const struct audit_action action = {.company_id = "c",
		.action = "email.test",
		.object_id = "key",
		.object_name = "shop",
		.after = json_pack("{s:s}", "to", "a@b.test")};
	struct audit_list list;

	db_set_actor(temp->db, &ann);
	OK(store_audit_add(temp->db, &action, &why));
	read_all(temp->db, &list);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.items[0].action, "email.test");
	assert_string_equal(list.items[0].company_id, "c");
	assert_string_equal(list.items[0].object_id, "key");
	assert_string_equal(list.items[0].actor_name, "ann");
	assert_string_equal(list.items[0].after, "{\"to\":\"a@b.test\"}");
	assert_null(list.items[0].before);
	row_list_free(&store_audit_type, list.items, list.n);
}

/* A member is told of operators that it was one. */
static void test_operators(void **state)
{
	static const struct db_actor root = {"command", "0", "root", "ssh from ::1", true};
	struct temp_db *temp = *state;
	const struct db_actor *const actors[] = {&root, &ann};
	struct audit_scope scope = {.company_id = "c"};
	const struct page page = {.limit = 10};
	struct audit_list list;
	struct page_end end;

	for (size_t i = 0; i < 2; i++) {
		const struct audit_action action = {.company_id = "c",
			.action = "token.create",
			.object_id = "t",
			.object_name = "t",
			.after = json_pack("{s:s, s:s}", "name", "t", "origin", "::1")};

		db_set_actor(temp->db, actors[i]);
		OK(store_audit_add(temp->db, &action, &why));
	}
	for (size_t i = 0; i < 2; i++) {
		const char *const name = i ? "" : "root";

		scope.of_member = i;
		assert_int_equal(store_audit_page(temp->db, &scope, &page, &list, &end, NULL), 1);
		assert_int_equal(list.n, 2);
		assert_string_equal(list.items[1].actor, i ? "operator" : "command");
		assert_string_equal(list.items[1].actor_name, name);
		assert_string_equal(list.items[1].actor_id, i ? "" : "0");
		assert_string_equal(list.items[1].origin, i ? "" : root.origin);
		assert_true((strstr(list.items[1].after, "::1") == NULL) == (bool)i);
		assert_string_equal(list.items[0].actor_name, "ann");
		assert_string_equal(list.items[0].origin, ann.origin);
		row_list_free(&store_audit_type, list.items, list.n);
		/* Nor can the name be guessed. */
		scope.actor = "root";
		assert_int_equal(store_audit_page(temp->db, &scope, &page, &list, &end, NULL), 1);
		assert_int_equal(list.n, i ? 0 : 1);
		row_list_free(&store_audit_type, list.items, list.n);
		scope.actor = NULL;
	}
}

/* Whom an entry is shown, and in which pages. */
static void test_pages(void **state)
{
	struct temp_db *temp = *state;
	struct temp_tenant a, b;
	struct audit_scope scope = {0};
	struct page page = {.limit = 2};
	struct audit_list list;
	struct page_end end;

	temp_db_tenant(temp->db, "A", "a.example", &a);
	temp_db_tenant(temp->db, "B", "b.example", &b);
	/* Company, domain and key of each. */
	assert_int_equal(count(temp->db), 6);
	scope.company_id = a.company_id;
	assert_int_equal(store_audit_page(temp->db, &scope, &page, &list, &end, NULL), 1);
	assert_int_equal(list.n, 2);
	assert_true(end.more);
	assert_string_equal(list.items[0].action, "key.create");
	assert_string_equal(list.items[1].action, "domain.add");
	strcpy(page.after, list.items[1].id);
	row_list_free(&store_audit_type, list.items, list.n);
	assert_int_equal(store_audit_page(temp->db, &scope, &page, &list, &end, NULL), 1);
	assert_int_equal(list.n, 1);
	assert_false(end.more);
	assert_string_equal(list.items[0].action, "company.add");
	strcpy(page.before, list.items[0].id);
	page.after[0] = '\0';
	row_list_free(&store_audit_type, list.items, list.n);
	assert_int_equal(store_audit_page(temp->db, &scope, &page, &list, &end, NULL), 1);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.items[0].action, "key.create");
	row_list_free(&store_audit_type, list.items, list.n);

	/* The cursor of another company is none. */
	scope.company_id = b.company_id;
	assert_int_equal(store_audit_page(temp->db, &scope, &page, &list, &end, NULL), 0);

	page = (struct page){.limit = 10};
	scope = (struct audit_scope){.object = "a.example"};
	assert_int_equal(store_audit_page(temp->db, &scope, &page, &list, &end, NULL), 1);
	assert_int_equal(list.n, 1);
	row_list_free(&store_audit_type, list.items, list.n);
	scope = (struct audit_scope){.object = b.domain_id};
	assert_int_equal(store_audit_page(temp->db, &scope, &page, &list, &end, NULL), 1);
	assert_int_equal(list.n, 1);
	row_list_free(&store_audit_type, list.items, list.n);
	scope = (struct audit_scope){.action = "domain"};
	assert_int_equal(store_audit_page(temp->db, &scope, &page, &list, &end, NULL), 1);
	assert_int_equal(list.n, 2);
	row_list_free(&store_audit_type, list.items, list.n);
	scope = (struct audit_scope){.action = "domain.ad"};
	assert_int_equal(store_audit_page(temp->db, &scope, &page, &list, &end, NULL), 1);
	assert_int_equal(list.n, 0);
	row_list_free(&store_audit_type, list.items, list.n);
	scope = (struct audit_scope){.action = "key.create", .actor = "nobody"};
	assert_int_equal(store_audit_page(temp->db, &scope, &page, &list, &end, NULL), 1);
	assert_int_equal(list.n, 0);
	row_list_free(&store_audit_type, list.items, list.n);
	scope = (struct audit_scope){.since_us = INT64_MAX};
	assert_int_equal(store_audit_page(temp->db, &scope, &page, &list, &end, NULL), 1);
	assert_int_equal(list.n, 0);
	row_list_free(&store_audit_type, list.items, list.n);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, temp_db_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_change),
		TEST(no_change),
		TEST(cascades),
		TEST(rolled_back),
		TEST(no_entry_no_change),
		TEST(actor_of_job),
		TEST(action),
		TEST(operators),
		TEST(pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
