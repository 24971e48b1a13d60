/*
 * test_hash_table: finding, adding, replacing and removing, with hashes that collide.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/hash_table.h"

enum { ITEMS = 2000 };

static bool is_number(const void *item, const void *key)
{
	return *(const int *)item == *(const int *)key;
}

/* Few hashes: most searches pass other items. */
static uint64_t hash_of(int number)
{
	return (uint64_t)number % 97;
}

static void check(const struct hash_table *table, const bool *there)
{
	size_t n = 0, at = 0;

	for (int i = 0; i < ITEMS; i++) {
		const int *found = hash_table_find(table, hash_of(i), is_number, &i);

		assert_int_equal(found != NULL, there[i]);
		if (found)
			assert_int_equal(*found, i);
		n += there[i];
	}
	assert_int_equal(table->n, n);
	while (hash_table_next(table, &at))
		n--;
	assert_int_equal(n, 0);
}

static void test_add_and_remove(void **state)
{
	static int numbers[ITEMS], others[ITEMS];
	static bool there[ITEMS];
	struct hash_table table = {0};
	unsigned random = 1;

	(void)state;
	check(&table, there);
	for (int i = 0; i < ITEMS; i++)
		numbers[i] = others[i] = i;
	for (int step = 0; step < 4 * ITEMS; step++) {
		int i = (int)((random = random * 1103515245 + 12345) >> 8) % ITEMS;

		if (there[i])
			hash_table_remove(&table, hash_of(i), &numbers[i]);
		else
			hash_table_add(&table, hash_of(i), &numbers[i]);
		there[i] = !there[i];
		if (step % 500 == 0)
			check(&table, there);
	}
	check(&table, there);
	for (int i = 0; i < ITEMS; i++)
		if (there[i]) {
			hash_table_replace(&table, hash_of(i), &numbers[i], &others[i]);
			assert_ptr_equal(
				hash_table_find(&table, hash_of(i), is_number, &i), &others[i]);
		}
	check(&table, there);
	hash_table_empty(&table);
	check(&table, (const bool[ITEMS]){false});
	hash_table_add(&table, 0, &numbers[0]);
	assert_ptr_equal(hash_table_find(&table, 0, is_number, &numbers[0]), &numbers[0]);
	hash_table_clear(&table);
	assert_int_equal(table.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_and_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
