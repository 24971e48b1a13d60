/*
 * store_event_count: how many events there were, by hour, by day and by domain.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/event/store_event_count.h"

#include "core/base/clock.h"
#include "core/store/row.h"

static const struct row_field count_fields[] = {
	ROW_FIELD(event_count, time_us, ROW_INT64),
	ROW_FIELD(event_count, domain, ROW_TEXT),
	ROW_WORD(event_count, kind, ROW_ENUM, "kind", &counted_words),
	ROW_FIELD(event_count, count, ROW_INT64),
};
static const struct row_type count_type = ROW_TYPE(event_count, count_fields);

static int read_counts(struct db *db, const char *sql, const struct db_param *params,
	struct event_counts *counts_r, struct err *err)
{
	*counts_r = (struct event_counts){0};
	return row_list(db,
		ROW_LIST(.sql = sql, .params = params, .type = &count_type, ROW_INTO(counts_r)),
		err);
}

/* Finds the first and last domain of the page, and if more follow. Returns 1, 0 if there is none,
 * -1 on error. */
static int find_domains(struct db *db, const struct event_count_filter *filter, char **first_r,
	char **last_r, bool *more_r, struct err *err)
{
/* clang-format off */
#define DOMAINS(condition)                                                      \
	"SELECT f.first, f.last, EXISTS (SELECT 1"                              \
	"   FROM event_domain n"                                                \
	"   WHERE " condition "n.domain > f.last)"                              \
	" FROM (SELECT min(p.domain) AS first, max(p.domain) AS last"           \
	"   FROM (SELECT n.domain"                                              \
	"     FROM event_domain n"                                              \
	"     WHERE " condition "n.domain > $after"                             \
	"     ORDER BY n.domain"                                                \
	"     LIMIT $limit) p) f"
	/* clang-format on */
	static const char sql_all[] = DOMAINS("");
	static const char sql_company[] = DOMAINS("n.company_id = $company AND ");
#undef DOMAINS
	struct db_stmt *stmt;
	int found = db_first(db, filter->company_id ? sql_company : sql_all,
		DB_PARAMS(DB_GIVEN_TEXT("$company", filter->company_id),
			DB_TEXT("$after", filter->after ? filter->after : ""),
			DB_INT("$limit", filter->limit)),
		&stmt, err);

	if (found != 1)
		return found;
	found = db_text(stmt, 0) != NULL;
	if (found) {
		*first_r = db_copy(stmt, 0);
		*last_r = db_copy(stmt, 1);
		*more_r = db_int(stmt, 2) != 0;
	}
	db_reset(stmt);
	return found;
}

/* Counts for the domains from first to last, by one look-up for each domain and company. If the
 * time covers whole days, only the hours outside of these are read by the hour. */
static int count_domains(struct db *db, const struct event_count_filter *filter, const char *first,
	const char *last, struct event_counts *counts_r, struct err *err)
{
/* clang-format off */
#define PART(table, time, company, low, high) "SELECT t." time " AS at_us, t.domain, t.kind," \
	" t.count" \
	" FROM event_domain o" \
	" CROSS JOIN " table " t" \
	" INDEXED BY " table "_by_domain ON t.domain = o.domain" \
	" AND t.company_id = o.company_id" \
	" AND t." time " >= " low \
	" AND t." time " < " high \
	" WHERE o.domain BETWEEN $first AND $last" company
#define COUNTS(what, company, group) "SELECT " what ", p.kind, sum(p.count) AS count" \
	" FROM (" PART("event_count", "hour_us", company, "$begin", "$day") \
	"   UNION ALL " PART("event_day", "day_us", company, "$day", "$last_day") \
	"   UNION ALL " PART("event_count", "hour_us", company, "$last_day", "$end") ") p" \
	" GROUP BY " group ", p.kind" \
	" ORDER BY " group ", p.kind"
#define BY_TIME(company)                                                       \
	COUNTS("p.at_us - p.at_us % $step AS time_us", company, "time_us")
#define BY_DOMAIN(company) COUNTS("p.domain", company, "p.domain")
#define OF_COMPANY " AND o.company_id = $company"
	/* clang-format on */
	static const char *const sql[2][2] = {
		{BY_TIME(""), BY_DOMAIN("")},
		{BY_TIME(OF_COMPANY), BY_DOMAIN(OF_COMPANY)},
	};
#undef OF_COMPANY
#undef BY_DOMAIN
#undef BY_TIME
#undef COUNTS
#undef PART
	bool days = filter->by_domain || filter->step_us % DAY_US == 0;
	int64_t day = (filter->begin_us + DAY_US - 1) / DAY_US * DAY_US;
	int64_t last_day = filter->end_us / DAY_US * DAY_US;
	bool whole = days && day < last_day;
	const struct db_param params[] = {
		DB_INT("$begin", filter->begin_us),
		DB_INT("$day", whole ? day : filter->end_us),
		DB_INT("$last_day", whole ? last_day : filter->end_us),
		DB_INT("$end", filter->end_us),
		DB_TEXT("$first", first),
		DB_TEXT("$last", last),
		DB_GIVEN_TEXT("$company", filter->company_id),
		/* The last parameter, because by domain there is no step. */
		{.name = filter->by_domain ? NULL : "$step",
			.kind = DB_PARAM_INT,
			.number = filter->step_us},
		{.name = NULL},
	};

	return read_counts(
		db, sql[filter->company_id != NULL][filter->by_domain], params, counts_r, err);
}

int store_event_counts(struct db *db, const struct event_count_filter *filter,
	struct event_counts *counts_r, struct err *err)
{
	/* Over all domains, the totals of the company, or of all companies. */
	static const char sql_total[] =
		"SELECT hour_us - hour_us % $step AS time_us, kind, sum(count) AS count"
		" FROM event_total"
		" WHERE company_id = $company AND hour_us >= $begin AND hour_us < $end"
		" GROUP BY time_us, kind"
		" ORDER BY time_us, kind";
	const char *company = filter->company_id ? filter->company_id : "";
	_cleanup_free_ char *first = NULL, *last = NULL;
	bool more = false;
	int found;

	if (filter->domain)
		return count_domains(db, filter, filter->domain, filter->domain, counts_r, err);
	if (!filter->by_domain)
		return read_counts(db, sql_total,
			DB_PARAMS(DB_INT("$step", filter->step_us), DB_TEXT("$company", company),
				DB_INT("$begin", filter->begin_us), DB_INT("$end", filter->end_us)),
			counts_r, err);
	found = find_domains(db, filter, &first, &last, &more, err);
	if (found == 0)
		*counts_r = (struct event_counts){0};
	if (found <= 0)
		return found;
	if (count_domains(db, filter, first, last, counts_r, err) < 0)
		return -1;
	if (more)
		counts_r->next = TAKE_PTR(last);
	return 0;
}

int store_event_bounces(struct db *db, const char *company_id, int64_t since_us, int limit,
	struct event_counts *counts_r, struct err *err)
{
/* clang-format off */
#define BOUNCES(condition)                                                      \
	"SELECT t.domain, t.kind, sum(t.count) AS count"                        \
	" FROM (SELECT DISTINCT w.domain, w.company_id"                         \
	"   FROM (SELECT domain, company_id"                                    \
	"     FROM event_day"                                                   \
	"     WHERE " condition "day_us >= $since - $since % 86400000000"       \
	"     AND kind IN ('bounced', 'expired')"                               \
	"     AND count > 2"                                                    \
	"     ORDER BY day_us DESC, count DESC, company_id DESC, domain DESC, kind DESC" \
	"     LIMIT $limit) w) o"                                               \
	" CROSS JOIN event_count t"                                             \
	" INDEXED BY event_count_by_domain ON t.domain = o.domain"              \
	" AND t.company_id = o.company_id"                                      \
	" AND t.hour_us >= $since"                                              \
	" GROUP BY t.domain, t.kind"                                            \
	" ORDER BY t.domain, t.kind"
	/* clang-format on */
	static const char sql_all[] = BOUNCES("");
	static const char sql_company[] = BOUNCES("company_id = $company AND ");
#undef BOUNCES

	return read_counts(db, company_id ? sql_company : sql_all,
		DB_PARAMS(DB_GIVEN_TEXT("$company", company_id), DB_INT("$since", since_us),
			DB_INT("$limit", limit)),
		counts_r, err);
}

void store_event_counts_free(struct event_counts *counts)
{
	row_list_free(&count_type, counts->items, counts->n);
	free(counts->next);
	*counts = (struct event_counts){0};
}
