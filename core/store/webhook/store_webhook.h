/*
 * store_webhook: the endpoints to which companies have events sent by HTTP. The events themselves
 * are in store_webhook_event.h.
 */
#ifndef POSTERN_STORE_STORE_WEBHOOK_H
#define POSTERN_STORE_STORE_WEBHOOK_H

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"

enum webhook_dialect {
	WEBHOOK_JSON, /* of the JSON API, signed by Standard Webhooks */
	WEBHOOK_FORM, /* of the form API: a row for each URL of each type of event */
	WEBHOOK_DIALECTS
};

enum {
	WEBHOOK_SECRET_LEN = 24,
	WEBHOOK_ENDPOINT_MAX = 2000,   /* bytes of a URL */
	WEBHOOK_ROTATED_S = 24 * 3600, /* how long the previous secret also signs */
	WEBHOOK_WAITING_MAX = 1000,
	WEBHOOK_TROUBLE_MAX = 1000,
};

struct webhook {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char *domain; /* only its events; NULL: those of all domains */
	enum webhook_dialect dialect;
	char *endpoint; /* a URL */
	char *events;   /* JSON: the names of types, as the client gave them */
	bool enabled;
	int64_t created_us;
	int64_t rotated_us;   /* 0: never */
	int64_t succeeded_us; /* the last attempt that succeeded, to the second; 0: none */
	int64_t failed_us;    /* the last attempt that failed, likewise */
	char *failure;        /* why it failed, in words; NULL: none has failed */
	int64_t failing_us;   /* since when all attempts fail; 0: the last one succeeded */
	int64_t disabled_us;  /* when it was disabled for failing; 0: it was not */
	uint8_t secret[WEBHOOK_SECRET_LEN];
	uint8_t old_secret[WEBHOOK_SECRET_LEN]; /* the previous one; used with rotated_us */
	int64_t waiting; /* events to be sent, by store_webhook_count_waiting() */
};
extern const struct row_type store_webhook_type;
extern const struct row_words store_webhook_dialects;

struct webhook_list {
	struct webhook *items;
	size_t n;
};

/* The webhooks that the caller may see. */
struct webhook_scope {
	const char *company_id; /* NULL: of any */
	const char *domain;     /* NULL: any, and webhooks of all domains */
	const char *dialect;    /* a word; NULL: any */
	bool in_trouble;        /* only those that fail, or were disabled for it */
};

/* Stores a webhook with a new id and secret; in the form dialect the secret is the company's. It
 * gets the events that are recorded from now on. ERR_NOT_FOUND if there is no such company. Returns
 * 0 or -1. */
int store_webhook_add(struct db *db, struct webhook *webhook, int64_t now_us, struct err *err);
/* Sets endpoint, events, domain and enabled. A webhook that is enabled again gets the events that
 * still wait, and those recorded from now on. Returns 1, 0 if there is none, -1 on error. */
int store_webhook_change(struct db *db, const struct webhook *webhook, struct err *err);
/* Creates a new secret; in the form dialect for all webhooks of the company. Returns the same. */
int store_webhook_rotate(struct db *db, const char *id, int64_t now_us, struct err *err);
/* Disables a webhook that has failed for too long. Returns the same. */
int store_webhook_disable(struct db *db, const char *id, int64_t now_us, struct err *err);
int store_webhook_remove(struct db *db, const char *id, struct err *err);
/* Records the result of the last attempt: why it failed, in words; NULL: it succeeded. Returns 0 or
 * -1. */
int store_webhook_note(
	struct db *db, const char *id, const char *failure, int64_t now_us, struct err *err);

/* Returns 1, 0 if there is none, -1 on error. */
int store_webhook_find(struct db *db, const struct webhook_scope *scope, const char *id,
	struct webhook *webhook_r, struct err *err);
/* Reads a page, newest first. Returns 1, 0 if the cursor is not in the list, -1 on error. */
int store_webhook_list(struct db *db, const struct webhook_scope *scope, const struct page *page,
	struct webhook_list *list_r, struct page_end *end_r, struct err *err);
/* Counts the events that wait to be sent to it, up to WEBHOOK_WAITING_MAX. Returns 0 or -1. */
int store_webhook_count_waiting(struct db *db, const char *id, int64_t *waiting_r, struct err *err);
/* Counts the enabled webhooks that have been failing since before before_us, and those that were
 * disabled for failing; of one company, or of all (NULL). Together they count up to
 * WEBHOOK_TROUBLE_MAX. The endpoint is that of one of them; the caller frees it; NULL: there is
 * none. Returns 0 or -1. */
struct webhook_trouble {
	int64_t failing;
	int64_t disabled;
	char *endpoint;
};
int store_webhook_trouble(struct db *db, const char *company_id, int64_t before_us,
	struct webhook_trouble *trouble_r, struct err *err);
/* Lists the enabled webhooks with events that are due, with their secrets, sorted by id. Returns 0
 * or -1. */
int store_webhook_waiting(
	struct db *db, int64_t now_us, struct webhook_list *list_r, struct err *err);

void store_webhook_clear(struct webhook *webhook);
void store_webhook_list_free(struct webhook_list *list);

#endif
