/*
 * keyed_request: requests that a send_rig sends, with and without an
 * Idempotency-Key.
 */
#ifndef POSTERN_TESTS_KEYED_REQUEST_H
#define POSTERN_TESTS_KEYED_REQUEST_H

#include "tests/unit/send_rig.h"

enum { KEYED_EMAILS = 3 }; /* at most, in a request */

/* To whom they go. */
extern const char *const keyed_request_to[KEYED_EMAILS];

/* The hash of every request's payload. */
extern const uint8_t keyed_request_payload[SECRET_HASH_LEN];

/* What a test sends, and under which key; 0: none. */
struct keyed_request {
	size_t n;
	uint8_t key;
	bool permissive;
	size_t bytes;         /* of text in each; 0: few */
	int64_t scheduled_us; /* of each; 0: they go out at once */
	size_t bad;           /* the email, from 1, that cannot be read; 0: none */
	/* Of each email; NULL: hello@example.com. */
	const char *from[KEYED_EMAILS];
};

/* Sends it, or its repeat, and waits for the outcome; whether the key was used
 * before and nothing was composed. */
bool keyed_request_send(struct send_rig *rig, const struct keyed_request *what);

/* No row is left of what was sent, and all goes well from now on. */
void keyed_request_forget_all(struct send_rig *rig);

#endif
