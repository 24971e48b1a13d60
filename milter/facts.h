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
#include "core/store/store_idempotency.h"
#include "core/store/store_key.h"
#include "core/store/store_probe.h"
#include "core/store/store_suppression.h"
#include "milter/session.h"

/*
 * sources: whom a message could be said to come from, by its envelope and by
 * each reading of its header.
 */

/* A message that names more is not checked. */
enum { SOURCES_DOMAINS = ADDR_SENDER_DOMAINS };

struct sources {
	struct strv domains;  /* each once, and at most one more than that */
	char *from;           /* the one author, `local@domain`; NULL when
			       * fields or readings name several, or none */
	bool unclear;         /* readings of the header can differ */
	struct strv senders;  /* of the domains, those of the envelope and of fields like Sender */
	bool senders_unclear; /* readings of such a field can differ */
};

/* The caller clears them. */
void sources_find(const struct session_message *message, struct sources *sources_r);
void sources_clear(struct sources *sources);
#define _cleanup_sources_ __attribute__((cleanup(sources_clear)))

struct facts {
	struct verdict_facts verdict;
	bool probe_through; /* with TICKET_PROBE: see struct probe */
	enum probe_change probe_changed;
	bool ticket_found;
	struct email_ticket ticket;        /* when it was found */
	struct suppressed_list suppressed; /* of its recipients, when it is staged: whom it does
					    * not go to */
	bool key_found;                    /* of a message with the login of a key: the valid key */
	struct key key;
	char *return_path; /* of the domain of its From, as the next one; see struct domain */
	bool unsubscribe;
	char *tags;           /* of its fields, as struct email has them, see */
	char *variables;      /* tag_fields_read() */
	struct err field_err; /* with verdict.bad_field: in words for the client */
	bool has_idempotency; /* it has an Idempotency-Key: */
	struct idempotency_key idempotency;
	uint8_t payload[SECRET_HASH_LEN];
	char earlier[ID_SIZE]; /* the email that had it before; "": none */
	bool earlier_lost;     /* ... and never arrived in Postfix */
	char *mailbox;         /* `local@domain` of its one From; NULL when not clear */
	char *domain;          /* the registered one that the message claims, by its
				* ticket or without; NULL for none */
	struct err err;        /* why, when verdict.store_failed */
};

/* Fills the facts of the session's message; cannot fail, because a store that
 * fails is a fact. The caller clears them. */
void facts_read(
	struct db_pool *pool, const struct milter_session *session, struct facts *changes_r);
void facts_clear(struct facts *facts);
#define _cleanup_facts_ __attribute__((cleanup(facts_clear)))

#endif
