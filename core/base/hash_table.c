/*
 * hash_table: a hash table with open addressing and linear probing.
 *
 * Invariant: between the slot where the search for an item begins and the item's slot, no slot is
 * free.
 */
#include "core/base/hash_table.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static struct hash_slot *free_slot(const struct hash_table *table, uint64_t hash)
{
	size_t i = hash_table_first(table, hash);

	while (table->slots[i & (table->slots_n - 1)].item)
		i++;
	return &table->slots[i & (table->slots_n - 1)];
}

static void grow(struct hash_table *table)
{
	enum { FIRST = 16, FIRST_SHIFT = 60 };
	struct hash_table larger = {.n = table->n,
		.slots_n = table->slots_n ? 2 * table->slots_n : FIRST,
		.shift = table->slots_n ? table->shift - 1 : FIRST_SHIFT};

	larger.slots = mem_alloc(larger.slots_n, sizeof(*larger.slots));
	for (size_t i = 0; i < table->slots_n; i++)
		if (table->slots[i].item)
			*free_slot(&larger, table->slots[i].hash) = table->slots[i];
	free(table->slots);
	*table = larger;
}

void hash_table_add(struct hash_table *table, uint64_t hash, void *item)
{
	if (2 * (table->n + 1) > table->slots_n)
		grow(table);
	*free_slot(table, hash) = (struct hash_slot){hash, item};
	table->n++;
}

static size_t index_of(const struct hash_table *table, uint64_t hash, const void *item)
{
	size_t i = hash_table_first(table, hash);

	while (table->slots[i & (table->slots_n - 1)].item != item)
		i++;
	return i & (table->slots_n - 1);
}

void hash_table_replace(struct hash_table *table, uint64_t hash, const void *item, void *by)
{
	table->slots[index_of(table, hash, item)].item = by;
}

/* Items behind the freed slot move into it if their search begins at it or before it. */
void hash_table_remove(struct hash_table *table, uint64_t hash, const void *item)
{
	size_t mask = table->slots_n - 1, hole = index_of(table, hash, item);

	for (size_t i = (hole + 1) & mask; table->slots[i].item; i = (i + 1) & mask) {
		size_t first = hash_table_first(table, table->slots[i].hash);

		if (((i - first) & mask) < ((i - hole) & mask))
			continue;
		table->slots[hole] = table->slots[i];
		hole = i;
	}
	table->slots[hole].item = NULL;
	table->n--;
}

void *hash_table_next(const struct hash_table *table, size_t *at)
{
	while (*at < table->slots_n)
		if (table->slots[(*at)++].item)
			return table->slots[*at - 1].item;
	return NULL;
}

void hash_table_empty(struct hash_table *table)
{
	if (table->n > 0)
		memset(table->slots, 0, table->slots_n * sizeof(*table->slots));
	table->n = 0;
}

void hash_table_clear(struct hash_table *table)
{
	free(table->slots);
	*table = (struct hash_table){0};
}
