/*
 * guesses: a table of fixed size with one slot for each hash of an address. Two addresses with
 * the same slot evict each other: neither reaches its limit, and no other client suffers. The
 * hash is keyed, so nobody can choose addresses that share a slot.
 *
 * A flood from more addresses than there are slots finds a fresh slot with every login. So the
 * lines in the log have a limit of their own, which is independent of addresses.
 */
#include "auth/guesses.h"

#include <string.h>

#include "core/base/cidr.h"
#include "core/base/secret.h"
#include "core/base/str.h"

enum { SLOTS = 4096 };

struct slot {
	char client[CIDR_TEXT_SIZE]; /* see cidr_client(); "": no address */
	int64_t until_us;            /* the end of the window; 0: free */
	int failed;
};

struct guesses {
	uint8_t key[SECRET_HASH_LEN];
	int64_t until_us;     /* the end of the log's window */
	int logged, left_out; /* lines in it */
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

static struct slot *slot_of(struct guesses *guesses, const char *client)
{
	uint8_t hash[SECRET_HASH_LEN];

	secret_keyed_hash(guesses->key, client, strlen(client), hash);
	return &guesses->slots[(hash[0] << 8 | hash[1]) % SLOTS];
}

bool guesses_limited(struct guesses *guesses, const char *address, int64_t now_us)
{
	char client[CIDR_TEXT_SIZE];
	const struct slot *slot;

	if (!cidr_client(address, client))
		return false;
	slot = slot_of(guesses, client);
	return str_eq(slot->client, client) && slot->until_us > now_us &&
	       slot->failed >= GUESSES_MAX && !cidr_is_loopback(address);
}

bool guesses_may_log(struct guesses *guesses, int64_t now_us)
{
	if (guesses->until_us <= now_us && guesses->left_out == 0) {
		guesses->until_us = now_us + GUESSES_WINDOW_S * INT64_C(1000000);
		guesses->logged = 0;
	}
	if (guesses->logged == GUESSES_LINES) {
		guesses->left_out++;
		return false;
	}
	guesses->logged++;
	return true;
}

int guesses_left_out(struct guesses *guesses, int64_t now_us)
{
	int left_out = guesses->left_out;

	if (guesses->until_us > now_us)
		return 0;
	guesses->left_out = 0;
	return left_out;
}

enum guess guesses_add(struct guesses *guesses, const char *address, int64_t now_us)
{
	char client[CIDR_TEXT_SIZE] = "";
	bool limited = cidr_client(address, client) && !cidr_is_loopback(address);
	struct slot *slot = slot_of(guesses, client);
	enum guess guess = GUESS_SILENT;

	if (!str_eq(slot->client, client) || slot->until_us <= now_us) {
		*slot = (struct slot){.until_us = now_us + GUESSES_WINDOW_S * INT64_C(1000000)};
		memcpy(slot->client, client, sizeof(client));
	}
	slot->failed++;
	if (slot->failed < GUESSES_LOGGED)
		guess = GUESS_LOGGED;
	else if (slot->failed == GUESSES_LOGGED)
		guess = GUESS_LAST;
	else if (limited && slot->failed == GUESSES_MAX)
		guess = GUESS_LIMITED;
	return guess != GUESS_SILENT && guesses_may_log(guesses, now_us) ? guess : GUESS_SILENT;
}
