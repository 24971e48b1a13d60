/*
 * load: sessions that work through a list of items at the same time, and how
 * long that took.
 *
 * An item is what is sent in one exchange: an HTTP request, a message. Each
 * session has a thread of its own and takes the next item when its last one is
 * answered. The clock starts when all sessions are open.
 */
#ifndef POSTERN_BENCH_LOAD_H
#define POSTERN_BENCH_LOAD_H

#include "tests/bench/tools/session.h"

struct load_item {
	const char *data;
	size_t len;
};

/* How the other side is spoken to. Each returns 0, or -1 when the session is
 * of no more use. */
struct load_protocol {
	int (*greet)(struct session *session, const void *arg);
	/* *done_r tells whether the answer was a yes. */
	int (*exchange)(struct session *session, const struct load_item *item, const void *arg,
		int *done_r);
};

struct load {
	const struct load_protocol *protocol;
	const void *arg; /* for both */
	const char *address;
	size_t sessions;
	size_t count; /* of exchanges; items are used in turn */
	size_t each;  /* in one session, then comes another; 0: all */
	struct load_item *items;
	size_t items_n;
	char *file; /* the items lie in it */
};

/* Reads items from a file, each with its length and a newline before it: 0 or
 * -1. The caller frees items and file. */
int load_read(struct load *load, const char *path);

/* Prints a JSON object: count, failed, seconds, p50_us, p99_us, max_us. 0, or
 * -1 when the other side cannot be reached. */
int load_run(const struct load *load);

extern const struct load_protocol load_http;

/* The envelope of all messages; the arg of load_smtp. */
struct load_envelope {
	const char *sender;
	const char *recipient; /* "-": each item begins with a line of its own,
				* which is that */
	const char *login;     /* of AUTH PLAIN, in base64; NULL: none */
};
extern const struct load_protocol load_smtp;

#endif
