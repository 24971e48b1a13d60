/*
 * login_throttle: a table of fixed size of who has tried.
 *
 * After FREE_TRIES in a row each further one has to wait, twice as long as the
 * one before. Who tries is a hash; in a full set the one with the fewest tries
 * within an hour gives way. Each kind has a table of its own, so that what is
 * tried of one drives nobody out of another.
 */
#include "httpd/admin/login_throttle.h"

#include <arpa/inet.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/secret.h"

enum { SETS = 256, PLACES = 8, FREE_TRIES = 5, FORGET_S = 3600 };
enum { CLIENT_WAIT_S = 900, LOGIN_WAIT_S = 60, CODE_WAIT_S = 900 };

struct tries {
	uint8_t who[SECRET_HASH_LEN];
	int n;
	int64_t last_us;
	int64_t free_us;
};

enum tries_of_what { OF_CLIENT, OF_LOGIN, OF_CODES, TRIES_KINDS };

struct login_throttle {
	struct tries sets[TRIES_KINDS][SETS][PLACES];
	int64_t now_us; /* of the last try */
};

struct login_throttle *login_throttle_new(void)
{
	return mem_new(struct login_throttle);
}

void login_throttle_free(struct login_throttle *throttle)
{
	free(throttle);
}

static bool is_forgotten(const struct tries *tries, int64_t now_us)
{
	return now_us - tries->last_us > FORGET_S * INT64_C(1000000);
}

static int still_counts(
	const struct login_throttle *throttle, const struct tries *tries)
{
	return is_forgotten(tries, throttle->now_us) ? 0 : tries->n;
}

static struct tries *find_tries(struct login_throttle *throttle,
	enum tries_of_what kind, const char *who,
	uint8_t hash[static SECRET_HASH_LEN])
{
	struct tries *set;

	secret_hash(who, strlen(who), hash);
	set = throttle->sets[kind][hash[0]];
	for (size_t i = 0; i < PLACES; i++)
		if (memcmp(set[i].who, hash, SECRET_HASH_LEN) == 0)
			return &set[i];
	return NULL;
}

/* The same; a new one where there is none. */
static struct tries *tries_of(struct login_throttle *throttle,
	enum tries_of_what kind, const char *who)
{
	uint8_t hash[SECRET_HASH_LEN];
	struct tries *found = find_tries(throttle, kind, who, hash);
	struct tries *set = throttle->sets[kind][hash[0]], *least = set;

	if (found)
		return found;
	for (size_t i = 1; i < PLACES; i++)
		if (still_counts(throttle, &set[i]) <
			still_counts(throttle, least))
			least = &set[i];
	*least = (struct tries){0};
	memcpy(least->who, hash, sizeof(hash));
	return least;
}

/* Who may come from many addresses counts as one: of IPv6 a network, of IPv4,
 * also where IPv6 stands for it (RFC 4291 2.5.5.2), this host. */
static struct tries *tries_of_client(
	struct login_throttle *throttle, const char *client)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr in6;
	struct in_addr in4;
	bool is_ipv6 = inet_pton(AF_INET6, client, &in6) == 1;

	if (is_ipv6 && !IN6_IS_ADDR_V4MAPPED(&in6)) {
		memset(in6.s6_addr + 8, 0, 8);
		inet_ntop(AF_INET6, &in6, text, sizeof(text));
		return tries_of(throttle, OF_CLIENT, text);
	}
	if (is_ipv6)
		memcpy(&in4, in6.s6_addr + 12, sizeof(in4));
	else if (inet_pton(AF_INET, client, &in4) != 1)
		return tries_of(throttle, OF_CLIENT, client);
	if (ntohl(in4.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET)
		in4.s_addr = htonl(INADDR_LOOPBACK);
	inet_ntop(AF_INET, &in4, text, sizeof(text));
	return tries_of(throttle, OF_CLIENT, text);
}

static void count_try(struct tries *tries, int64_t now_us, int64_t most_s)
{
	int64_t wait_s = 0;

	if (is_forgotten(tries, now_us))
		tries->n = 0;
	tries->last_us = now_us;
	if (++tries->n > FREE_TRIES)
		wait_s = tries->n - FREE_TRIES < 20
				 ? INT64_C(1) << (tries->n - FREE_TRIES)
				 : most_s;
	tries->free_us = now_us +
			 (wait_s < most_s ? wait_s : most_s) * INT64_C(1000000);
}

/* Of wrong codes; NULL when there were none. */
static struct tries *tries_of_codes(
	struct login_throttle *throttle, const char *login)
{
	uint8_t hash[SECRET_HASH_LEN];

	return find_tries(throttle, OF_CODES, login, hash);
}

int login_throttle_try(struct login_throttle *throttle, const char *client,
	const char *login, int64_t now_us)
{
	const struct tries *codes = tries_of_codes(throttle, login);
	int64_t free_us = codes ? codes->free_us : 0;
	struct tries *by_client, *by_login;

	throttle->now_us = now_us;
	by_client = tries_of_client(throttle, client);
	by_login = tries_of(throttle, OF_LOGIN, login);
	if (free_us < by_client->free_us)
		free_us = by_client->free_us;
	if (free_us < by_login->free_us)
		free_us = by_login->free_us;
	if (free_us > now_us)
		return (int)((free_us - now_us + 999999) / 1000000);
	count_try(by_client, now_us, CLIENT_WAIT_S);
	count_try(by_login, now_us, LOGIN_WAIT_S);
	return 0;
}

static void take_back(struct tries *tries)
{
	if (tries->n > 0)
		tries->n--;
	tries->free_us = 0;
}

/* Whoever has one login may not go on guessing others from the same address. */
void login_throttle_good(
	struct login_throttle *throttle, const char *client, const char *login)
{
	struct tries *codes = tries_of_codes(throttle, login);
	struct tries *by_login = tries_of(throttle, OF_LOGIN, login);

	by_login->n = 0;
	by_login->free_us = 0;
	if (codes) {
		codes->n = 0;
		codes->free_us = 0;
	}
	take_back(tries_of_client(throttle, client));
}

void login_throttle_half(
	struct login_throttle *throttle, const char *client, const char *login)
{
	take_back(tries_of_client(throttle, client));
	take_back(tries_of(throttle, OF_LOGIN, login));
}

void login_throttle_wrong_code(
	struct login_throttle *throttle, const char *login, int64_t now_us)
{
	count_try(tries_of(throttle, OF_CODES, login), now_us, CODE_WAIT_S);
}
