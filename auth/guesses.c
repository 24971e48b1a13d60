/*
 * guesses: a table of fixed size with one slot for each hash of an address. Two addresses with
 * the same slot evict each other: neither reaches its limit, and no other client suffers. The
 * hash is keyed, so nobody can choose addresses that share a slot.
 */
#include "auth/guesses.h"

#include <arpa/inet.h>
#include <string.h>

#include "core/base/secret.h"

enum { SLOTS = 4096, ADDRESS_LEN = 8 };

struct slot {
	uint8_t address[ADDRESS_LEN];
	int64_t until_us; /* the end of the window; 0: free */
	int failed;
};

struct guesses {
	uint8_t key[SECRET_HASH_LEN];
	struct slot slots[SLOTS];
};

struct guesses *guesses_new(void)
{
	struct guesses *guesses = mem_new(struct guesses);

	secret_random(guesses->key, sizeof(guesses->key));
	return guesses;
}

void guesses_free(struct guesses *guesses)
{
	free(guesses);
}

/* Reads an IPv4 address or an IPv6 /64 network. False for loopback, and if it is not an
 * address. */
static bool read_address(const char *client, uint8_t address[static ADDRESS_LEN])
{
	struct in6_addr in6;
	struct in_addr in;

	memset(address, 0, ADDRESS_LEN);
	if (inet_pton(AF_INET, client, &in) == 1) {
		memcpy(address, &in, sizeof(in));
		return address[0] != 127;
	}
	if (inet_pton(AF_INET6, client, &in6) != 1 || IN6_IS_ADDR_LOOPBACK(&in6))
		return false;
	memcpy(address, &in6, ADDRESS_LEN);
	return true;
}

static struct slot *slot_of(struct guesses *guesses, const uint8_t address[static ADDRESS_LEN])
{
	uint8_t hash[SECRET_HASH_LEN];

	secret_keyed_hash(guesses->key, address, ADDRESS_LEN, hash);
	return &guesses->slots[(hash[0] << 8 | hash[1]) % SLOTS];
}

bool guesses_limited(struct guesses *guesses, const char *client, int64_t now_us)
{
	uint8_t address[ADDRESS_LEN];
	const struct slot *slot;

	if (!read_address(client, address))
		return false;
	slot = slot_of(guesses, address);
	return memcmp(slot->address, address, ADDRESS_LEN) == 0 && slot->until_us > now_us &&
	       slot->failed >= GUESSES_MAX;
}

enum guess guesses_add(struct guesses *guesses, const char *client, int64_t now_us)
{
	uint8_t address[ADDRESS_LEN];
	bool limited = read_address(client, address);
	struct slot *slot = slot_of(guesses, address);

	if (memcmp(slot->address, address, ADDRESS_LEN) != 0 || slot->until_us <= now_us) {
		*slot = (struct slot){.until_us = now_us + GUESSES_WINDOW_S * INT64_C(1000000)};
		memcpy(slot->address, address, ADDRESS_LEN);
	}
	slot->failed++;
	if (slot->failed <= GUESSES_LOGGED)
		return slot->failed < GUESSES_LOGGED ? GUESS_LOGGED : GUESS_LAST;
	return limited && slot->failed == GUESSES_MAX ? GUESS_LIMITED : GUESS_SILENT;
}
