/*
 * store_refusal: messages without an email that the milter stopped, or would have stopped under
 * another policy. The number of rows and their texts are bounded, because senders control how often
 * and with what they are refused.
 */
#ifndef POSTERN_STORE_STORE_REFUSAL_H
#define POSTERN_STORE_STORE_REFUSAL_H

#include "core/db/db.h"

enum refusal_outcome {
	REFUSAL_REJECTED,
	REFUSAL_HELD,
	REFUSAL_DISCARDED,
	REFUSAL_LEARNT,  /* accepted, because the policy of the domain is `learn` */
	REFUSAL_OUTCOMES /* also: an outcome unknown to this program */
};

/* Refusals that differ only in queue id and time are one row with a count, as long as the domain
 * belongs to the same company. */
struct refusal {
	int64_t seq; /* random; orders rows with the same time */
	enum refusal_outcome outcome;
	char *reason; /* a word of verdict_reason_name() */
	char *domain; /* the registered domain; "" if there is none, as for the texts below */
	char *origin;
	char *client;
	char *login;
	char *sender;
	char *from;     /* the mailbox of the header From, or its raw text */
	char *queue_id; /* of the latest message */
	char *host;     /* whose Postfix that is; "": there is one host */
	int64_t count;
	int64_t first_us;
	int64_t last_us;
};

struct refusal_list {
	struct refusal *items;
	size_t n;
};

/* What the milter knows about a message; NULL stands for "". */
struct refusal_note {
	enum refusal_outcome outcome;
	const char *reason;
	const char *domain;
	const char *origin;
	const char *client;
	const char *login;
	const char *sender;
	const char *from;
	const char *queue_id;
	int64_t now_us;
	int64_t keep; /* the maximum number of rows */
};

/* Records a refusal; texts are cut to 256 bytes and made valid UTF-8. The oldest rows are removed,
 * a few at a time. Returns 0 or -1. */
int store_refusal_note(struct db *db, const struct refusal_note *note, struct err *err);

struct refusal_scope {
	/* Refusals of domains that were registered to it at the time; NULL: all. */
	const char *company_id;
	const char *domain; /* NULL: all */
	bool learnt_only;
	/* Continues after the refusal with this last_us and seq; 0: from the start. A refusal that
	 * is counted again meanwhile moves to the front. */
	int64_t behind_us;
	int64_t behind_seq;
};
/* Lists up to limit refusals, newest first. Returns 0 or -1. */
int store_refusal_list(struct db *db, const struct refusal_scope *scope, int limit,
	struct refusal_list *list_r, struct err *err);

/* Such as `rejected`. */
const char *store_refusal_outcome_name(enum refusal_outcome outcome);

void store_refusal_list_free(struct refusal_list *list);

#endif
