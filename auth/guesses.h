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
	GUESSES_MAX = 100,   /* failures per window; then all logins of the address are put off */
	GUESSES_LOGGED = 5,  /* failures per window that are logged */
	GUESSES_LINES = 100, /* lines in the log per window, of all addresses together */
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
 * programs share them. Addresses are counted as cidr_client() says. now_us is of a monotonic clock.
 */
bool guesses_limited(struct guesses *guesses, const char *address, int64_t now_us);

/* Counts a failed login. GUESS_SILENT also if the log has had its lines of this window. */
enum guess guesses_add(struct guesses *guesses, const char *address, int64_t now_us);

/* True if the log may have one more line in this window; counts the line. */
bool guesses_may_log(struct guesses *guesses, int64_t now_us);

/* Returns how many lines were left out of the log because of GUESSES_LINES, once, after the end of
 * their window; otherwise 0. Until then no new window begins: call it every second or so. */
int guesses_left_out(struct guesses *guesses, int64_t now_us);

#endif
