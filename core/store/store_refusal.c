/*
 * store_refusal: the rows of the table refusal.
 *
 * Invariant: there are never more than `keep` rows and a few.
 * Threads: a handle is used by one thread at a time; holds no state.
 */
#include "core/store/store_refusal.h"

#include <assert.h>
#include <string.h>

#include "core/base/str.h"
#include "core/store/store_row.h"
#include "core/store/store_rows.h"

enum {
	TEXT_MAX = 256,
	/* Every so many new rows, the oldest go, at most twice as many: a note
	 * costs little, and a keep that was lowered is reached step by step. */
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

const char *store_refusal_outcome_name(enum refusal_outcome outcome)
{
	assert(outcome <= REFUSAL_OUTCOMES);
	return outcomes[outcome];
}

static char *bounded(const char *text)
{
	char *copy;

	if (text == NULL)
		return mem_strdup("");
	copy = mem_dup(text, strnlen(text, TEXT_MAX + 4));
	str_utf8_mend(copy);
	copy[str_utf8_cut(copy, TEXT_MAX)] = '\0';
	return copy;
}

/* The texts of a note, by the names of their parameters. */
enum { TEXTS = 8 };

struct texts {
	const char *names[TEXTS];
	char *items[TEXTS];
};

static void take_texts(const struct refusal_note *note, struct texts *texts_r)
{
	const struct {
		const char *name;
		const char *text;
	} all[TEXTS] = {
		{"$reason", note->reason},
		{"$domain", note->domain},
		{"$origin", note->origin},
		{"$client", note->client},
		{"$login", note->login},
		{"$sender", note->sender},
		{"$from", note->from},
		{"$queue_id", note->queue_id},
	};

	for (size_t i = 0; i < TEXTS; i++) {
		texts_r->names[i] = all[i].name;
		texts_r->items[i] = bounded(all[i].text);
	}
}

static void free_texts(struct texts *texts)
{
	for (size_t i = 0; i < TEXTS; i++)
		free(texts->items[i]);
}

/* *seq_r: the number of the row when it is a new one, 0 when one was there and
 * was counted. */
static int insert(struct db *db, const struct refusal_note *note,
	const struct texts *texts, int64_t *seq_r, struct err *err)
{
	static const char sql_note[] =
		"INSERT INTO refusal (outcome, reason, domain, origin, client,"
		" login, sender, header_from, first_us, last_us, queue_id)"
		" VALUES ($outcome, $reason, $domain, $origin, $client, $login,"
		" $sender, $from, $now, $now, $queue_id)"
		" ON CONFLICT (domain, outcome, reason, origin, client, login,"
		" sender, header_from) DO UPDATE SET count = count + 1,"
		" last_us = excluded.last_us, queue_id = excluded.queue_id"
		" RETURNING CASE WHEN count = 1 THEN seq ELSE 0 END";
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_note, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$outcome", outcomes[note->outcome]);
	for (size_t i = 0; i < TEXTS; i++)
		db_bind_text(stmt, texts->names[i], texts->items[i]);
	db_bind_int(stmt, "$now", note->now_us);
	result = db_step(stmt, err);
	if (result < 0)
		return -1;
	if (result == 0)
		return err_set(err, ERR_INTERNAL, "no row was written");
	*seq_r = db_int(stmt, 0);
	db_reset(stmt);
	return 0;
}

static int prune(struct db *db, int64_t keep, struct err *err)
{
	static const char sql_prune[] =
		"DELETE FROM refusal WHERE seq IN ("
		"SELECT seq FROM refusal WHERE last_us < ("
		"SELECT last_us FROM refusal ORDER BY last_us DESC"
		" LIMIT 1 OFFSET $keep) ORDER BY last_us LIMIT $max)";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_prune, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$keep", keep > 0 ? keep - 1 : 0);
	db_bind_int(stmt, "$max", PRUNE_MAX);
	return db_run(stmt, err);
}

int store_refusal_note(
	struct db *db, const struct refusal_note *note, struct err *err)
{
	struct texts texts;
	int64_t seq = 0;
	int result;

	take_texts(note, &texts);
	result = insert(db, note, &texts, &seq, err);
	free_texts(&texts);
	if (result == 0 && seq != 0 && seq % PRUNE_EVERY == 0)
		result = prune(db, note->keep, err);
	return result;
}

static int read_item(struct db_stmt *stmt, void *item, struct err *err)
{
	struct refusal *refusal = item;

	(void)err;
	refusal->outcome = (enum refusal_outcome)store_row_word(
		outcomes, REFUSAL_OUTCOMES, db_text(stmt, 0));
	refusal->reason = db_copy(stmt, 1);
	refusal->domain = db_copy(stmt, 2);
	refusal->origin = db_copy(stmt, 3);
	refusal->client = db_copy(stmt, 4);
	refusal->login = db_copy(stmt, 5);
	refusal->sender = db_copy(stmt, 6);
	refusal->from = db_copy(stmt, 7);
	refusal->queue_id = db_copy(stmt, 8);
	refusal->count = db_int(stmt, 9);
	refusal->first_us = db_int(stmt, 10);
	refusal->last_us = db_int(stmt, 11);
	return 0;
}

static void clear_item(void *item)
{
	struct refusal *refusal = item;
	char **const members[] = {&refusal->reason, &refusal->domain,
		&refusal->origin, &refusal->client, &refusal->login,
		&refusal->sender, &refusal->from, &refusal->queue_id};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		free(*members[i]);
}

static const struct rows_kind refusals = {
	sizeof(struct refusal), read_item, clear_item};

static int prepare_list(struct db *db, const struct refusal_scope *scope,
	struct db_stmt **stmt_r, struct err *err)
{
#define LIST(condition)                                                        \
	"SELECT outcome, reason, domain, origin, client, login, sender,"       \
	" header_from, queue_id, count, first_us, last_us FROM refusal"        \
	" WHERE " condition "($all OR outcome = 'learnt')"                     \
	" ORDER BY last_us DESC LIMIT $limit"
	static const char sql_all[] = LIST("");
	static const char sql_domain[] = LIST("domain = $domain AND ");
	static const char sql_company[] = LIST(
		"domain IN (SELECT d.name FROM domain d"
		" WHERE d.company_id = $company AND d.pending = 0"
		" AND ($domain IS NULL OR d.name = $domain)) AND ");
#undef LIST
	const char *sql = scope->domain ? sql_domain : sql_all;

	if (scope->company_id)
		sql = sql_company;
	if (db_prepare(db, sql, stmt_r, err) != 0)
		return -1;
	if (scope->company_id)
		db_bind_text(*stmt_r, "$company", scope->company_id);
	if (scope->company_id || scope->domain)
		db_bind_text(*stmt_r, "$domain", scope->domain);
	db_bind_int(*stmt_r, "$all", !scope->learnt_only);
	return 0;
}

int store_refusal_list(struct db *db, const struct refusal_scope *scope,
	int limit, struct refusal_list *list_r, struct err *err)
{
	struct db_stmt *stmt;
	struct rows rows;

	if (prepare_list(db, scope, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$limit", limit > 0 ? limit : 0);
	if (store_rows_read(stmt, &refusals, STORE_ROWS_ALL, &rows, err) < 0)
		return -1;
	*list_r = (struct refusal_list){rows.items, rows.n};
	return 0;
}

void store_refusal_list_free(struct refusal_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		clear_item(&list->items[i]);
	free(list->items);
	*list = (struct refusal_list){0};
}
