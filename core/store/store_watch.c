/*
 * store_watch: hashes of the newest values, which the next look compares.
 */
#include "core/store/store_watch.h"

#include <string.h>

/* Events are counted by the hour of their occurrence; for a company the hours of the last two days
 * are read. */
#define RECENT_US (INT64_C(48) * 3600 * 1000000)

const char *store_watch_topic(enum watch_topic topic)
{
	static const char *const names[] = {
		[WATCH_EMAILS] = "emails",
		[WATCH_REFUSALS] = "refusals",
		[WATCH_TENANTS] = "tenants",
	};

	return names[topic];
}

/* Mixes all values of a statement's rows into the mark. */
static int mix_rows(struct db *db, const char *sql, const struct db_param *params, uint64_t *mark,
	struct err *err)
{
	struct db_stmt *stmt;
	int found;

	if (db_start(db, sql, params, &stmt, err) != 0)
		return -1;
	while ((found = db_step(stmt, err)) > 0)
		for (int i = 0; i < db_columns(stmt); i++) {
			const char *text = db_text(stmt, i);

			/* Includes the NUL, so that adjacent texts cannot be confused. */
			*mark = mem_hash(*mark, text ? text : "-", text ? strlen(text) + 1 : 1);
		}
	return found;
}

int store_watch_look(struct db *db, const char *company_id, int64_t now_us,
	struct store_watch *watch, unsigned *changed_r, struct err *err)
{
#define NEWEST(where)                                                                              \
	"SELECT e.seq, e.state, e.last_event"                                                      \
	" FROM email e " where                                                                     \
	" ORDER BY e.seq DESC"                                                                     \
	" LIMIT 50"
	static const char sql_newest[] = NEWEST("");
	static const char sql_newest_of[] = NEWEST("WHERE company_id = $company");
#undef NEWEST
	static const char sql_event[] = "SELECT seq FROM event_last";
	static const char sql_events_of[] =
		"SELECT coalesce(sum(count), 0)"
		" FROM event_total"
		" WHERE company_id = $company AND hour_us >= $since";
	static const char sql_refusal[] = "SELECT max(last_us) FROM refusal";
	static const char sql_refusal_of[] =
		"SELECT max(last_us) FROM refusal WHERE company_id = $company";
	static const char sql_audit[] = "SELECT max(seq) FROM audit";
	static const char sql_audit_of[] = "SELECT max(seq) FROM audit WHERE company_id = $company";
	bool all = company_id == NULL;
	const struct db_param *company = DB_PARAMS(DB_GIVEN_TEXT("$company", company_id));
	const struct db_param *recent = DB_PARAMS(
		DB_TEXT("$company", company_id), DB_INT("$since", now_us - RECENT_US));
	uint64_t marks[WATCH_TOPICS] = {0};
	unsigned changed = 0;

	if (mix_rows(db, all ? sql_newest : sql_newest_of, company, &marks[WATCH_EMAILS], err) <
			0 ||
		mix_rows(db, all ? sql_event : sql_events_of, all ? NULL : recent,
			&marks[WATCH_EMAILS], err) < 0 ||
		mix_rows(db, all ? sql_refusal : sql_refusal_of, company, &marks[WATCH_REFUSALS],
			err) < 0 ||
		mix_rows(db, all ? sql_audit : sql_audit_of, company, &marks[WATCH_TENANTS], err) <
			0)
		return -1;
	for (size_t i = 0; i < WATCH_TOPICS; i++) {
		if (watch->began && marks[i] != watch->marks[i])
			changed |= 1U << i;
		watch->marks[i] = marks[i];
	}
	watch->began = true;
	*changed_r = changed;
	return 0;
}
