/*
 * recipient_set: see the header.
 *
 * Pure: no state, no I/O. Threads: any.
 */
#include "core/policy/recipient_set.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"

static char *canonical(const char *address)
{
	size_t len = strlen(address);
	bool brackets = len >= 2 && address[0] == '<' && address[len - 1] == '>';
	char *copy = brackets ? mem_dup(address + 1, len - 2)
			      : mem_strdup(address);
	char *at = strrchr(copy, '@');

	if (at)
		str_lower(at);
	return copy;
}

void recipient_set_add(struct buf *set, const char *address)
{
	_cleanup_free_ char *name = canonical(address);
	uint8_t hash[SECRET_HASH_LEN];

	secret_hash(name, strlen(name), hash);
	for (size_t i = 0; i < RECIPIENT_DIGITS / 2; i++)
		buf_printf(set, "%02x", hash[i]);
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, RECIPIENT_DIGITS);
}

char *recipient_set_of(const struct strv *addresses)
{
	struct buf set = BUF_INIT;

	for (size_t i = 0; i < addresses->n; i++)
		recipient_set_add(&set, addresses->items[i]);
	if (set.len > 0)
		qsort(set.data, addresses->n, RECIPIENT_DIGITS, compare);
	return buf_take(&set);
}

bool recipient_set_covers(const char *whole, const struct buf *set)
{
	size_t n = strlen(whole) / RECIPIENT_DIGITS;

	for (size_t i = 0; i < set->len; i += RECIPIENT_DIGITS)
		if (!bsearch(set->data + i, whole, n, RECIPIENT_DIGITS, compare))
			return false;
	return set->len > 0;
}
