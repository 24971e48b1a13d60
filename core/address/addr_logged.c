/*
 * addr_logged: compares addresses byte by byte, without the quoting of their local parts.
 *
 * Threads: any.
 */
#include "core/address/addr_logged.h"

#include <string.h>

#include "core/base/str.h"

/* Iterates over an address without the quotes and backslashes of its local part. */
struct plain {
	const char *at;
	const char *close; /* the closing quote of the local part, or NULL */
};

static struct plain plain_of(const char *address)
{
	const char *domain = strrchr(address, '@');

	if (*address == '"' && domain && domain > address + 1 && domain[-1] == '"')
		return (struct plain){address + 1, domain - 1};
	return (struct plain){address, NULL};
}

/* Returns the next byte, 0 at the end. */
static unsigned char next_byte(struct plain *plain)
{
	if (plain->at == plain->close) {
		plain->at++;
		plain->close = NULL;
	}
	if (plain->close && *plain->at == '\\' && plain->at + 1 < plain->close)
		plain->at++;
	return *plain->at ? (unsigned char)*plain->at++ : 0;
}

/* Maps a byte to the value that all spellings share. */
static unsigned char common(unsigned char byte)
{
	if (byte >= 0x80)
		return '?';
	return byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte - 'A' + 'a') : byte;
}

bool addr_logged_eq(const char *a, const char *b)
{
	struct plain x = plain_of(a), y = plain_of(b);
	unsigned char c, d;
	bool a_utf8 = false, b_utf8 = false;

	do {
		c = next_byte(&x);
		d = next_byte(&y);
		if (common(c) != common(d))
			return false;
		a_utf8 |= c >= 0x80;
		b_utf8 |= d >= 0x80;
	} while (c);
	return !(a_utf8 && b_utf8) || str_eq_folded(a, b);
}

unsigned addr_logged_hash(const char *address)
{
	struct plain plain = plain_of(address);
	unsigned hash = 2166136261u;
	unsigned char byte;

	while ((byte = next_byte(&plain)) != 0)
		hash = (hash ^ common(byte)) * 16777619u;
	return hash;
}
