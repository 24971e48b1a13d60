/*
 * login_throttle: tables of fixed size that count attempts, one for each kind.
 *
 * A table consists of sets. A hash with a key of this process chooses the set,
 * so nobody outside can tell who shares a set with whom.
 *
 * Invariant: a count is dropped only when it is an hour old. Whoever finds no
 * free slot in the set is counted together with all others who found none. So a
 * flood of logins or addresses makes unknown clients wait, but drops no count.
 * Each login that somebody logged in with has a record of its known clients,
 * which drops the least recently used one (LRU), however many other logins
 * there are. When there are KNOWN_LOGINS_MAX records, a new one replaces the
 * oldest of the company that has most: a company that makes and removes users
 * takes only its own.
 */
#include "httpd/admin/login_throttle.h"

#include <stdio.h>
#include <string.h>

#include "core/base/cidr.h"
#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"

enum { SETS = 256, SLOTS = 8, FREE_TRIES = 5, FORGET_S = 3600, KNOWN_LOGINS_MAX = 16 * 1024 };
enum { KNOWN_COMPANIES = 4096 }; /* companies whose ids hash to the same index count as one */
enum { CLIENT_WAIT_S = 900, LOGIN_WAIT_S = 60, CODE_WAIT_S = 900 };

struct tries {
	uint8_t hash[SECRET_HASH_LEN]; /* of the client, the login or both */
	int n;
	int64_t last_us;
	int64_t free_us;
};

struct set {
	struct tries slots[SLOTS];
	struct tries others; /* shared by all who found no slot */
};

enum tries_of_what { OF_CLIENT, OF_LOGIN, OF_CODES, TRIES_KINDS };

/* The clients from which somebody logged in with a login. */
struct known_login {
	uint8_t login[SECRET_HASH_LEN];
	unsigned company;   /* below KNOWN_COMPANIES */
	int64_t good_us;    /* the last successful login */
	struct set clients; /* hashes of client and login */
};

struct known_logins {
	struct known_login *items;
	size_t n;
};

struct login_throttle {
	uint8_t key[SECRET_HASH_LEN];
	struct set sets[TRIES_KINDS][SETS];
	struct known_logins known[SETS];
	size_t known_n; /* of all */
	size_t known_of[KNOWN_COMPANIES];
};

/* The keys of an attempt in the tables. */
struct caller {
	uint8_t client[SECRET_HASH_LEN];
	uint8_t login[SECRET_HASH_LEN];
	uint8_t pair[SECRET_HASH_LEN];
};

struct login_throttle *login_throttle_new(void)
{
	struct login_throttle *throttle = mem_new(struct login_throttle);

	secret_random(throttle->key, sizeof(throttle->key));
	return throttle;
}

void login_throttle_free(struct login_throttle *throttle)
{
	if (throttle == NULL)
		return;
	for (size_t i = 0; i < SETS; i++)
		free(throttle->known[i].items);
	free(throttle);
}

static struct caller caller_of(
	const struct login_throttle *throttle, const char *client, const char *login)
{
	_cleanup_free_ char *folded = str_folded(login);
	char name[CIDR_TEXT_SIZE];
	uint8_t both[2 * SECRET_HASH_LEN];
	struct caller caller;

	if (!cidr_client(client, name)) /* a client on a Unix-domain socket */
		snprintf(name, sizeof(name), "%s", client);
	secret_keyed_hash(throttle->key, name, strlen(name), caller.client);
	secret_keyed_hash(throttle->key, folded, strlen(folded), caller.login);
	memcpy(both, caller.client, SECRET_HASH_LEN);
	memcpy(both + SECRET_HASH_LEN, caller.login, SECRET_HASH_LEN);
	secret_keyed_hash(throttle->key, both, sizeof(both), caller.pair);
	return caller;
}

static bool is_forgotten(const struct tries *tries, int64_t now_us)
{
	return tries->n == 0 || now_us - tries->last_us > FORGET_S * INT64_C(1000000);
}

static struct tries *find_tries(struct set *set, const uint8_t *hash)
{
	for (size_t i = 0; i < SLOTS; i++)
		if (memcmp(set->slots[i].hash, hash, SECRET_HASH_LEN) == 0)
			return &set->slots[i];
	return NULL;
}

/* The slot of who: its own, a new one if there is room, or the shared one. */
static struct tries *slot_of(struct set *set, const uint8_t *hash, int64_t now_us)
{
	struct tries *found = find_tries(set, hash);

	for (size_t i = 0; i < SLOTS && found == NULL; i++)
		if (is_forgotten(&set->slots[i], now_us)) {
			found = &set->slots[i];
			*found = (struct tries){0};
			memcpy(found->hash, hash, SECRET_HASH_LEN);
		}
	return found ? found : &set->others;
}

static struct known_login *find_record(struct login_throttle *throttle, const struct caller *caller)
{
	struct known_logins *known = &throttle->known[caller->login[0]];

	for (size_t i = 0; i < known->n; i++)
		if (memcmp(known->items[i].login, caller->login, SECRET_HASH_LEN) == 0)
			return &known->items[i];
	return NULL;
}

static struct tries *find_known(struct login_throttle *throttle, const struct caller *caller)
{
	struct known_login *record = find_record(throttle, caller);

	return record ? find_tries(&record->clients, caller->pair) : NULL;
}

/* Drops the oldest record of the company that has most. */
static void forget_a_record(struct login_throttle *throttle)
{
	struct known_login *oldest = NULL;
	struct known_logins *where = NULL;
	unsigned most = 0;

	for (unsigned i = 1; i < KNOWN_COMPANIES; i++)
		if (throttle->known_of[i] > throttle->known_of[most])
			most = i;
	for (size_t i = 0; i < SETS; i++)
		for (size_t k = 0; k < throttle->known[i].n; k++) {
			struct known_login *record = &throttle->known[i].items[k];

			if (record->company == most &&
				(oldest == NULL || record->good_us < oldest->good_us)) {
				oldest = record;
				where = &throttle->known[i];
			}
		}
	*oldest = where->items[--where->n];
	throttle->known_of[most]--;
	throttle->known_n--;
}

static struct known_login *add_record(
	struct login_throttle *throttle, const struct caller *caller, const char *company_id)
{
	struct known_logins *known = &throttle->known[caller->login[0]];
	struct known_login *added;

	if (throttle->known_n == KNOWN_LOGINS_MAX)
		forget_a_record(throttle);
	throttle->known_n++;
	known->items = mem_append(known->items, known->n, sizeof(*known->items));
	added = &known->items[known->n++];
	*added = (struct known_login){.company = id_hash(company_id) % KNOWN_COMPANIES};
	memcpy(added->login, caller->login, SECRET_HASH_LEN);
	throttle->known_of[added->company]++;
	return added;
}

static void make_known(struct login_throttle *throttle, const struct caller *caller,
	const char *company_id, int64_t now_us)
{
	struct known_login *record = find_record(throttle, caller);
	struct set *clients;
	struct tries *slot;

	if (record == NULL)
		record = add_record(throttle, caller, company_id);
	record->good_us = now_us;
	clients = &record->clients;
	slot = find_tries(clients, caller->pair);
	for (size_t i = 0; i < SLOTS && !find_tries(clients, caller->pair); i++)
		if (slot == NULL || clients->slots[i].last_us < slot->last_us)
			slot = &clients->slots[i];
	*slot = (struct tries){.last_us = now_us};
	memcpy(slot->hash, caller->pair, SECRET_HASH_LEN);
}

/* The count of wrong codes: a known client has its own, all others share one. */
static struct tries *tries_of_codes(
	struct login_throttle *throttle, const struct caller *caller, bool known, int64_t now_us)
{
	return slot_of(&throttle->sets[OF_CODES][caller->login[0]],
		known ? caller->pair : caller->login, now_us);
}

static void count_try(struct tries *tries, int64_t now_us, int64_t most_s)
{
	int64_t wait_s = 0;

	if (is_forgotten(tries, now_us))
		tries->n = 0;
	tries->last_us = now_us;
	if (++tries->n > FREE_TRIES)
		wait_s = tries->n - FREE_TRIES < 20 ? INT64_C(1) << (tries->n - FREE_TRIES)
						    : most_s;
	tries->free_us = now_us + (wait_s < most_s ? wait_s : most_s) * INT64_C(1000000);
}

static void take_back(struct tries *tries)
{
	if (tries && tries->n > 0)
		tries->n--;
	if (tries)
		tries->free_us = 0;
}

int login_throttle_try(
	struct login_throttle *throttle, const char *client, const char *login, int64_t now_us)
{
	struct caller caller = caller_of(throttle, client, login);
	struct set *clients = &throttle->sets[OF_CLIENT][caller.client[0]];
	struct set *logins = &throttle->sets[OF_LOGIN][caller.login[0]];
	struct tries *known = find_known(throttle, &caller);
	struct tries *by_client = known ? known : slot_of(clients, caller.client, now_us);
	struct tries *by_login = known ? known : slot_of(logins, caller.login, now_us);
	const struct tries *codes = tries_of_codes(throttle, &caller, known != NULL, now_us);
	int64_t free_us = codes->free_us;

	if (free_us < by_client->free_us)
		free_us = by_client->free_us;
	if (free_us < by_login->free_us)
		free_us = by_login->free_us;
	if (free_us > now_us)
		return (int)((free_us - now_us + 999999) / 1000000);
	count_try(by_login, now_us, LOGIN_WAIT_S);
	/* Unknown clients that share a slot must not make each other wait long. */
	if (!known)
		count_try(by_client, now_us,
			by_client == &clients->others ? LOGIN_WAIT_S : CLIENT_WAIT_S);
	return 0;
}

/* Keeps the count of the client: a user must not use their own login to guess
 * others from the same address. */
void login_throttle_good(struct login_throttle *throttle, const char *client, const char *login,
	const char *company_id, int64_t now_us)
{
	struct caller caller = caller_of(throttle, client, login);
	bool known = find_known(throttle, &caller) != NULL;
	struct tries *codes = find_tries(
		&throttle->sets[OF_CODES][caller.login[0]], known ? caller.pair : caller.login);
	struct tries *by_login = find_tries(
		&throttle->sets[OF_LOGIN][caller.login[0]], caller.login);

	if (codes)
		*codes = (struct tries){0};
	if (!known && by_login)
		*by_login = (struct tries){0};
	if (!known)
		take_back(find_tries(&throttle->sets[OF_CLIENT][caller.client[0]], caller.client));
	make_known(throttle, &caller, company_id, now_us);
}

void login_throttle_half(struct login_throttle *throttle, const char *client, const char *login)
{
	struct caller caller = caller_of(throttle, client, login);
	struct tries *known = find_known(throttle, &caller);

	if (known) {
		take_back(known);
		return;
	}
	take_back(find_tries(&throttle->sets[OF_CLIENT][caller.client[0]], caller.client));
	take_back(find_tries(&throttle->sets[OF_LOGIN][caller.login[0]], caller.login));
}

void login_throttle_wrong_code(
	struct login_throttle *throttle, const char *client, const char *login, int64_t now_us)
{
	struct caller caller = caller_of(throttle, client, login);
	bool known = find_known(throttle, &caller) != NULL;

	count_try(tries_of_codes(throttle, &caller, known, now_us), now_us, CODE_WAIT_S);
}
