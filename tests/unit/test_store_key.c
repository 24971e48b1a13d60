/*
 * store_key: keys, and their scopes as words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/str.h"
#include "core/base/buf.h"
#include "core/store/company/store_suppression.h"
#include "tests/unit/temp_db.h"

#define TEN     "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static int setup(void **state)
{
	struct temp_db *temp;
	struct temp_tenant *tenants = mem_alloc(2, sizeof(*tenants));

	temp_db_setup(state);
	temp = *state;
	temp_db_tenant(temp->db, "One", "one.test", &tenants[0]);
	temp_db_tenant(temp->db, "Other", "other.test", &tenants[1]);
	temp->more = tenants;
	return 0;
}

static void test_create_and_find(void **state)
{
	static const struct key_spec cases[] = {
		{.name = "plain", .scopes = KEY_SENDING},
		{.name = "narrow", .scopes = KEY_ALL, .domain = "one.test"},
		{.name = "", .scopes = KEY_READING | KEY_MANAGING},
	};
	struct temp_db *temp = *state;
	const struct temp_tenant *tenants = temp->more;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct key_spec *spec = &cases[i];
		uint8_t hash[SECRET_HASH_LEN];
		struct key made, found;

		temp_db_key(temp->db, &tenants[0], spec->name, spec, &made);
		secret_hash(spec->name, strlen(spec->name), hash);
		assert_int_equal(store_key_find(temp->db, hash, &found, NULL), 1);
		assert_string_equal(found.id, made.id);
		assert_string_equal(found.company_id, tenants[0].company_id);
		assert_string_equal(made.company_id, tenants[0].company_id);
		assert_string_equal(found.name, spec->name);
		assert_int_equal(found.scopes, spec->scopes);
		assert_int_equal(made.scopes, spec->scopes);
		assert_true(found.created_us == 3);
		assert_true(found.last_used_us == 0);
		assert_true(found.revoked_us == 0);
		if (spec->domain) {
			assert_string_equal(found.domain, spec->domain);
			assert_string_equal(made.domain, spec->domain);
		} else {
			assert_null(found.domain);
			assert_null(made.domain);
		}
		store_key_clear(&made);
		store_key_clear(&found);
	}
}

static void log_in(
	struct temp_db *temp, const char *key, const char *domain, const struct key_login *expected)
{
	struct key_login login;

	FOUND(store_key_login(temp->db, key, domain, &login, &why));
	assert_string_equal(login.key_id, key);
	assert_string_equal(login.company_id, expected->company_id);
	assert_int_equal(login.scopes, expected->scopes);
	assert_true(login.last_used_us == expected->last_used_us);
	assert_true(str_eq(login.key_domain ? login.key_domain : "",
		expected->key_domain ? expected->key_domain : ""));
	assert_int_equal(login.domain_owned, expected->domain_owned);
	assert_int_equal(login.domain_active, expected->domain_active);
	assert_true(str_eq(login.return_path ? login.return_path : "",
		expected->return_path ? expected->return_path : ""));
	assert_int_equal(login.unsubscribe, expected->unsubscribe);
	assert_int_equal(login.paused, expected->paused);
	assert_int_equal(login.suppresses, expected->suppresses);
	store_key_login_clear(&login);
}

/* A key and the domain of its company; what others have does not count. */
static void test_login(void **state)
{
	static const char *const none[] = {NULL, "other.test", "nobody.test"};
	static const struct key_spec narrow = {.scopes = KEY_SENDING, .domain = "one.test"};
	struct temp_db *temp = *state;
	const struct temp_tenant *one = temp->more, *other = one + 1;
	struct key_login login = {.scopes = KEY_ALL}, bound = {.scopes = KEY_SENDING};
	const struct domain asked = {.pending = true};
	struct suppression blocked = {
		.domain = (char *)"", .address = (char *)"bob@dst.test", .created_us = 1};
	struct domain domain;
	struct key key;

	memcpy(login.company_id, one->company_id, ID_SIZE);
	memcpy(bound.company_id, one->company_id, ID_SIZE);
	bound.key_domain = (char *)"one.test";
	temp_db_key(temp->db, one, "narrow", &narrow, &key);
	OK(store_domain_add(temp->db, one->company_id, "asked.test", &asked, 2, &domain, &why));
	store_domain_clear(&domain);
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		log_in(temp, one->key_id, none[i], &login);
		log_in(temp, key.id, none[i], &bound);
	}
	login.domain_owned = bound.domain_owned = true;
	log_in(temp, one->key_id, "asked.test", &login);
	temp_db_activate(temp->db, one->domain_id, false, NULL);
	log_in(temp, one->key_id, "one.test", &login);
	temp_db_activate(temp->db, one->domain_id, true, NULL);
	login.domain_active = bound.domain_active = true;
	log_in(temp, one->key_id, "one.test", &login);
	log_in(temp, key.id, "one.test", &bound);
	OK(store_key_touch(temp->db, one->key_id, 7, &why));
	login.last_used_us = 7;
	login.return_path = (char *)"back.test";
	login.unsubscribe = true;
	OK(db_exec(temp->db,
		"UPDATE domain SET return_path = 'back.test', unsubscribe = 'on'"
		" WHERE name = 'one.test'",
		&why));
	log_in(temp, one->key_id, "one.test", &login);
	memcpy(blocked.company_id, one->company_id, ID_SIZE);
	FOUND(store_suppression_put(temp->db, &blocked, false, NULL, &why));
	login.suppresses = true;
	log_in(temp, one->key_id, "one.test", &login);
	FOUND(store_key_revoke(temp->db, &(const struct key_range){0}, key.id, 1, &why));
	assert_int_equal(
		store_key_login(temp->db, key.id, "one.test", &(struct key_login){0}, NULL), 0);
	login = (struct key_login){.scopes = KEY_ALL};
	memcpy(login.company_id, other->company_id, ID_SIZE);
	log_in(temp, other->key_id, "one.test", &login);
	store_key_clear(&key);
}

static void test_create_faults(void **state)
{
	static const char nowhere[] = "00000000-0000-4000-8000-000000000000";
	static const struct {
		struct key_spec spec; /* company: NULL for the first */
		enum err_code code;
		const char *text;
	} cases[] = {
		{{nowhere, NULL, "a", KEY_ALL}, ERR_NOT_FOUND, nowhere},
		{{nowhere, "one.test", "a", KEY_ALL}, ERR_NOT_FOUND, nowhere},
		{{NULL, "none.test", "a", KEY_ALL}, ERR_NOT_FOUND, "none.test"},
		{{NULL, "other.test", "a", KEY_ALL}, ERR_NOT_FOUND, "other.test"},
		{{NULL, NULL, "a", 0}, ERR_INVALID, "scope"},
		{{NULL, NULL, "a", 8}, ERR_INVALID, "scope"},
		{{NULL, NULL, HUNDRED HUNDRED "x", KEY_ALL}, ERR_INVALID, "200"},
		{{NULL, NULL, "a\rb", KEY_ALL}, ERR_INVALID, "control"},
	};
	struct temp_db *temp = *state;
	const struct temp_tenant *tenants = temp->more;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct key_spec spec = cases[i].spec;
		const uint8_t hash[SECRET_HASH_LEN] = {1};
		struct err err = ERR_INIT;
		struct key key = {0};

		if (spec.company_id == NULL)
			spec.company_id = tenants[0].company_id;
		assert_int_equal(store_key_create(temp->db, &spec, hash, 1, &key, &err), -1);
		assert_int_equal(err.code, cases[i].code);
		assert_non_null(strstr(err.text, cases[i].text));
		assert_null(key.name);
	}
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM api_key"), 2);
}

static void test_hash_is_unique(void **state)
{
	struct temp_db *temp = *state;
	const struct temp_tenant *tenants = temp->more;
	const struct key_spec spec = {tenants[1].company_id, NULL, "again", KEY_ALL};
	struct err err = ERR_INIT;
	struct key key;

	assert_int_equal(store_key_create(temp->db, &spec, tenants[0].hash, 1, &key, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
}

/* The table itself refuses a key on another company's domain. */
static void test_foreign_domain(void **state)
{
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	assert_int_equal(db_exec(temp->db,
				 "UPDATE api_key SET domain_id ="
				 " (SELECT id FROM domain WHERE name = 'other.test')"
				 " WHERE name = 'One'",
				 &err),
		-1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void test_revoke(void **state)
{
	struct temp_db *temp = *state;
	const struct temp_tenant *tenant = temp->more;
	struct key_list list;
	struct key key;

	assert_int_equal(
		store_key_revoke(temp->db, &(const struct key_range){0}, tenant->key_id, 50, NULL),
		1);
	assert_int_equal(
		store_key_revoke(temp->db, &(const struct key_range){0}, tenant->key_id, 60, NULL),
		0);
	assert_int_equal(
		store_key_revoke(temp->db, &(const struct key_range){0}, "none", 60, NULL), 0);
	assert_int_equal(store_key_find(temp->db, tenant->hash, &key, NULL), 0);
	FOUND(store_key_list(temp->db, &(struct key_filter){.company_id = tenant->company_id},
		WHOLE, &list, NULL, &why));
	assert_int_equal(list.n, 1);
	assert_true(list.items[0].revoked_us == 50);
	row_list_free(&store_key_type, list.items, list.n);
}

static void test_touch(void **state)
{
	static const int64_t times[] = {100, 90, 200};
	static const int64_t last_used[] = {100, 100, 200};
	struct temp_db *temp = *state;
	const struct temp_tenant *tenant = temp->more;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		struct key key;

		OK(store_key_touch(temp->db, tenant->key_id, times[i], &why));
		assert_int_equal(store_key_find(temp->db, tenant->hash, &key, NULL), 1);
		assert_true(key.last_used_us == last_used[i]);
		store_key_clear(&key);
	}
	OK(store_key_touch(temp->db, "none", 1, &why));
}

static void test_list(void **state)
{
	struct temp_db *temp = *state;
	const struct temp_tenant *tenants = temp->more;
	const struct key_spec spec = {.scopes = KEY_SENDING, .domain = "one.test"};
	struct key_list list;
	struct key key;

	OK(db_exec(temp->db, "UPDATE api_key SET created_us = 1", &why));
	temp_db_key(temp->db, &tenants[0], "newest", &spec, &key);
	store_key_clear(&key);
	FOUND(store_key_list(temp->db, &(struct key_filter){.company_id = tenants[0].company_id},
		WHOLE, &list, NULL, &why));
	assert_int_equal(list.n, 2);
	assert_string_equal(list.items[0].name, "newest");
	assert_string_equal(list.items[0].domain, "one.test");
	assert_string_equal(list.items[1].name, "One");
	assert_null(list.items[1].domain);
	row_list_free(&store_key_type, list.items, list.n);

	FOUND(store_key_list(
		temp->db, &(struct key_filter){.company_id = NULL}, WHOLE, &list, NULL, &why));
	assert_int_equal(list.n, 3);
	row_list_free(&store_key_type, list.items, list.n);
	FOUND(store_key_list(
		temp->db, &(struct key_filter){.company_id = "none"}, WHOLE, &list, NULL, &why));
	assert_int_equal(list.n, 0);
	row_list_free(&store_key_type, list.items, list.n);
}

/* Keys that are old enough to be idle, and were used lately, in very many; before them, the oldest,
 * one that was never used and one that is forgotten. */
static void test_idle(void **state)
{
	static const char sql_add[] =
		"WITH RECURSIVE n (n) AS (SELECT $first UNION ALL SELECT n + 1 FROM n"
		"   WHERE n < $last)"
		" INSERT INTO api_key (id, company_id, name, hash, scopes, created_us,"
		"   last_used_us, revoked_us)"
		" SELECT 'key ' || (10000 + n), $company, 'Key', CAST(printf('%032d', n) AS BLOB),"
		"   1, n, CASE n WHEN 1 THEN 0 WHEN 2 THEN 50 ELSE 1000000 END, 0"
		" FROM n";
	static const struct {
		int64_t unused_us, forgotten_us;
		const char *id;
	} cases[] = {{100000, 0, "key 10001"}, {0, 100000, "key 10002"}};
	struct temp_db *temp = *state;
	const struct temp_tenant *tenants = temp->more;
	struct key_list list;
	struct page_end end;

	OK(db_exec(temp->db, "UPDATE api_key SET created_us = 200000", &why));
	/* A server keeps all versions that one transaction makes of a count. */
	for (int n = 1; n < PAGE_LOOK + 100; n += 300)
		assert_int_equal(db_change(temp->db, sql_add,
					 DB_PARAMS(DB_INT("$first", n), DB_INT("$last", n + 299),
						 DB_TEXT("$company", tenants[0].company_id)),
					 NULL),
			300);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		const struct key_filter filter = {
			.company_id = i % 2 ? tenants[0].company_id : NULL,
			.unused_us = cases[i / 2].unused_us,
			.forgotten_us = cases[i / 2].forgotten_us,
		};
		struct page page = {.limit = 10};

		/* Younger keys are not looked at. */
		FOUND(store_key_list(temp->db, &filter, &page, &list, &end, &why));
		assert_int_equal(list.n, 0);
		assert_string_equal(end.next, "key 10101");
		memcpy(page.after, end.next, sizeof(page.after));
		FOUND(store_key_list(temp->db, &filter, &page, &list, &end, &why));
		assert_int_equal(list.n, 1);
		assert_string_equal(list.items[0].id, cases[i / 2].id);
		assert_true(!end.more && end.next[0] == '\0');
		row_list_free(&store_key_type, list.items, list.n);
	}
}

/* The set as answers show it. */
static void assert_shown(unsigned scopes, const char *words)
{
	const struct key key = {.scopes = scopes};
	json_t *shown = row_json(&store_key_type, &key, ROW_SHOWN), *word;
	_cleanup_strv_ struct strv list = STRV_INIT;
	_cleanup_free_ char *text = NULL;
	size_t i;

	json_array_foreach(json_object_get(shown, "scopes"), i, word)
		strv_add(&list, json_string_value(word));
	text = strv_join(&list, ",");
	assert_string_equal(text, words);
	json_decref(shown);
}

static void test_scopes(void **state)
{
	static const struct {
		const char *text;
		unsigned scopes; /* 0: refused */
		const char *again;
	} cases[] = {
		{"sending", KEY_SENDING, "sending"},
		{"reading", KEY_READING, "reading"},
		{"managing", KEY_MANAGING, "managing"},
		{"managing, sending", KEY_MANAGING | KEY_SENDING, "sending,managing"},
		{"sending,reading,managing", KEY_ALL, "sending,reading,managing"},
		{"sending,sending", KEY_SENDING, "sending"},
		{"", 0, NULL},
		{"sending,", 0, NULL},
		{"Sending", 0, NULL},
		{"sending,flying", 0, "flying"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;
		unsigned scopes = 0;
		int result = store_key_scopes_parse(cases[i].text, &scopes, &err);

		assert_int_equal(scopes, cases[i].scopes);
		if (cases[i].scopes) {
			assert_int_equal(result, 0);
			assert_shown(scopes, cases[i].again);
		} else {
			assert_int_equal(result, -1);
			assert_int_equal(err.code, ERR_INVALID);
			if (cases[i].again)
				assert_non_null(strstr(err.text, cases[i].again));
		}
	}
}

/* Keys a to e of one company, the newest last; b and d are restricted to a
 * domain, c is revoked. o is another company's. */
struct key_ring {
	struct temp_tenant one, other;
	char ids[128][ID_SIZE];
};

static void add_key(struct db *db, struct key_ring *ring, char name, bool bound)
{
	const char text[] = {name, '\0'};
	const struct key_spec spec = {.domain = bound ? "one.test" : NULL, .scopes = KEY_ALL};
	struct key key;

	temp_db_key(db, &ring->one, text, &spec, &key);
	memcpy(ring->ids[(int)name], key.id, ID_SIZE);
	store_key_clear(&key);
}

static void fill_ring(struct db *db, struct key_ring *ring)
{
	static const char sql_order[] =
		"UPDATE api_key SET created_us = unicode(name);"
		"UPDATE api_key SET revoked_us = 1 WHERE name IN ('c', 'One')";

	temp_db_tenant(db, "One", "one.test", &ring->one);
	temp_db_tenant(db, "Other", "other.test", &ring->other);
	for (char name = 'a'; name <= 'e'; name++)
		add_key(db, ring, name, name == 'b' || name == 'd');
	memcpy(ring->ids['o'], ring->other.key_id, ID_SIZE);
	OK(db_exec(db, sql_order, &why));
}

/* The names of a page, a + when there are more; NULL for a cursor that is none. */
static char *page_of(struct db *db, const struct key_range *range, const struct page *page)
{
	const struct key_filter filter = {range->company_id, range->domain, .valid_only = true};
	struct buf out = BUF_INIT;
	struct key_list list;
	struct page_end end;
	int found = store_key_list(db, &filter, page, &list, &end, NULL);

	assert_true(found >= 0);
	if (found == 0)
		return NULL;
	for (size_t i = 0; i < list.n; i++)
		buf_add_str(&out, list.items[i].name);
	buf_add_str(&out, end.more ? "+" : "");
	row_list_free(&store_key_type, list.items, list.n);
	return buf_take(&out);
}

static const struct {
	const char *domain;
	int limit;
	char after, before;
	const char *page;
} pages[] = {
	{NULL, 9, 0, 0, "edba"},
	{NULL, 4, 0, 0, "edba"},
	{NULL, 3, 0, 0, "edb+"},
	{NULL, 1, 'd', 0, "b+"},
	{NULL, 9, 'a', 0, ""},
	{NULL, 1, 0, 'a', "b+"},
	{NULL, 9, 0, 'b', "ed"},
	{NULL, 9, 'c', 0, NULL}, /* revoked */
	{NULL, 9, 'o', 0, NULL},
	{"one.test", 9, 0, 0, "db"},
	{"one.test", 1, 0, 0, "d+"},
	{"one.test", 1, 'd', 0, "b"},
	{"one.test", 9, 'a', 0, NULL},
	{"none.test", 9, 0, 0, ""},
};

static void test_pages(void **state)
{
	struct temp_db *temp = *state;
	struct key_ring *ring = temp->more = mem_new(struct key_ring);

	fill_ring(temp->db, ring);
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		const struct key_range range = {ring->one.company_id, pages[i].domain};
		struct page page = {.limit = pages[i].limit};
		_cleanup_free_ char *got = NULL;

		strcpy(page.after, ring->ids[(int)pages[i].after]);
		strcpy(page.before, ring->ids[(int)pages[i].before]);
		got = page_of(temp->db, &range, &page);
		if ((got == NULL) != (pages[i].page == NULL) ||
			(got && strcmp(got, pages[i].page) != 0))
			fail_msg("%zu: %s", i, got ? got : "no cursor");
	}
}

/* Which keys of the ring a range has, in the order of asking. */
static const struct {
	const char *domain;
	char name;
	bool has;
	bool had_once; /* as long as none was revoked by this table */
} own[] = {
	{NULL, 'o', false, false},
	{NULL, 'c', false, false}, /* revoked before */
	{"one.test", 'a', false, false},
	{"none.test", 'b', false, false},
	{"one.test", 'b', true, true},
	{"one.test", 'b', false, true},
	{NULL, 'd', true, true},
	{NULL, 'e', true, true},
};

static void test_revoke_own(void **state)
{
	struct temp_db *temp = *state;
	struct key_ring *ring = temp->more = mem_new(struct key_ring);

	fill_ring(temp->db, ring);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		const struct key_range range = {ring->one.company_id, own[i].domain};

		if (store_key_revoke(temp->db, &range, ring->ids[(int)own[i].name], 7, NULL) !=
			own[i].has)
			fail_msg("%zu", i);
	}
	assert_int_equal(temp_db_number(temp->db,
				 "SELECT count(*) FROM api_key"
				 " WHERE revoked_us = 7"),
		3);
}

static void test_rename_own(void **state)
{
	struct temp_db *temp = *state;
	struct key_ring *ring = temp->more = mem_new(struct key_ring);
	struct err err = ERR_INIT;

	fill_ring(temp->db, ring);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		const struct key_range range = {ring->one.company_id, own[i].domain};
		const char *id = ring->ids[(int)own[i].name];

		if (store_key_rename(temp->db, &range, id, "new", NULL) != own[i].had_once)
			fail_msg("%zu", i);
		assert_int_equal(store_key_rename(temp->db, &range, id, "a\nb", &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
	}
	assert_int_equal(temp_db_number(temp->db,
				 "SELECT count(*) FROM api_key"
				 " WHERE name = 'new'"),
		3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(create_and_find),
		TEST(login),
		TEST(create_faults),
		TEST(hash_is_unique),
		TEST(foreign_domain),
		TEST(revoke),
		TEST(touch),
		TEST(list),
		TEST(idle),
		cmocka_unit_test_setup_teardown(test_pages, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_revoke_own, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_rename_own, temp_db_setup, temp_db_teardown),
		cmocka_unit_test(test_scopes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
