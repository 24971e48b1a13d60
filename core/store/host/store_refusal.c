/*
 * store_refusal: the rows of the table refusal.
 *
 * Invariants: there are not many more than `keep` rows. The seq of a row is random, because it is
 * the cursor of a company's list and must not reveal how many refusals others have.
 */
#include "core/store/host/store_refusal.h"

#include <assert.h>
#include <string.h>

#include "core/base/secret.h"
#include "core/store/row.h"

enum {
	/* One of PRUNE_EVERY new rows removes the oldest rows, up to PRUNE_MAX: a note stays cheap,
	 * and after `keep` is lowered the table shrinks step by step. */
	PRUNE_EVERY = 16,
	PRUNE_MAX = 32,
};

static const char *const outcomes[REFUSAL_OUTCOMES + 1] = {
	[REFUSAL_REJECTED] = "rejected",
	[REFUSAL_HELD] = "held",
	[REFUSAL_DISCARDED] = "discarded",
	[REFUSAL_LEARNT] = "learnt",
	[REFUSAL_OUTCOMES] = "unknown",
};
static const struct row_words outcome_words = {outcomes, REFUSAL_OUTCOMES, true};

static const struct row_field refusal_fields[] = {
	ROW_FIELD(refusal, seq, ROW_INT64),
	ROW_WORD(refusal, outcome, ROW_ENUM, "outcome", &outcome_words),
	ROW_FIELD(refusal, reason, ROW_TEXT),
	ROW_FIELD(refusal, domain, ROW_TEXT),
	ROW_FIELD(refusal, origin, ROW_TEXT),
	ROW_FIELD(refusal, client, ROW_TEXT),
	ROW_FIELD(refusal, login, ROW_TEXT),
	ROW_FIELD(refusal, sender, ROW_TEXT),
	ROW_FIELD_AS(refusal, from, ROW_TEXT, "header_from"),
	ROW_FIELD(refusal, queue_id, ROW_TEXT),
	ROW_FIELD(refusal, host, ROW_TEXT),
	ROW_FIELD(refusal, count, ROW_INT64),
	ROW_FIELD(refusal, first_us, ROW_INT64),
	ROW_FIELD(refusal, last_us, ROW_INT64),
};
static const struct row_type refusal_type = ROW_TYPE(refusal, refusal_fields);

const char *store_refusal_outcome_name(enum refusal_outcome outcome)
{
	assert(outcome <= REFUSAL_OUTCOMES);
	return outcomes[outcome];
}

int store_refusal_note(struct db *db, const struct refusal_note *note, struct err *err)
{
	/* Returns 0 if the count of an existing row has gone up. */
	static const char sql_note[] =
		"INSERT INTO refusal (seq, outcome, reason, domain, company_id, origin, client,"
		"   login, sender, header_from, first_us, last_us, queue_id, host)"
		" VALUES ($seq, $outcome, $reason, $domain, coalesce((SELECT d.company_id"
		"       FROM domain d"
		"       WHERE d.name = $domain"
		"       AND d.pending = 0), ''), $origin, $client, $login, $sender, $header_from,"
		"   $last_us, $last_us, $queue_id, $this_host)"
		" ON CONFLICT (domain, outcome, reason, origin, client, login, sender,"
		"   header_from)"
		" DO UPDATE SET count = iif(refusal.company_id = excluded.company_id,"
		"   refusal.count, 0) + 1,"
		" first_us = iif(refusal.company_id = excluded.company_id,"
		"   refusal.first_us, excluded.first_us),"
		" company_id = excluded.company_id, last_us = excluded.last_us,"
		" queue_id = excluded.queue_id, host = excluded.host"
		" RETURNING CASE WHEN count = 1 THEN seq ELSE 0 END AS seq";
	static const char sql_prune[] =
		"DELETE FROM refusal"
		" WHERE seq IN (SELECT seq"
		"   FROM refusal"
		"   WHERE last_us < (SELECT last_us"
		"     FROM refusal"
		"     ORDER BY last_us DESC"
		"     LIMIT 1 OFFSET $keep)"
		"   ORDER BY last_us"
		"   LIMIT $max)";
	struct refusal refusal = {
		.outcome = note->outcome,
		.reason = row_bounded(note->reason),
		.domain = row_bounded(note->domain),
		.origin = row_bounded(note->origin),
		.client = row_bounded(note->client),
		.login = row_bounded(note->login),
		.sender = row_bounded(note->sender),
		.from = row_bounded(note->from),
		.queue_id = row_bounded(note->queue_id),
		.last_us = note->now_us,
	};
	int64_t seq = 0;
	uint64_t bits;
	int result;

	secret_random(&bits, sizeof(bits));
	refusal.seq = (int64_t)(bits >> 2) + 1;
	result = row_insert(db, sql_note, NULL, &refusal_type, &refusal, &seq, err);
	row_clear(&refusal_type, &refusal);
	if (result < 0 || seq == 0 || seq % PRUNE_EVERY != 0)
		return result;
	return db_execute(db, sql_prune,
		DB_PARAMS(DB_INT("$keep", note->keep > 0 ? note->keep - 1 : 0),
			DB_INT("$max", PRUNE_MAX)),
		err);
}

int store_refusal_list(struct db *db, const struct refusal_scope *scope, int limit,
	struct refusal_list *list_r, struct err *err)
{
/* clang-format off */
#define LIST(condition)                                                         \
	"SELECT seq, outcome, reason, domain, origin, client, login, sender,"   \
	" header_from, queue_id, host, count, first_us, last_us"                \
	" FROM refusal"                                                         \
	" WHERE " condition "(last_us, seq) < ($behind_us, $behind_seq)"        \
	" ORDER BY last_us DESC, seq DESC"                                      \
	" LIMIT $limit"
/* clang-format on */
#define LISTS(condition)                                                                           \
	{                                                                                          \
		LIST(condition), LIST(condition "outcome = 'learnt' AND ")                         \
	}
	/* Indexed by: with a company, with a domain, learnt only. Each walks its own index. */
	static const char *const sql[2][2][2] = {
		{LISTS(""), LISTS("domain = $domain AND ")},
		{LISTS("company_id = $company AND "),
			LISTS("company_id = $company AND domain = $domain AND ")},
	};
#undef LISTS
#undef LIST

	return row_list(db,
		ROW_LIST(.sql = sql[scope->company_id != NULL][scope->domain != NULL]
				   [scope->learnt_only],
			.params = DB_PARAMS(DB_INT("$limit", limit > 0 ? limit : 0),
				DB_INT("$behind_us",
					scope->behind_us ? scope->behind_us : INT64_MAX),
				DB_INT("$behind_seq", scope->behind_seq),
				DB_GIVEN_TEXT("$domain", scope->domain),
				DB_GIVEN_TEXT("$company", scope->company_id)),
			.type = &refusal_type, ROW_INTO(list_r)),
		err);
}

void store_refusal_list_free(struct refusal_list *list)
{
	row_list_free(&refusal_type, list->items, list->n);
	*list = (struct refusal_list){0};
}
