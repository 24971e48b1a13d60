/*
 * store_backlog: how many emails wait in the outbox, since when and why, how fast they leave, and
 * when the circuit breaker was open; and samples of how many waited.
 */
#ifndef POSTERN_STORE_STORE_BACKLOG_H
#define POSTERN_STORE_STORE_BACKLOG_H

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"

/* The emails of a company in the outbox, except those in hand. Each count stops at BACKLOG_MAX. */
enum { BACKLOG_MAX = 10000 };
struct backlog {
	char id[ID_SIZE];
	char *name;      /* NULL: the company is gone */
	int64_t waiting; /* due, or put off after a failed attempt */
	int64_t paused;
	int64_t scheduled;
	int64_t since_us; /* since when the oldest waiting or paused email waits; 0: none */
	int64_t done_us; /* set by the caller: when all that waits now will have left; 0: unknown */
	char *why;       /* why the next email waits; NULL: for the company's turn */
};
extern const struct row_type store_backlog_type;
struct backlog_list {
	struct backlog *items;
	size_t n;
};
/* Lists all companies with emails in the outbox, or one (NULL: all), up to limit, ordered by id.
 * Returns 0 or -1. */
int store_backlog_list(struct db *db, const char *company_id, int limit, int64_t now_us,
	struct backlog_list *list_r, struct err *err);
void store_backlog_list_free(struct backlog_list *list);

/* Counts emails that have just left the outbox. In the caller's transaction. Returns 0 or -1. */
int store_outbox_flow(struct db *db, int64_t emails, int64_t now_us, struct err *err);
/* Extrapolates the emails that left in the last BACKLOG_RATE_S seconds to an hour. Returns 0 or
 * -1. */
enum { BACKLOG_RATE_S = 300 };
int store_outbox_rate(struct db *db, int64_t now_us, int64_t *per_hour_r, struct err *err);

/* Record that the circuit breaker opened, or closed. Return 0 or -1. */
int store_break_open(
	struct db *db, const char *cause, const char *words, int64_t now_us, struct err *err);
int store_break_close(struct db *db, int64_t now_us, struct err *err);
/* The periods in which it was open, newest first. */
enum { BREAKS_KEPT = 100 };
struct outbox_break {
	char *cause; /* away, no_records */
	char *words;
	int64_t opened_us;
	int64_t closed_us; /* 0: it is still open */
};
struct break_list {
	struct outbox_break *items;
	size_t n;
};
extern const struct row_type store_break_type;
int store_break_list(struct db *db, int limit, struct break_list *list_r, struct err *err);
void store_break_list_free(struct break_list *list);

/* Samples the number of emails that Postfix does not have yet and of those that it is still
 * delivering, on all hosts that share the database, once in BACKLOG_SAMPLE_S; old samples are
 * removed. Returns 1 if this is the first sample of that time, 0 if not, -1 on error. */
enum { BACKLOG_SAMPLE_S = 300, BACKLOG_SAMPLE_DAYS = 400 };
int store_backlog_sample(struct db *db, int64_t now_us, struct err *err);
/* Samples the outbox of each company with emails in it, those after last, until the budget is used,
 * and sets last; counts stop at BACKLOG_MAX. Returns 1 if there are more, 0
 * if not, -1 on error. */
enum { BACKLOG_COMPANY_DAYS = 90 };
int store_backlog_sample_companies(struct db *db, char last[static ID_SIZE], int64_t budget_us,
	int64_t now_us, struct err *err);
/* Reads the maximum of each in every step that has a sample; of one company (NULL: all) only the
 * outbox. Returns 0 or -1. */
struct backlog_sample {
	int64_t time_us;
	int64_t outbox;
	int64_t queue; /* of one company 0 */
};
struct backlog_samples {
	struct backlog_sample *items;
	size_t n;
};
int store_backlog_samples(struct db *db, const char *company_id, int64_t begin_us, int64_t end_us,
	int64_t step_us, struct backlog_samples *samples_r, struct err *err);
void store_backlog_samples_free(struct backlog_samples *samples);

#endif
