/*
 * op_webhook: endpoints that are told what becomes of emails, what they were told, and the
 * attempts.
 *
 * A key that is restricted to a domain sees and makes only those of this domain. Types of events
 * are stored as they are given: clients stop at names that they did not send.
 */
#ifndef POSTERN_OPS_OP_WEBHOOK_H
#define POSTERN_OPS_OP_WEBHOOK_H

#include "core/ops/op.h"
#include "core/store/store_webhook.h"

enum {
	OP_WEBHOOK_EVENTS_MAX = 64,
	OP_WEBHOOK_URLS_MAX = 3, /* of a name of the form API */
};

struct op_webhook {
	const char *company_id;
	const char *domain;   /* its events alone; NULL: all; when it is changed "" */
	const char *endpoint; /* NULL: as it is */
	const char *events;   /* words with commas between; NULL: as they are */
	enum op_flag enabled;
	enum op_flag
		in_trouble; /* of a list: those alone that fail, or that failing has disabled */
};

/* Users see besides how much waits for each, as `waiting`. */

/* Gives the webhook, with its `signing_secret`. */
extern const struct operation op_webhook_add;
/* Gives webhooks, the newest first. */
extern const struct operation op_webhook_list;
/* The same in pages that can be searched. */
extern const struct operation op_webhook_search;
/* Gives the webhook; keys and the command get its `signing_secret`. */
extern const struct operation op_webhook_get;
/* The same with the secret for users, too, which is written down. */
extern const struct operation op_webhook_secret;
/* Sets what is given. Gives the webhook. */
extern const struct operation op_webhook_update;
extern const struct operation op_webhook_remove;
/* A new secret; the one before counts for a day. Gives the webhook with its `signing_secret`. */
extern const struct operation op_webhook_rotate;
/* Sends an event that tells of no email. Gives the event. */
extern const struct operation op_webhook_test;

/* Of what the webhook was told. */
struct op_webhook_event {
	const char *event_id; /* NULL: those of the time */
	int64_t since;
	int64_t until;
};
/* Gives events, the newest first; one, with its `payload`; and its attempts. */
extern const struct operation op_webhook_events;
extern const struct operation op_webhook_event;
extern const struct operation op_webhook_attempts;
/* Sends one, or those of the time, once more, whatever became of it. Gives the event, or how many
 * they are as `events`. */
extern const struct operation op_webhook_replay;

/* The webhooks of the form API: the URLs of a name, of a domain. */
struct op_webhook_urls {
	const char *domain;
	const char *name; /* NULL: all */
	const char *const *urls;
	size_t n;
};
/* Each gives `webhooks`, an object of names with their `urls`, as they are then, or were when they
 * are removed. 0 when the name has none. */
extern const struct operation op_webhook_urls_get;
extern const struct operation op_webhook_urls_add;
extern const struct operation op_webhook_urls_set;
extern const struct operation op_webhook_urls_remove;
/* Has a test sent to those of the name. */
extern const struct operation op_webhook_urls_test;

#endif
