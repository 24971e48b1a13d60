/*
 * guesses: counts failed logins by client address, to limit a flood of them and keep it out of
 * the log.
 */
#ifndef POSTERN_AUTH_GUESSES_H
#define POSTERN_AUTH_GUESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/mem.h"

enum {
	GUESSES_WINDOW_S = 60,
	GUESSES_MAX = 100,  /* failures per window; then all logins of the address are put off */
	GUESSES_LOGGED = 5, /* failures per window that are logged */
};

enum guess {
	GUESS_LOGGED, /* log it */
	GUESS_LAST,   /* log it, as the last of this window */
	GUESS_SILENT,
	GUESS_LIMITED, /* the limit is reached: log that; the failure itself is not logged */
};

struct guesses;

struct guesses *guesses_new(void);
void guesses_free(struct guesses *guesses);
DEFINE_CLEANUP(guesses, guesses_free)

/* True if the address has reached its limit. Loopback addresses have no limit, because local
 * programs share them. IPv6 is counted by /64 network. now_us is of a monotonic clock. */
bool guesses_limited(struct guesses *guesses, const char *client, int64_t now_us);

/* Counts a failed login. */
enum guess guesses_add(struct guesses *guesses, const char *client, int64_t now_us);

#endif
