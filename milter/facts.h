/*
 * facts: turns what a session has recorded into what a verdict needs, by
 * asking the store.
 */
#ifndef POSTERN_MILTER_FACTS_H
#define POSTERN_MILTER_FACTS_H

#include "core/base/err.h"
#include "core/db/db_pool.h"
#include "core/policy/verdict.h"
#include "core/store/store_email.h"
#include "milter/session.h"

struct facts {
	struct verdict_facts verdict;
	bool ticket_found;
	struct email_ticket ticket; /* when it was found */
	char *domain;   /* the registered one that the message claims, by its
			 * ticket or without; NULL for none */
	struct err err; /* why, when verdict.store_failed */
};

/* Fills the facts of the session's message; cannot fail, because a store that
 * fails is a fact. The caller clears them. */
void facts_read(struct db_pool *pool, const struct session *session,
	struct facts *facts_r);
void facts_clear(struct facts *facts);
#define _cleanup_facts_ __attribute__((cleanup(facts_clear)))

#endif
