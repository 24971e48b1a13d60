/*
 * facts: reads from the session and the store what verdict_decide() needs.
 */
#ifndef POSTERN_MILTER_FACTS_H
#define POSTERN_MILTER_FACTS_H

#include "core/base/err.h"
#include "core/db/db_pool.h"
#include "core/policy/verdict.h"
#include "core/store/email/store_email.h"
#include "core/store/email/store_idempotency.h"
#include "core/store/company/store_key.h"
#include "core/store/outbox/store_probe.h"
#include "core/store/email/store_suppressed.h"
#include "milter/known_domains.h"
#include "milter/session.h"

/*
 * sources: the domains that a message claims by its envelope and by each possible reading of
 * its header.
 */

/* A message that claims more domains is refused unchecked. */
enum { SOURCES_DOMAINS = ADDR_SENDER_DOMAINS };

struct sources {
	struct strv domains;  /* without duplicates; at most SOURCES_DOMAINS + 1 */
	char *from;           /* the only author, `local@domain`; NULL if there is none, or
			       * fields or readings name several */
	char *mailbox;        /* that of the only From field; NULL if that is unclear */
	bool unclear;         /* readers can disagree about the header */
	struct strv senders;  /* the domains of the envelope and of fields like Sender */
	bool senders_unclear; /* readers can disagree about such a field */
};

/* The caller calls sources_clear(). */
void sources_find(const struct session_message *message, struct sources *sources_r);
void sources_clear(struct sources *sources);
#define _cleanup_sources_ __attribute__((cleanup(sources_clear)))

struct facts {
	struct verdict_facts verdict;
	bool probe_through; /* with TICKET_PROBE: see probe.through */
	enum probe_change probe_changed;
	bool ticket_found;
	struct email_ticket ticket;        /* set if ticket_found */
	struct suppressed_list suppressed; /* the recipients that a staged email is not sent to */
	bool key_found;                    /* the message came with a key's login, and the key
					    * is valid */
	struct key_login login;            /* that key, and the domain of From */
	char *tags;           /* tags and variables: from the message's fields, as in struct
			       * email, */
	char *variables;      /* see tag_fields_read() */
	struct err field_err; /* with verdict.bad_field: the error for the client */
	bool has_idempotency; /* the message has an Idempotency-Key */
	struct idempotency_key idempotency;
	uint8_t payload[SECRET_HASH_LEN];
	char earlier[ID_SIZE]; /* the email that used this key before; "" if none */
	bool earlier_lost;     /* that email never reached Postfix */
	char *mailbox;         /* `local@domain` of the only From; NULL if unclear */
	char *domain;          /* the registered domain that the message claims, by its ticket
				* or its header; NULL if none */
	struct err err;        /* the reason, if verdict.store_failed */
};

/* Fills the facts of the session's message. Cannot fail: a failing store is a fact
 * (store_failed). The caller calls facts_clear(). */
void facts_read(struct db_pool *pool, const struct milter_session *session, struct facts *facts_r);

/* Completes the facts of a message for which the store could not be read: notes if the message uses
 * none of the registered domains, by a copy of these that is not older than max_age_ms. */
void facts_read_known(struct known_domains *known, int64_t max_age_ms,
	const struct milter_session *session, struct facts *facts);
void facts_clear(struct facts *facts);
#define _cleanup_facts_ __attribute__((cleanup(facts_clear)))

#endif
