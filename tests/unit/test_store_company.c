/*
 * store_company: names, and what goes when a company goes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/store/company/store_company.h"
#include "tests/unit/temp_db.h"

#define TEN     "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void test_add_and_get(void **state)
{
	struct temp_db *temp = *state;
	struct company added, got;

	OK(store_company_add(temp->db, "Bärbel & Söhne", 77, &added, &why));
	assert_string_equal(added.name, "Bärbel & Söhne");
	assert_int_equal(strlen(added.id), ID_SIZE - 1);
	assert_true(added.created_us == 77);

	assert_int_equal(store_company_get(temp->db, added.id, &got, NULL), 1);
	assert_string_equal(got.id, added.id);
	assert_string_equal(got.name, added.name);
	assert_true(got.created_us == 77);
	store_company_clear(&got);
	store_company_clear(&added);
	assert_int_equal(store_company_get(temp->db, "none", &got, NULL), 0);
	assert_null(got.name);
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		enum err_code code; /* ERR_NONE: good */
	} cases[] = {
		{"Acme", ERR_NONE},
		{"acme", ERR_NONE},
		{"Acme", ERR_EXISTS},
		{HUNDRED HUNDRED, ERR_NONE},
		{HUNDRED HUNDRED "0", ERR_INVALID},
		{"", ERR_INVALID},
		{"  ", ERR_INVALID},
		{"a\nb", ERR_INVALID},
		{"a\x7f", ERR_INVALID},
		{"a\xff", ERR_INVALID},
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct company company = {0};
		struct err err = ERR_INIT;
		int result = store_company_add(temp->db, cases[i].name, 1, &company, &err);

		assert_int_equal(err.code, cases[i].code);
		assert_int_equal(result, cases[i].code == ERR_NONE ? 0 : -1);
		assert_true((company.name != NULL) == (result == 0));
		store_company_clear(&company);
	}
}

static void test_list(void **state)
{
	static const char *const names[] = {"c", "a", "e", "b", "d"};
	struct temp_db *temp = *state;
	struct company_list list;
	struct company company;

	FOUND(store_company_list(temp->db, WHOLE, &list, NULL, &why));
	assert_int_equal(list.n, 0);
	row_list_free(&store_company_type, list.items, list.n);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		OK(store_company_add(temp->db, names[i], 1, &company, &why));
		store_company_clear(&company);
	}
	FOUND(store_company_list(temp->db, WHOLE, &list, NULL, &why));
	assert_int_equal(list.n, ARRAY_SIZE(names));
	for (size_t i = 0; i < list.n; i++)
		assert_int_equal(list.items[i].name[0], 'a' + i);
	row_list_free(&store_company_type, list.items, list.n);
}

static void test_remove(void **state)
{
	struct temp_db *temp = *state;
	const struct email_scope all = {0};
	struct temp_tenant gone, stays;
	struct email email, got;
	struct key key;

	temp_db_tenant(temp->db, "Gone", "gone.test", &gone);
	temp_db_tenant(temp->db, "Stays", "stays.test", &stays);
	temp_db_email(&gone, &email);
	OK(store_email_stage(temp->db, &email, &why));

	assert_int_equal(store_company_remove(temp->db, gone.company_id, NULL), 1);
	assert_int_equal(store_company_remove(temp->db, gone.company_id, NULL), 0);
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM domain"), 1);
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM api_key"), 1);
	assert_int_equal(store_key_find(temp->db, gone.hash, &key, NULL), 0);
	assert_int_equal(store_key_find(temp->db, stays.hash, &key, NULL), 1);
	store_key_clear(&key);

	/* Its emails stay on record. */
	assert_int_equal(store_email_get(temp->db, email.id, &all, &got, NULL), 1);
	assert_string_equal(got.company_id, gone.company_id);
	assert_string_equal(got.key_id, gone.key_id);
	store_email_clear(&got);
	store_email_clear(&email);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, temp_db_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(add_and_get),
		TEST(names),
		TEST(list),
		TEST(remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
