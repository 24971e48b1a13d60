/*
 * store_outcome: counts of emails by bounce reason, by provider and by delay; and samples of how
 * many emails waited.
 *
 * The counts are kept as events are written, by the hour and by the day, for each company and for
 * all. The cost of a query depends on the number of steps, not on emails or companies.
 */
#ifndef POSTERN_STORE_STORE_OUTCOME_H
#define POSTERN_STORE_STORE_OUTCOME_H

#include "core/db/db.h"
#include "core/store/delivery_status.h"

enum outcome_aspect {
	OUTCOME_REASON,   /* bounced and expired; see outcome_reason() */
	OUTCOME_PROVIDER, /* delivered, deferred, bounced and expired; see outcome_provider() */
	OUTCOME_DELAY,    /* delivered; see outcome_delay_class(), two digits */
};

struct outcome {
	const char *company_id;
	enum outcome_aspect aspect;
	const char *name;
	enum event_kind kind;
	int64_t hour_us; /* the begin of the hour */
	int64_t count;
};
/* Adds it to the hour and the day, of the company and of all. Returns 0 or -1. */
int store_outcome_add(struct db *db, const struct outcome *outcome, struct err *err);
/* Removes hours older than OUTCOME_HOURS_DAYS. Returns 0 or -1. */
int store_outcome_clean(struct db *db, int64_t now_us, struct err *err);

enum outcome_step { OUTCOME_HOUR, OUTCOME_DAY };
/* Hours are kept this long. */
enum { OUTCOME_HOURS_DAYS = 35 };

struct outcome_filter {
	const char *company_id; /* NULL: of all */
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

/* Samples the number of emails in the outbox and of those that Postfix is still delivering, once in
 * BACKLOG_SAMPLE_S; old samples are removed. Returns 0 or -1. */
enum { BACKLOG_SAMPLE_S = 300, BACKLOG_SAMPLE_DAYS = 400 };
int store_backlog_sample(struct db *db, int64_t outbox, int64_t now_us, struct err *err);
/* Reads the maximum of each in every step that has a sample. Returns 0 or -1. */
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
