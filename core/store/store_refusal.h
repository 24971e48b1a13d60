/*
 * store_refusal: what the milter stopped, or would have under another policy,
 * and has no email for. The number of rows is bounded, and so are their texts:
 * whoever is refused decides how often, and what with.
 */
#ifndef POSTERN_STORE_STORE_REFUSAL_H
#define POSTERN_STORE_STORE_REFUSAL_H

#include "core/db/db.h"

enum refusal_outcome {
	REFUSAL_REJECTED,
	REFUSAL_HELD,
	REFUSAL_DISCARDED,
	REFUSAL_LEARNT,  /* it passed, because the domain only learns */
	REFUSAL_OUTCOMES /* also: one that this program does not know */
};

/* What is equal in all but queue id and times is counted as one, as long as its
 * domain is of the same company. */
struct refusal {
	int64_t seq; /* tells those of one time apart; random */
	enum refusal_outcome outcome;
	char *reason; /* a word, as verdict_reason_name() */
	char *domain; /* the registered one; "" when there is none, as below */
	char *origin;
	char *client;
	char *login;
	char *sender;
	char *from;     /* the mailbox of the header From, or its text */
	char *queue_id; /* of the last one */
	int64_t count;
	int64_t first_us;
	int64_t last_us;
};

struct refusal_list {
	struct refusal *items;
	size_t n;
};

/* What the milter knows of one message; NULL stands for "". */
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
	int64_t keep; /* how many rows may be there */
};

/* Writes one down, its texts cut to 256 bytes and made UTF-8; the oldest rows
 * give way, a few at a time. 0 or -1. */
int store_refusal_note(struct db *db, const struct refusal_note *note, struct err *err);

struct refusal_scope {
	const char *company_id; /* of what used its registered domains, when
				 * it was noted; NULL: of everything */
	const char *domain;     /* NULL: every one */
	bool learnt_only;
	/* Those behind one of which these are last_us and seq; 0: all. One that
	 * is counted again meanwhile is among the newest then. */
	int64_t behind_us;
	int64_t behind_seq;
};
/* The newest limit ones, newest first. */
int store_refusal_list(struct db *db, const struct refusal_scope *scope, int limit,
	struct refusal_list *list_r, struct err *err);

/* As `rejected`. */
const char *store_refusal_outcome_name(enum refusal_outcome outcome);

void store_refusal_list_free(struct refusal_list *list);

#endif
