/*
 * in_hand: how much each company is submitting to Postfix, and which may submit more.
 *
 * A company gets one more email while it has fewer than are still free: of the emails, of their
 * bytes, and of the emails that come from the store. So other companies find room, however much
 * one company has in hand and however long that takes.
 *
 * Threads: the outbox's, except for in_hand_emails().
 */
#ifndef POSTERN_HTTPD_OUTBOX_IN_HAND_H
#define POSTERN_HTTPD_OUTBOX_IN_HAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/id.h"

enum {
	/* Of all messages. */
	IN_HAND_BYTES = 64 * 1024 * 1024,
	/* Emails from the store; one look of the feeder may exceed it. */
	IN_HAND_FROM_STORE = 128,
};

struct in_hand_company {
	char id[ID_SIZE];
	int64_t emails;
	int64_t bytes;
	int64_t from_store; /* of the emails: the feeder took them from there */
};

/* Starts zeroed. */
struct in_hand {
	struct in_hand_company *companies; /* those that have emails in hand, in no order */
	size_t n;
	struct in_hand_company all; /* the sum; id unused */
	_Atomic int64_t emails;     /* of the sum, for other threads */
};

void in_hand_clear(struct in_hand *in_hand);

/* Adds an email. most is the maximum of all companies. False if the email has to wait. */
bool in_hand_enter(struct in_hand *in_hand, const char *company_id, int64_t bytes, bool from_store,
	int64_t most);
void in_hand_leave(struct in_hand *in_hand, const char *company_id, int64_t bytes, bool from_store);

/* True if a company that has no email in hand may have one. */
bool in_hand_has_room(const struct in_hand *in_hand, int64_t most);

/* Appends the ids of the companies of which the feeder must not take emails now. */
void in_hand_full(const struct in_hand *in_hand, int64_t most, struct buf *ids);

/* Any thread. */
int64_t in_hand_emails(struct in_hand *in_hand);

#endif
