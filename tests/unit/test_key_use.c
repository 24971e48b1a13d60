/* key_use: written when it is old, and not again and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/db/committer.h"
#include "httpd/admission/key_use.h"
#include "tests/unit/count_syncs.h"
#include "tests/unit/temp_db.h"

#define NOW_US INT64_C(1000000000000000) /* 2001 */

static struct {
	struct committer *committer;
	struct key_use *use;
	struct temp_tenant tenant;
	struct key key;
} rig;

static int setup(void **state)
{
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp_db_tenant(temp->db, "Acme", "example.com", &rig.tenant);
	assert_int_equal(store_key_find(temp->db, rig.tenant.hash, &rig.key, NULL), 1);
	rig.committer = committer_new_inline(temp->db);
	rig.use = key_use_new(rig.committer);
	return 0;
}

static int teardown(void **state)
{
	key_use_free(rig.use);
	committer_free(rig.committer);
	store_key_clear(&rig.key);
	return temp_db_teardown(state);
}

static uint64_t writes(void)
{
	return committer_stats(rig.committer).jobs;
}

static void test_first_use(void **state)
{
	static const char sql_used[] = "SELECT last_used_us FROM api_key";
	struct temp_db *temp = *state;
	int syncs = count_syncs();

	key_use_note(rig.use, &rig.key, NOW_US);
	assert_int_equal(writes(), 1);
	assert_int_equal(count_syncs(), syncs); /* nobody waits for the disk */
	assert_true(temp_db_number(temp->db, sql_used) == NOW_US);
}

/* The row that a request has read may be older than the last write. */
static void test_again_at_once(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		key_use_note(rig.use, &rig.key, NOW_US);
	assert_int_equal(writes(), 1);
}

static void test_stored_use_is_fresh(void **state)
{
	(void)state;
	rig.key.last_used_us = NOW_US;
	key_use_note(rig.use, &rig.key, NOW_US);
	assert_int_equal(writes(), 0);
}

static void test_stored_use_is_old(void **state)
{
	(void)state;
	rig.key.last_used_us = NOW_US - (KEY_USE_INTERVAL_S + 1) * INT64_C(1000000);
	key_use_note(rig.use, &rig.key, NOW_US);
	assert_int_equal(writes(), 1);
}

/* Nothing waits for it, and nothing breaks. */
static void test_key_is_gone(void **state)
{
	struct temp_db *temp = *state;

	OK(db_exec(temp->db, "DELETE FROM api_key", &why));
	key_use_note(rig.use, &rig.key, NOW_US);
	assert_int_equal(writes(), 1);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_first_use),
		CASE(test_again_at_once),
		CASE(test_stored_use_is_fresh),
		CASE(test_stored_use_is_old),
		CASE(test_key_is_gone),
	};

	return cmocka_run_group_tests_name("key_use", tests, NULL, NULL);
}
