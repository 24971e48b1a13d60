/*
 * store_outcome: how many emails bounced for which reason, went to which provider, and took how
 * long; and how many waited, now and then.
 *
 * Kept as events are written, by the hour and the day, for each company and for all. What a
 * question costs goes by the steps in its time: not by the emails, nor by the companies.
 */
#ifndef POSTERN_STORE_STORE_OUTCOME_H
#define POSTERN_STORE_STORE_OUTCOME_H

#include "core/db/db.h"
#include "core/store/delivery_status.h"

enum outcome_aspect {
	OUTCOME_REASON,   /* bounced and expired, by outcome_reason() */
	OUTCOME_PROVIDER, /* delivered, deferred, bounced and expired, by outcome_provider() */
	OUTCOME_DELAY,    /* delivered, by outcome_delay_class(), as two digits */
};

struct outcome {
	const char *company_id;
	enum outcome_aspect aspect;
	const char *name;
	enum event_kind kind;
	int64_t hour_us; /* the begin of the hour */
	int64_t count;
};
/* Adds it to its hour and its day, of the company and of all. 0 or -1. */
int store_outcome_add(struct db *db, const struct outcome *outcome, struct err *err);
/* Removes the hours that are too old. 0 or -1. */
int store_outcome_clean(struct db *db, int64_t now_us, struct err *err);

enum outcome_step { OUTCOME_HOUR, OUTCOME_DAY };
/* Hours are kept for so long. */
enum { OUTCOME_HOURS_DAYS = 35 };

struct outcome_filter {
	const char *company_id; /* NULL: of all */
	enum outcome_step step;
	int64_t begin_us; /* the steps that begin from then on and before the end */
	int64_t end_us;
};
struct outcome_count {
	int64_t time_us; /* the begin of the step; 0 where it is of the whole time */
	char *name;
	enum event_kind kind;
	int64_t count;
};
struct outcome_counts {
	struct outcome_count *items;
	size_t n;
};
/* By step, in their order, or of the whole time. 0 or -1. */
int store_outcome_counts(struct db *db, const struct outcome_filter *filter,
	enum outcome_aspect aspect, bool by_step, struct outcome_counts *counts_r, struct err *err);
void store_outcome_counts_free(struct outcome_counts *counts);

/* Notes how many emails are in the outbox, and how many Postfix is still delivering, once in
 * BACKLOG_SAMPLE_S; the oldest samples go. 0 or -1. */
enum { BACKLOG_SAMPLE_S = 300, BACKLOG_SAMPLE_DAYS = 400 };
int store_backlog_sample(struct db *db, int64_t outbox, int64_t now_us, struct err *err);
/* The most of each in every step, for the steps that have a sample. 0 or -1. */
struct backlog_sample {
	int64_t time_us;
	int64_t outbox;
	int64_t queue;
};
struct backlog_samples {
	struct backlog_sample *items;
	size_t n;
};
int store_backlog_samples(struct db *db, int64_t begin_us, int64_t end_us, int64_t step_us,
	struct backlog_samples *samples_r, struct err *err);
void store_backlog_samples_free(struct backlog_samples *samples);

#endif
