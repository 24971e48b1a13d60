/*
 * in_hand: how much of each company is on its way into Postfix, and who may have more.
 *
 * A company gets one more while it has fewer than are left, of the emails, of their
 * bytes, and of those that the feeder has taken. So however much of one is in hand,
 * and however long it stays there, others find room.
 *
 * Threads: the outbox's, but for in_hand_emails().
 */
#ifndef POSTERN_HTTPD_OUTBOX_IN_HAND_H
#define POSTERN_HTTPD_OUTBOX_IN_HAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/id.h"

enum {
	/* So many bytes of messages are in hand. */
	IN_HAND_BYTES = 64 * 1024 * 1024,
	/* So many emails from the store, and those that one look takes more. */
	IN_HAND_FED = 128,
};

struct in_hand_company {
	char id[ID_SIZE];
	int64_t emails;
	int64_t bytes;
	int64_t fed; /* of the emails: the feeder took them from the store */
};

/* Starts zeroed. */
struct in_hand {
	struct in_hand_company *companies; /* those that have any */
	size_t n;
	struct in_hand_company all; /* id unused */
	_Atomic int64_t emails;     /* as in all */
};

void in_hand_clear(struct in_hand *in_hand);

/* One more email of so many bytes; most: of all companies. False: it has to wait. */
bool in_hand_enter(
	struct in_hand *in_hand, const char *company_id, int64_t bytes, bool fed, int64_t most);
void in_hand_leave(struct in_hand *in_hand, const char *company_id, int64_t bytes, bool fed);

/* Whether a company that has none may have one. */
bool in_hand_has_room(const struct in_hand *in_hand, int64_t most);

/* Appends the ids of the companies of which the feeder is to take none now. */
void in_hand_full(const struct in_hand *in_hand, int64_t most, struct buf *ids);

/* On any thread. */
int64_t in_hand_emails(struct in_hand *in_hand);

#endif
