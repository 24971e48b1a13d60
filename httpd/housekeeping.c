/*
 * housekeeping: the recurring jobs of postern-httpd.
 */
#include "httpd/housekeeping.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/store/event/store_outcome.h"
#include "core/store/outbox/store_backlog.h"
#include "core/store/email/store_text_index.h"
#include "httpd/cleaner.h"
#include "httpd/recurring.h"

enum { BUDGET_US = 3000, FILL_EVERY_US = 2000 * 1000 };

struct housekeeping {
	struct cleaner *cleaner;
	struct recurring filler;
	struct recurring sampler;
	const struct clock *clock;
	/* Used on the committer's thread. */
	char company_id[ID_SIZE]; /* the last company that was sampled */
	bool of_companies;        /* all is sampled; some companies are left */
};

static int fill(struct db *db, void *arg, struct err *err)
{
	const struct housekeeping *keeping = arg;
	int texts = store_text_index_fill(db, BUDGET_US, err);
	int outcomes = texts == 0 ? store_outcome_fill(
					    db, BUDGET_US, clock_now_us(keeping->clock), err)
				  : 0;

	return texts < 0 || outcomes < 0 ? -1 : texts | outcomes;
}

/* The first round of a sample is of all; the companies follow, some a round. Of
 * several hosts, the first one samples the companies. */
static int sample(struct db *db, void *arg, struct err *err)
{
	struct housekeeping *keeping = arg;
	int64_t now_us = clock_now_us(keeping->clock);
	int added;

	if (keeping->of_companies)
		return store_backlog_sample_companies(
			db, keeping->company_id, BUDGET_US, now_us, err);
	keeping->company_id[0] = '\0';
	added = store_backlog_sample(db, now_us, err);
	if (added > 0 && now_us % HOUR_US < BACKLOG_SAMPLE_S * SECOND_US &&
		store_outcome_clean(db, now_us, err) < 0)
		return -1;
	return added;
}

static void on_sample_ended(void *arg, int result)
{
	struct housekeeping *keeping = arg;

	keeping->of_companies = result > 0;
}

struct housekeeping *housekeeping_new(
	struct committer *committer, const struct clock *clock, struct log *log)
{
	struct housekeeping *keeping = mem_new(struct housekeeping);

	keeping->cleaner = cleaner_new(committer, clock, log);
	keeping->clock = clock;
	keeping->filler = (struct recurring){
		.committer = committer,
		.log = log,
		.every_us = FILL_EVERY_US,
		.failed = "filler_failed",
		.run = fill,
		.arg = keeping,
	};
	keeping->sampler = (struct recurring){
		.committer = committer,
		.log = log,
		.every_us = BACKLOG_SAMPLE_S * SECOND_US,
		.patient = true,
		.failed = "backlog_sample_failed",
		.run = sample,
		.ended = on_sample_ended,
		.arg = keeping,
	};
	return keeping;
}

void housekeeping_free(struct housekeeping *keeping)
{
	if (keeping)
		cleaner_free(keeping->cleaner);
	free(keeping);
}

void housekeeping_set(struct housekeeping *keeping, const struct conf *conf)
{
	cleaner_set(keeping->cleaner, conf);
}

bool housekeeping_round(struct housekeeping *keeping, int64_t now_us)
{
	bool cleans = cleaner_round(keeping->cleaner, now_us);
	bool fills = recurring_round(&keeping->filler, now_us);
	bool samples = recurring_round(&keeping->sampler, now_us);

	return cleans || fills || samples;
}
