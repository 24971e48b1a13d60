/*
 * draft: an email that a client wants sent, whichever dialect it spoke, and
 * what became of it.
 */
#ifndef POSTERN_HTTPD_SEND_DRAFT_H
#define POSTERN_HTTPD_SEND_DRAFT_H

#include <stdint.h>

#include "core/base/id.h"
#include "core/compose/mime_message.h"
#include "httpd/http/problem.h"

/* What an email owns besides its message: by this table the members are
 * declared, counted and freed. tags and variables are JSON, see struct email. A
 * client may have made the whole message itself: it is `finished` then, the
 * members of message are what it says, and envelope has its recipients. */
#define DRAFT_MEMBERS(MEMBER)                                                                      \
	MEMBER(struct addr_list, bcc, NULL) /* in the envelope only */                             \
	MEMBER(struct addr_list, envelope, NULL)                                                   \
	MEMBER(struct buf, finished, NULL)                                                         \
	MEMBER(char *, tags, NULL)                                                                 \
	MEMBER(char *, variables, NULL)

/* Plain data; starts zeroed, freed with draft_clear(). */
struct draft {
	/* Without date; message_id only when the client chose one. */
	struct mime_message message;
	DRAFT_MEMBERS(MIME_DECLARE)
	bool text_made;     /* text was made of html */
	bool reply_to_made; /* was read after variables were put in */
	bool test;          /* to be recorded, but delivered to nobody */
	/* When it is to go out; 0: at once. With a time that is over only a repeat is
	 * answered. */
	int64_t scheduled_us;
};

/* How much memory it holds, about: its attachments, or the finished message,
 * and all the rest. */
uint64_t draft_files_size(const struct draft *draft);
uint64_t draft_text_size(const struct draft *draft);

void draft_clear(struct draft *draft);
#define _cleanup_draft_ __attribute__((cleanup(draft_clear)))

/* Makes emails of one, each for one of its `to`, on any thread and when it is
 * needed: all at once would take too much memory. */
struct send_personal {
	/* About how much memory email i takes that base does not hold. */
	uint64_t (*size)(const struct send_personal *personal, const struct draft *base, size_t i);
	/* Whether html is the same for all: then so is the text made of it,
	 * which make() leaves as it is in base. */
	bool (*same_html)(const struct send_personal *personal, const struct draft *base);
	/* Makes email i, which shares with base what is the same for all; also
	 * after a problem it is ended with clear(). 0, or -1 with the
	 * problem. */
	int (*make)(const struct send_personal *personal, const struct draft *base, size_t i,
		struct draft *email_r, struct problem *problem);
	void (*clear)(struct draft *email);
	void (*free)(struct send_personal *personal);
};

/* What became of one email. */
struct send_result {
	char id[ID_SIZE];
	const char *message_id; /* with <>; NULL when it was not composed now */
	const char *to;         /* its first recipient; NULL likewise */
	struct problem problem; /* its kind is PROBLEM_NONE: no fault of its own */
};

/* What became of all n, in their order; lives for the call of done. */
struct send_outcome {
	const struct problem *problem; /* of the request; NULL: see the results */
	const struct send_result *results;
	size_t n;
	size_t sent; /* are with Postfix, or in the outbox; the others are not */
};

typedef void send_done(void *arg, const struct send_outcome *outcome);

/* The problem of the request, or the first one among the results; NULL when all
 * is well. */
const struct problem *send_first_problem(const struct send_outcome *outcome);

#endif
