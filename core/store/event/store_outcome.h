/*
 * store_outcome: counts of emails by bounce reason, by provider and by delay.
 *
 * The counts are kept as events are written, by the hour and by the day, for each domain of a
 * company, for each company, and for all. The cost of a query depends on the number of steps, not
 * on emails, domains or companies.
 */
#ifndef POSTERN_STORE_STORE_OUTCOME_H
#define POSTERN_STORE_STORE_OUTCOME_H

#include <stdbool.h>

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/event/delivery_status.h"

enum outcome_aspect {
	OUTCOME_REASON,   /* bounced and expired; see outcome_reason() */
	OUTCOME_PROVIDER, /* delivered, deferred, bounced and expired; see outcome_provider() */
	OUTCOME_DELAY,    /* delivered; see outcome_delay_class(), two digits */
};

/* What an event tells about a recipient. Kinds other than those above count nothing. */
struct outcome_event {
	const char *company_id;
	const char *domain;
	const char *address; /* the recipient's */
	enum event_kind kind;
	int64_t occurred_us;
	int64_t due_us; /* when the email was requested, or scheduled for; 0: unknown */
	const char *relay, *dsn, *text;
};

/* Counts in memory, to be written together. */
struct outcome_tally;
struct outcome_tally *outcome_tally_new(void);
void outcome_tally_free(struct outcome_tally *tally);
/* Adds the event to its domain and, unless domain_only, to its company and to all. company_id and
 * domain must live until the tally is freed. */
void outcome_tally_add(
	struct outcome_tally *tally, const struct outcome_event *event, bool domain_only);
/* Adds the counts to those in the store; hours before hours_us only to their days. Returns 0 or
 * -1. */
int outcome_tally_write(
	struct db *db, const struct outcome_tally *tally, int64_t hours_us, struct err *err);

/* Counts events that were recorded before the counts were kept, from the newest to the oldest,
 * until the budget is used. Returns 1 if there are more, 0 if not, -1 on error. In the caller's
 * transaction. */
int store_outcome_fill(struct db *db, int64_t budget_us, int64_t now_us, struct err *err);
/* Sets how many percent of the events are not counted yet, rounded up; 0: none. Returns 0 or -1. */
int store_outcome_missing(struct db *db, int64_t *percent_r, struct err *err);

/* Removes hours older than OUTCOME_HOURS_DAYS. Returns 0 or -1. */
int store_outcome_clean(struct db *db, int64_t now_us, struct err *err);

enum outcome_step { OUTCOME_HOUR, OUTCOME_DAY };
/* Hours are kept this long. */
enum { OUTCOME_HOURS_DAYS = 35 };

struct outcome_filter {
	const char *company_id; /* NULL: of all */
	const char *domain;     /* NULL: of all of the company */
	enum outcome_step step;
	int64_t begin_us; /* the steps that begin at or after begin_us and before end_us */
	int64_t end_us;
};
struct outcome_count {
	int64_t time_us; /* the begin of the step; 0: the whole time */
	char *name;
	enum event_kind kind;
	int64_t count;
};
struct outcome_counts {
	struct outcome_count *items;
	size_t n;
};
/* Reads the counts by step, in order, or for the whole time. Returns 0 or -1. */
int store_outcome_counts(struct db *db, const struct outcome_filter *filter,
	enum outcome_aspect aspect, bool by_step, struct outcome_counts *counts_r, struct err *err);
void store_outcome_counts_free(struct outcome_counts *counts);

#endif
