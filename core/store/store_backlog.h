/*
 * store_backlog: how much waits in the outbox, since when and why, how fast it goes out,
 * and when the circuit breaker was open.
 */
#ifndef POSTERN_STORE_STORE_BACKLOG_H
#define POSTERN_STORE_STORE_BACKLOG_H

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"

/* What a company has in the outbox, but for what is on its way into Postfix. Of each kind
 * it counts BACKLOG_MAX at most. */
enum { BACKLOG_MAX = 10000 };
struct backlog {
	char id[ID_SIZE]; /* of the company */
	char *name;       /* NULL: the company is gone */
	int64_t waiting;  /* due, or put off after an attempt that failed */
	int64_t paused;
	int64_t scheduled;
	int64_t since_us; /* of the one that waits, or is paused, for the longest; 0: none */
	int64_t done_us;  /* for whoever shows it: when what waits now has gone out; 0: not known */
	char *why;        /* what the next one that waits does so for; NULL: its turn */
};
extern const struct row_type store_backlog_type;
struct backlog_list {
	struct backlog *items;
	size_t n;
};
/* Of all companies that have something there, or of the one (NULL: all), limit at most, in
 * the order of their ids. 0 or -1. */
int store_backlog_list(struct db *db, const char *company_id, int limit, int64_t now_us,
	struct backlog_list *list_r, struct err *err);
void store_backlog_list_free(struct backlog_list *list);

/* So many have just left the outbox. In the caller's transaction. 0 or -1. */
int store_outbox_flow(struct db *db, int64_t emails, int64_t now_us, struct err *err);
/* How many left in the last BACKLOG_RATE_S seconds, for each hour. 0 or -1. */
enum { BACKLOG_RATE_S = 300 };
int store_outbox_rate(struct db *db, int64_t now_us, int64_t *per_hour_r, struct err *err);

/* The circuit breaker has opened, or closed. 0 or -1. */
int store_break_open(
	struct db *db, const char *cause, const char *words, int64_t now_us, struct err *err);
int store_break_close(struct db *db, int64_t now_us, struct err *err);
/* The times that it was open, the newest first. */
enum { BREAKS_KEPT = 100 };
struct outbox_break {
	char *cause; /* away, no_records */
	char *words;
	int64_t opened_us;
	int64_t closed_us; /* 0: it is open */
};
struct break_list {
	struct outbox_break *items;
	size_t n;
};
extern const struct row_type store_break_type;
int store_break_list(struct db *db, int limit, struct break_list *list_r, struct err *err);
void store_break_list_free(struct break_list *list);

#endif
