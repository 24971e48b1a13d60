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
	/* The most bytes of all messages in hand, also as a part of http.max_inflight_bytes, so
	 * that later requests have room while those in hand stay there. */
	IN_HAND_BYTES = 64 * 1024 * 1024,
	IN_HAND_PART = 4,
	/* Emails from the store; one look of the feeder may exceed it. */
	IN_HAND_FROM_STORE = 128,
};

/* The maximum of all companies. */
struct in_hand_limits {
	int64_t emails;
	int64_t bytes;
};

struct in_hand_company {
	char id[ID_SIZE];
	int64_t emails;
	int64_t bytes;
	int64_t from_store; /* of the emails: the feeder took them from there */
};

/* Starts zeroed. */
struct in_hand {
	struct in_hand_limits limits;      /* from in_hand_set_limits() */
	struct in_hand_company *companies; /* the companies that have emails in hand, in no order */
	size_t n;
	struct in_hand_company all; /* the sum; id unused */
	_Atomic int64_t emails;     /* a copy of the sum, for other threads */
};

void in_hand_clear(struct in_hand *in_hand);

/* From submission.max_pending and http.max_inflight_bytes. */
void in_hand_set_limits(struct in_hand *in_hand, int64_t max_pending, int64_t max_inflight_bytes);

/* Adds an email. False if the email has to wait. */
bool in_hand_enter(struct in_hand *in_hand, const char *company_id, int64_t bytes, bool from_store);
void in_hand_leave(struct in_hand *in_hand, const char *company_id, int64_t bytes, bool from_store);

/* True if a company that has no email in hand may have one. */
bool in_hand_has_room(const struct in_hand *in_hand);

/* Appends the ids of the companies of which the feeder must not take emails now. */
void in_hand_full(const struct in_hand *in_hand, struct buf *ids);

/* Any thread. */
int64_t in_hand_emails(struct in_hand *in_hand);

#endif
