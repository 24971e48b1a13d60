/*
 * store_webhook: the endpoints that companies have told by HTTP what becomes of
 * emails. What they are told is in store_webhook_event.h.
 */
#ifndef POSTERN_STORE_STORE_WEBHOOK_H
#define POSTERN_STORE_STORE_WEBHOOK_H

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"

enum webhook_dialect {
	WEBHOOK_JSON, /* of the JSON API, signed by Standard Webhooks */
	WEBHOOK_FORM, /* of the form API, with a signature of its own: one endpoint and type a row
		       */
	WEBHOOK_DIALECTS
};

enum {
	WEBHOOK_SECRET_LEN = 24,
	WEBHOOK_ENDPOINT_MAX = 2000,   /* bytes of a URL */
	WEBHOOK_ROTATED_S = 24 * 3600, /* so long the secret before counts */
	WEBHOOK_WAITING_MAX = 1000,
	WEBHOOK_TROUBLE_MAX = 1000,
};

struct webhook {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char *domain; /* its events alone; NULL: those of all domains */
	enum webhook_dialect dialect;
	char *endpoint; /* a URL */
	char *events;   /* JSON: an array of the names of types, as they were given */
	bool enabled;
	int64_t created_us;
	int64_t rotated_us;   /* 0: never */
	int64_t succeeded_us; /* when the last attempt did so, to a second or so; 0: none has */
	int64_t failed_us;    /* the same of one that failed, */
	char *failure;        /* and why, in words; NULL: none has */
	int64_t failing_us;   /* since when all attempts fail; 0: the last one did not */
	int64_t disabled_us;  /* when that disabled it; 0: it did not */
	uint8_t secret[WEBHOOK_SECRET_LEN];
	uint8_t old_secret[WEBHOOK_SECRET_LEN]; /* with rotated_us */
	int64_t waiting; /* what is to be sent to it, as store_webhook_count_waiting() counted it */
};
extern const struct row_type store_webhook_type;
extern const struct row_words store_webhook_dialects;

struct webhook_list {
	struct webhook *items;
	size_t n;
};

/* Which may be seen. */
struct webhook_scope {
	const char *company_id; /* NULL: of any */
	const char *domain;     /* NULL: of any, and of all */
	const char *dialect;    /* a word; NULL: any */
	bool in_trouble;        /* those alone that fail, or that failing has disabled */
};

/* Stores a new one with a new id and secret: of the form dialect the company's. From now on it is
 * told of what is recorded. ERR_NOT_FOUND without such a company. */
int store_webhook_add(struct db *db, struct webhook *webhook, int64_t now_us, struct err *err);
/* Sets endpoint, events and enabled. One that is enabled anew is told of what is recorded from now
 * on, and of what has waited. 1, 0 there is none, -1. */
int store_webhook_change(struct db *db, const struct webhook *webhook, struct err *err);
/* A new secret; of the form dialect for all of the company. The same. */
int store_webhook_rotate(struct db *db, const char *id, int64_t now_us, struct err *err);
/* For having failed for too long. The same. */
int store_webhook_disable(struct db *db, const char *id, int64_t now_us, struct err *err);
int store_webhook_remove(struct db *db, const char *id, struct err *err);
/* What came of the last attempt, at that time: why it failed, in words; NULL: it did not. 0 or -1.
 */
int store_webhook_note(
	struct db *db, const char *id, const char *failure, int64_t now_us, struct err *err);

/* 1, 0, -1. */
int store_webhook_find(struct db *db, const struct webhook_scope *scope, const char *id,
	struct webhook *webhook_r, struct err *err);
/* A page of them, newest first. 1, 0 when the cursor is none of them, -1. */
int store_webhook_list(struct db *db, const struct webhook_scope *scope, const struct page *page,
	struct webhook_list *list_r, struct page_end *end_r, struct err *err);
/* How much is to be sent to it, WEBHOOK_WAITING_MAX at most. 0 or -1. */
int store_webhook_count_waiting(struct db *db, const char *id, int64_t *waiting_r, struct err *err);
/* How many fail since before that time and are enabled, and how many failing has disabled; of a
 * company, NULL: of all. Each counts to WEBHOOK_TROUBLE_MAX. The endpoint is that of one of them, a
 * new string, NULL for none. 0 or -1. */
struct webhook_trouble {
	int64_t failing;
	int64_t disabled;
	char *endpoint;
};
int store_webhook_trouble(struct db *db, const char *company_id, int64_t before_us,
	struct webhook_trouble *trouble_r, struct err *err);
/* Enabled webhooks that have something to be sent by now, with their secrets, sorted by id. 0 or
 * -1.
 */
int store_webhook_waiting(
	struct db *db, int64_t now_us, struct webhook_list *list_r, struct err *err);

/* By which deliveries of the form dialect are signed: made when there is none. 0 or -1. */
int store_webhook_key(struct db *db, const char *company_id,
	uint8_t secret_r[static WEBHOOK_SECRET_LEN], struct err *err);

void store_webhook_clear(struct webhook *webhook);
void store_webhook_list_free(struct webhook_list *list);

#endif
