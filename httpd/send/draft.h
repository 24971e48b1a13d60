/*
 * draft: an email that a client wants to send, whichever dialect it speaks.
 */
#ifndef POSTERN_HTTPD_SEND_DRAFT_H
#define POSTERN_HTTPD_SEND_DRAFT_H

#include <stdint.h>

#include "core/compose/mime_message.h"
#include "httpd/http/problem.h"

/* What a draft owns besides its message: this table declares, counts and frees the members. tags
 * and variables are JSON, see struct email. If the client made the whole message itself, that is
 * `finished`; the members of message are what it says, and envelope has its recipients. */
#define DRAFT_MEMBERS(MEMBER)                                                                      \
	MEMBER(struct addr_list, bcc, NULL) /* in the envelope only */                             \
	MEMBER(struct addr_list, envelope, NULL)                                                   \
	MEMBER(struct buf, finished, NULL)                                                         \
	MEMBER(char *, tags, NULL)                                                                 \
	MEMBER(char *, variables, NULL)

/* Plain data; starts zeroed, freed with draft_clear(). */
struct draft {
	/* Has no date yet, and a message_id only if the client chose one. */
	struct mime_message message;
	DRAFT_MEMBERS(MIME_DECLARE)
	bool text_made;     /* text was made from html */
	bool reply_to_made; /* reply_to was read after variables were filled in */
	bool test;          /* the email is recorded, and delivered to nobody */
	/* When it is sent; 0 for at once. A time in the past is refused, except in a repeat. */
	int64_t scheduled_us;
};

/* Estimates of the memory that it holds: attachments or the finished message, and all the rest. */
uint64_t draft_files_size(const struct draft *draft);
uint64_t draft_text_size(const struct draft *draft);

void draft_clear(struct draft *draft);
#define _cleanup_draft_ __attribute__((cleanup(draft_clear)))

/* Makes several emails of one draft (`base`), each for one of its `to`. Each is made when it is
 * needed, on any thread: all at once would take too much memory. */
struct send_personal {
	/* Estimates the memory that email i needs in addition to base. */
	uint64_t (*size)(const struct send_personal *personal, const struct draft *base, size_t i);
	/* True if html is the same for all emails. Then so is the text made from it, and make()
	 * takes it from base. */
	bool (*same_html)(const struct send_personal *personal, const struct draft *base);
	/* Makes email i, which shares with base what is the same for all. clear() ends it, also
	 * after a failure. 0, or -1 with the problem. */
	int (*make)(const struct send_personal *personal, const struct draft *base, size_t i,
		struct draft *email_r, struct problem *problem);
	void (*clear)(struct draft *email);
	void (*free)(struct send_personal *personal);
};

#endif
