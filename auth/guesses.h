/*
 * guesses: logins that fail, by the address of the client, so that a flood of
 * them is limited and does not fill the log.
 */
#ifndef POSTERN_AUTH_GUESSES_H
#define POSTERN_AUTH_GUESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/mem.h"

enum {
	GUESSES_WINDOW_S = 60,
	GUESSES_MAX = 100,  /* that may fail in a window; then all of the address wait */
	GUESSES_LOGGED = 5, /* that are logged, one by one */
};

enum guess {
	GUESS_LOGGED, /* log it */
	GUESS_LAST,   /* the last one that is logged in this window */
	GUESS_SILENT,
	GUESS_LIMITED, /* as silent; the limit is reached with it: log that */
};

struct guesses;

struct guesses *guesses_new(void);
void guesses_free(struct guesses *guesses);
DEFINE_CLEANUP(guesses, guesses_free)

/* Whether the limit of the address is reached. Of loopback there is none: local
 * programs share it. Of IPv6 an address is a network of 64 bits. now_us is of a
 * clock that never goes back. */
bool guesses_limited(struct guesses *guesses, const char *client, int64_t now_us);

/* One more has failed. */
enum guess guesses_add(struct guesses *guesses, const char *client, int64_t now_us);

#endif
