/*
 * store_dkim: the states of a domain's keys; store_domain: what was found last.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/mem.h"
#include "core/store/company/store_dkim.h"
#include "core/store/company/store_domain.h"
#include "tests/unit/temp_db.h"

static char domain_id[ID_SIZE];

static int setup(void **state)
{
	struct temp_tenant tenant;
	struct temp_db *temp;
	struct domain domain;

	if (temp_db_setup(state) != 0)
		return -1;
	temp = *state;
	temp_db_tenant(temp->db, "Acme", "example.com", &tenant);
	if (store_domain_find(temp->db, "example.com", &domain, NULL) <= 0)
		return -1;
	memcpy(domain_id, domain.id, ID_SIZE);
	store_domain_clear(&domain);
	return 0;
}

static int add(struct db *db, const char *selector, int64_t now_us, struct err *err)
{
	struct dkim_key key = {.selector = mem_strdup(selector), .public_key = mem_strdup("AAAB")};
	int added;

	memcpy(key.domain_id, domain_id, ID_SIZE);
	added = store_dkim_add(db, &key, now_us, err);
	row_clear(&store_dkim_type, &key);
	return added;
}

/* As `b=signing a=old`, the newest first. */
static char *states_of(struct db *db)
{
	_cleanup_dkim_keys_ struct dkim_key_list list = {0};
	_cleanup_strv_ struct strv words = STRV_INIT;
	static const char *const names[DKIM_STATES] = {"new", "signing", "old"};

	OK(store_dkim_list(db, domain_id, &list, &why));
	for (size_t i = 0; i < list.n; i++)
		strv_take(&words,
			mem_printf("%s=%s", list.items[i].selector, names[list.items[i].state]));
	return strv_join(&words, " ");
}

static void expect(struct db *db, const char *wanted)
{
	_cleanup_free_ char *states = states_of(db);

	assert_string_equal(states, wanted);
}

static void test_rotation(void **state)
{
	struct db *db = ((struct temp_db *)*state)->db;
	_cleanup_dkim_keys_ struct dkim_key_list list = {0};
	struct err err = ERR_INIT;

	OK(add(db, "a", 1, &why));
	expect(db, "a=new");
	assert_int_equal(add(db, "b", 2, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_int_equal(store_dkim_switch(db, domain_id, 3, NULL), 1);
	expect(db, "a=signing");
	assert_int_equal(store_dkim_switch(db, domain_id, 4, NULL), 0);
	assert_int_equal(add(db, "a", 5, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	OK(add(db, "b", 6, &why));
	expect(db, "b=new a=signing");
	assert_int_equal(store_dkim_switch(db, domain_id, 7, NULL), 1);
	expect(db, "b=signing a=old");
	OK(store_dkim_list(db, domain_id, &list, &why));
	assert_true(list.items[1].changed_us == 7);
	assert_int_equal(store_dkim_remove(db, list.items[1].id, NULL), 1);
	assert_int_equal(store_dkim_remove(db, list.items[1].id, NULL), 0);
	assert_int_equal(store_dkim_stop(db, domain_id, 8, NULL), 1);
	expect(db, "b=old");
	assert_int_equal(store_dkim_stop(db, domain_id, 9, NULL), 0);
}

static void test_goes_with_the_domain(void **state)
{
	struct db *db = ((struct temp_db *)*state)->db;
	const struct domain_check check = {.checked_us = 5, .records = (char *)"[]"};
	struct domain_check again = check, found;

	memcpy(again.domain_id, domain_id, ID_SIZE);
	assert_int_equal(store_domain_check_get(db, domain_id, &found, NULL), 0);
	OK(store_domain_check_put(db, &again, &why));
	again.checked_us = 6;
	OK(store_domain_check_put(db, &again, &why));
	assert_int_equal(store_domain_check_get(db, domain_id, &found, NULL), 1);
	assert_true(found.checked_us == 6);
	assert_string_equal(found.records, "[]");
	store_domain_check_clear(&found);
	OK(add(db, "a", 1, &why));
	assert_int_equal(store_domain_remove(db, domain_id, NULL), 1);
	expect(db, "");
	assert_int_equal(store_domain_check_get(db, domain_id, &found, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rotation, setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_goes_with_the_domain, setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
