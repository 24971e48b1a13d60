/*
 * op_webhook: webhooks, their events, and the attempts to send these.
 *
 * A key that is restricted to a domain sees and creates only webhooks of this domain. Event types
 * are stored as given, because clients fail on names that they did not send.
 */
#ifndef POSTERN_OPS_OP_WEBHOOK_H
#define POSTERN_OPS_OP_WEBHOOK_H

#include "core/ops/op.h"
#include "core/store/webhook/store_webhook.h"

enum {
	OP_WEBHOOK_EVENTS_MAX = 64,
	OP_WEBHOOK_URLS_MAX = 3, /* URLs of one event name of the form API */
};

struct op_webhook {
	const char *company_id;
	const char *domain;   /* only its events; NULL: of all domains; in an update: unchanged, and
			       * "" stands for all */
	const char *endpoint; /* NULL in an update: unchanged */
	const char *events;   /* separated by commas; NULL in an update: unchanged */
	enum op_flag enabled;
	enum op_flag in_trouble; /* for a list: only webhooks that fail, or were disabled for it */
};

/* Users also see how many events wait for each, as `waiting`. */

/* Gives the webhook, with its `signing_secret`. */
extern const struct operation op_webhook_add;
/* Gives webhooks, newest first. */
extern const struct operation op_webhook_list;
/* Lists webhooks for the dashboard, in pages. */
extern const struct operation op_webhook_search;
/* Gives the webhook; keys and the command get its `signing_secret`. */
extern const struct operation op_webhook_get;
/* The same, with the secret for users, too. An audit entry says that they saw it. */
extern const struct operation op_webhook_secret;
/* Sets what is given. Gives the webhook. */
extern const struct operation op_webhook_update;
extern const struct operation op_webhook_remove;
/* Makes a new secret; the previous one also signs for a day. Gives the webhook with its
 * `signing_secret`. */
extern const struct operation op_webhook_rotate;
/* Sends an event that is about no email. Gives the event. */
extern const struct operation op_webhook_test;

struct op_webhook_event {
	const char *event_id; /* NULL: all of the time span */
	int64_t since;
	int64_t until;
};
/* Give events, newest first; one event, with its `payload`; and its attempts. */
extern const struct operation op_webhook_events;
extern const struct operation op_webhook_event;
extern const struct operation op_webhook_attempts;
/* Sends one event, or those of a time span, again, whatever their status. Gives the event, or how
 * many they are as `events`. */
extern const struct operation op_webhook_replay;

/* A webhook of the form API: the URLs of a domain that get one type of event, the name. */
struct op_webhook_urls {
	const char *domain;
	const char *name; /* NULL: all */
	const char *const *urls;
	size_t n;
};
/* Each gives `webhooks`, an object of names with their `urls`: after the change, or before a
 * removal. Returns 0 if the name has none. */
extern const struct operation op_webhook_urls_get;
extern const struct operation op_webhook_urls_add;
extern const struct operation op_webhook_urls_set;
extern const struct operation op_webhook_urls_remove;
/* Sends a test to those of the name. */
extern const struct operation op_webhook_urls_test;

#endif
