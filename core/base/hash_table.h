/*
 * hash_table: a hash table of objects that the caller owns.
 *
 * The caller computes the hashes, and compares an object with a key (hash_table_same). The table
 * must not change while it is iterated over.
 */
#ifndef POSTERN_BASE_HASH_TABLE_H
#define POSTERN_BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_slot {
	uint64_t hash;
	void *item; /* NULL: the slot is free */
};

/* Zeroed: empty. */
struct hash_table {
	struct hash_slot *slots;
	size_t slots_n; /* 0 or a power of two, at least twice n */
	size_t n;
	unsigned shift; /* 64 minus the binary logarithm of slots_n */
};

typedef bool hash_table_same(const void *item, const void *key);

/* Returns the slot where the search for a hash begins. */
static inline size_t hash_table_first(const struct hash_table *table, uint64_t hash)
{
	/* Spreads hashes that differ in few bits, such as numbers and addresses. */
	return (size_t)(hash * UINT64_C(0x9e3779b97f4a7c15) >> table->shift);
}

/* Returns the item with this hash that is the same as the key, or NULL. Inline, since some tables
 * are searched several times for each line of the log. */
static inline void *hash_table_find(
	const struct hash_table *table, uint64_t hash, hash_table_same *same, const void *key)
{
	if (table->n == 0)
		return NULL;
	for (size_t i = hash_table_first(table, hash);; i++) {
		const struct hash_slot *slot = &table->slots[i & (table->slots_n - 1)];

		if (slot->item == NULL || (slot->hash == hash && same(slot->item, key)))
			return slot->item;
	}
}

/* Adds an item. The table must not have an equal one. */
void hash_table_add(struct hash_table *table, uint64_t hash, void *item);

/* Removes the item, which the table has, or puts another with the same key in its place. */
void hash_table_remove(struct hash_table *table, uint64_t hash, const void *item);
void hash_table_replace(struct hash_table *table, uint64_t hash, const void *item, void *by);

/* Returns the items one after the other, in no order, then NULL; *at is 0 at the start. */
void *hash_table_next(const struct hash_table *table, size_t *at);

/* Empties the table; hash_table_clear() frees its memory, too. */
void hash_table_empty(struct hash_table *table);
void hash_table_clear(struct hash_table *table);

#endif
