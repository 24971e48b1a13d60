/*
 * store_email_search: finds the emails that match a filter, a page at a time.
 *
 * An index leads to candidates, each of which is checked against the whole filter. A search may
 * pass over many emails before one matches, so it stops after a number of candidates, and says
 * where the next page continues. It reveals nothing about other companies (store_email_read.c).
 */
#include "core/store/email/store_email_private.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/store/email/store_text_index.h"

/* Emails are staged in the order of their creation times, except for the duration of a request and
 * for a clock that was set back. */
#define DISORDER_US (INT64_C(600) * 1000000)

/* The index that provides the candidates; each candidate is checked against the whole filter. */
enum lead {
	LEAD_TO,
	LEAD_RECIPIENT,
	LEAD_TROUBLE,
	LEAD_TROUBLE_OF_ALL,
	LEAD_OUTBOX,
	LEAD_OUTBOX_OF_ALL,
	LEAD_TAG,
	LEAD_TEXT,   /* the text index */
	LEAD_DOMAIN, /* from here on: walks the emails themselves */
	LEAD_COMPANY,
	LEAD_ALL,
	LEADS
};

struct search {
	struct db *db;
	struct email_scope scope;
	const struct email_filter *filter;
	char *subject, *tag; /* from the filter, in lower case */
	enum lead lead;
	const char *trouble; /* for LEAD_TROUBLE: the last event */
	const char *status;  /* delivery status of the recipient; NULL: any */
	char *domain;        /* for LEAD_DOMAIN */
	/* For an operator's search: the companies that can have candidates, unless it walks the
	 * emails of all companies. A single one becomes the company of the scope. */
	struct strv companies;
	char *companies_json;
	struct strv words; /* the words of the text, or the subject as one word */
	char *words_json;  /* the words to check each candidate for; NULL: none */
	char *seqs_json;   /* with LEAD_TEXT: the candidates */
	bool up;           /* towards the newest */
	int64_t low, high; /* seq, both inclusive */
};

const char *const store_email_statuses[EMAIL_STATUSES] = {"refused", "stopped", "scheduled",
	"queued", "sent", "delivered", "canceled", "delivery_delayed", "bounced", "failed",
	"complained", "suppressed"};

/* Chooses the index that leads to the fewest candidates. */
static void choose_lead(struct search *search)
{
	const struct email_filter *filter = search->filter;
	const struct email_scope *scope = &search->scope;
	bool of_all = !scope->company_id && !scope->domain;
	const char *status = filter->status;
	const char *at = filter->from ? strrchr(filter->from, '@') : NULL;
	/* Most recipients are queued, then delivered: an index on these would not make a search
	 * faster. */
	bool by_recipient = filter->recipient && *filter->recipient != DELIVERY_QUEUED &&
			    *filter->recipient != DELIVERY_HANDED_ON &&
			    *filter->recipient != DELIVERY_DELIVERED;

	if (filter->recipient)
		search->status = delivery_status_name(*filter->recipient);
	if (status && str_eq(status, "refused"))
		search->trouble = "failed";
	for (size_t i = EMAIL_STATUS_TROUBLE; status && i < EMAIL_STATUSES; i++)
		if (str_eq(status, store_email_statuses[i]))
			search->trouble = store_email_statuses[i];
	/* All emails of a sender have the sender's domain. */
	if (scope->domain)
		search->domain = mem_strdup(scope->domain);
	else if (at)
		search->domain = str_lowered(at + 1);
	if (filter->to)
		search->lead = LEAD_TO;
	else if (by_recipient)
		search->lead = LEAD_RECIPIENT;
	else if (search->trouble)
		search->lead = of_all ? LEAD_TROUBLE_OF_ALL : LEAD_TROUBLE;
	else if (status && (str_eq(status, "scheduled") || str_eq(status, "queued")))
		search->lead = of_all ? LEAD_OUTBOX_OF_ALL : LEAD_OUTBOX;
	else if (filter->tag)
		search->lead = LEAD_TAG;
	else if (search->domain)
		search->lead = LEAD_DOMAIN;
	else
		search->lead = scope->company_id ? LEAD_COMPANY : LEAD_ALL;
}

/* The condition on the value of each index, with that of a partial index as the schema has it. */
#define TO_VALUE "address = $to COLLATE NOCASE"
#define RECIPIENT_VALUE(r)                                                                         \
	r "state = $rstate AND (" r "state = 'deferred' OR " r "state = 'bounced' OR " r           \
	  "state = 'expired' OR " r "state = 'discarded' OR " r "state = 'removed' OR " r          \
	  "state = 'unknown' OR " r "state = 'complained' OR " r "state = 'suppressed')"
#define TROUBLE_VALUE                                                                              \
	"last_event = $trouble AND (last_event = 'delivery_delayed' OR last_event = 'bounced'"     \
	" OR last_event = 'failed' OR last_event = 'suppressed' OR last_event = 'complained'"      \
	" OR last_event = 'canceled')"
#define TAG_VALUE    "tag = $tag"
#define DOMAIN_VALUE "domain = $walk"

/* The candidates of each index: the table, the condition, the company, the seq of the emails; then
 * the join to the email, and a condition against duplicates, since several rows of an email may
 * have an address in different letter case. */
#define TO_CANDIDATES(whose)                                                                       \
	"email_recipient r", "r." TO_VALUE " AND r.company_id" whose, "r.email",                   \
		" CROSS JOIN email e ON e.seq = r.email",                                          \
		" AND NOT EXISTS (SELECT 1"                                                        \
		"   FROM email_recipient o"                                                        \
		"   WHERE o.email = r.email AND o.n < r.n AND +o." TO_VALUE ")"
#define RECIPIENT_CANDIDATES(whose)                                                                \
	"email_recipient r", RECIPIENT_VALUE("r.") " AND r.company_id" whose, "r.email",           \
		" CROSS JOIN email e ON e.seq = r.email",                                          \
		" AND NOT EXISTS (SELECT 1"                                                        \
		"   FROM email_recipient o"                                                        \
		"   WHERE o.email = r.email AND o.n < r.n AND o.state || '' = r.state)"
#define TROUBLE_CANDIDATES(whose)                                                                  \
	"email e", TROUBLE_VALUE " AND e.company_id" whose, "e.seq", "", ""
#define TROUBLE_OF_ALL_CANDIDATES(whose)                                                           \
	"email e INDEXED BY email_by_trouble_of_all", TROUBLE_VALUE, "e.seq", "", ""
#define OUTBOX_CANDIDATES(whose)                                                                   \
	"outbox x", "x.company_id" whose, "x.email", " CROSS JOIN email e ON e.seq = x.email", ""
#define OUTBOX_OF_ALL_CANDIDATES                                                                   \
	"outbox x", "TRUE", "x.email", " CROSS JOIN email e ON e.seq = x.email", ""
#define TAG_CANDIDATES(whose)                                                                      \
	"email_tag g", "g." TAG_VALUE " AND g.company_id" whose, "g.email",                        \
		" CROSS JOIN email e ON e.seq = g.email", ""
#define TEXT_CANDIDATES(whose)                                                                     \
	"email e", "e.seq IN (SELECT CAST(value AS BIGINT) FROM json_each($seqs))", "e.seq", "", ""
#define DOMAIN_CANDIDATES(whose)                                                                   \
	"email e", "e." DOMAIN_VALUE " AND e.company_id" whose, "e.seq", "", ""
#define COMPANY_CANDIDATES(whose) "email e", "e.company_id" whose, "e.seq", "", ""
#define ALL_CANDIDATES(whose)     "email e", "TRUE", "e.seq", "", ""

#define EACH_WAY(statement, ...)                                                                   \
	{                                                                                          \
		statement(__VA_ARGS__, " DESC"), statement(__VA_ARGS__, "")                        \
	}
#define EACH_LEAD(statement, whose)                                                                \
	{                                                                                          \
		[LEAD_TO] = EACH_WAY(statement, TO_CANDIDATES(whose)),                             \
		[LEAD_RECIPIENT] = EACH_WAY(statement, RECIPIENT_CANDIDATES(whose)),               \
		[LEAD_TROUBLE] = EACH_WAY(statement, TROUBLE_CANDIDATES(whose)),                   \
		[LEAD_TROUBLE_OF_ALL] = EACH_WAY(statement, TROUBLE_OF_ALL_CANDIDATES(whose)),     \
		[LEAD_OUTBOX] = EACH_WAY(statement, OUTBOX_CANDIDATES(whose)),                     \
		[LEAD_OUTBOX_OF_ALL] = EACH_WAY(statement, OUTBOX_OF_ALL_CANDIDATES),              \
		[LEAD_TAG] = EACH_WAY(statement, TAG_CANDIDATES(whose)),                           \
		[LEAD_TEXT] = EACH_WAY(statement, TEXT_CANDIDATES(whose)),                         \
		[LEAD_DOMAIN] = EACH_WAY(statement, DOMAIN_CANDIDATES(whose)),                     \
		[LEAD_COMPANY] = EACH_WAY(statement, COMPANY_CANDIDATES(whose)),                   \
		[LEAD_ALL] = EACH_WAY(statement, ALL_CANDIDATES(whose)),                           \
	}
#define OF_ONE     " = $company"
#define OF_SEVERAL " IN (SELECT value FROM json_each($companies))"

/* The parameters of a statement that an index needs. */
#define LEAD_PARAMS(search, lead)                                                                  \
	DB_GIVEN_TEXT("$to", (lead) == LEAD_TO ? (search)->filter->to : NULL),                     \
		DB_GIVEN_TEXT("$rstate", (lead) == LEAD_RECIPIENT ? (search)->status : NULL),      \
		DB_GIVEN_TEXT("$trouble", (lead) == LEAD_TROUBLE || (lead) == LEAD_TROUBLE_OF_ALL  \
						  ? (search)->trouble                              \
						  : NULL),                                         \
		DB_GIVEN_TEXT("$tag", (lead) == LEAD_TAG ? (search)->tag : NULL),                  \
		DB_GIVEN_TEXT("$seqs", (lead) == LEAD_TEXT ? (search)->seqs_json : NULL),          \
		DB_GIVEN_TEXT("$walk", (lead) == LEAD_DOMAIN ? (search)->domain : NULL)

/* An operator's search reads the candidates of up to this many companies; if more have candidates,
 * it walks the emails of all. */
enum { COMPANIES_MAX = 100 };

/* Finds the companies whose candidates an operator's search reads. Returns 1, 0 if there are none,
 * -1 on error. */
static int find_companies(struct search *search, struct err *err)
{
#define OWNERS(table, value) ROW_OWNERS(table, value) "SELECT id FROM owner WHERE id IS NOT NULL"
	static const char *const owners[] = {
		[LEAD_TO] = OWNERS("email_recipient", TO_VALUE),
		[LEAD_RECIPIENT] = OWNERS("email_recipient", RECIPIENT_VALUE("")),
		[LEAD_TROUBLE] = OWNERS("email", TROUBLE_VALUE),
		[LEAD_TAG] = OWNERS("email_tag", TAG_VALUE),
		[LEAD_DOMAIN] = OWNERS("email", DOMAIN_VALUE),
		[LEAD_ALL] = NULL,
	};
#undef OWNERS
	enum lead lead = search->scope.domain ? LEAD_DOMAIN : search->lead;
	struct strv *companies = &search->companies;
	struct db_stmt *stmt;
	int result;

	if (search->scope.company_id || owners[lead] == NULL)
		return 1;
	if (db_start(search->db, owners[lead], DB_PARAMS(LEAD_PARAMS(search, lead)), &stmt, err) !=
		0)
		return -1;
	while ((result = db_step(stmt, err)) == 1) {
		if (companies->n == COMPANIES_MAX && search->scope.domain == NULL) {
			db_reset(stmt);
			strv_free(companies);
			search->lead = LEAD_ALL;
			return 1;
		}
		strv_add(companies, db_text(stmt, 0));
	}
	search->companies_json = row_json_array(companies);
	if (companies->n == 1)
		search->scope.company_id = companies->items[0];
	return result < 0 ? -1 : companies->n > 0;
}

/* An email of the scope, in the folder or not. */
struct mark {
	int64_t seq;
	int64_t created_us;
	char id[ID_SIZE];
};
static const struct row_field mark_fields[] = {
	ROW_FIELD(mark, seq, ROW_INT64),
	ROW_FIELD(mark, created_us, ROW_INT64),
	ROW_FIELD(mark, id, ROW_ID),
};
static const struct row_type mark_type = ROW_TYPE(mark, mark_fields);

/* Finds the oldest email from low on if up, else the newest one up to high. Returns 1, 0 if there
 * is none, -1 on error. */
static int find_mark(const struct search *search, bool up, int64_t low, int64_t high,
	struct mark *mark_r, struct err *err)
{
#define MARK(condition, order)                                                                     \
	"SELECT e.seq, e.id, e.created_us"                                                         \
	" FROM email e"                                                                            \
	" WHERE " condition                                                                        \
	" AND e.seq BETWEEN $low AND $high"                                                        \
	" ORDER BY e.seq" order " LIMIT 1"
/* clang-format off */
#define MARK_OF_SEVERAL(end)                                                    \
	"SELECT e.seq, e.id, e.created_us"                                      \
	" FROM email e"                                                         \
	" WHERE e.seq = (SELECT " end "((SELECT " end "(x.seq)"                 \
	"       FROM email x"                                                   \
	"       WHERE x.domain = $domain"                                       \
	"       AND x.company_id = j.value"                                     \
	"       AND x.seq BETWEEN $low AND $high))"                             \
	"   FROM json_each($companies) j)"
	/* clang-format on */
	static const char *const marks[][2] = {
		EACH_WAY(MARK, "TRUE"),
		EACH_WAY(MARK, "e.company_id = $company"),
		{MARK_OF_SEVERAL("max"), MARK_OF_SEVERAL("min")},
		EACH_WAY(MARK, "e.domain = $domain AND e.company_id = $company"),
	};
#undef MARK
#undef MARK_OF_SEVERAL
	const struct email_scope *scope = &search->scope;
	size_t kind = (scope->domain ? 2u : 0u) + (scope->company_id ? 1u : 0u);

	return row_get(search->db, marks[kind][up],
		DB_PARAMS(DB_INT("$low", low), DB_INT("$high", high),
			DB_GIVEN_TEXT("$company", scope->company_id),
			DB_GIVEN_TEXT("$domain", scope->domain),
			DB_GIVEN_TEXT("$companies", kind == 2 ? search->companies_json : NULL)),
		&mark_type, mark_r, err);
}

/* Finds the first seq of the search whose email was created at time_us or later, by bisection: seq
 * and time increase together. */
static int find_time(const struct search *search, int64_t time_us, int64_t *seq_r, struct err *err)
{
	int64_t low = search->low, high = search->high;

	while (low <= high) {
		int64_t middle = low + (high - low) / 2;
		struct mark mark;
		int found = find_mark(search, true, middle, high, &mark, err);

		if (found < 0)
			return -1;
		if (found == 0 || mark.created_us >= time_us)
			high = middle - 1;
		else
			low = mark.seq + 1;
	}
	*seq_r = low;
	return 0;
}

/* Finds the range of seq to search. Returns 1, 0 if it is empty, -1 on error. */
static int find_range(struct search *search, struct err *err)
{
	const struct email_filter *filter = search->filter;
	struct mark newest, oldest;
	int64_t seq;
	int found = find_mark(search, false, search->low, search->high, &newest, err);

	if (found == 1)
		found = find_mark(search, true, search->low, search->high, &oldest, err);
	if (found != 1)
		return found;
	search->low = oldest.seq;
	search->high = newest.seq;
	if (filter->since_us) {
		if (find_time(search, filter->since_us - DISORDER_US, &seq, err) < 0)
			return -1;
		search->low = seq;
	}
	if (filter->until_us) {
		if (find_time(search, filter->until_us + DISORDER_US, &seq, err) < 0)
			return -1;
		search->high = seq - 1;
	}
	return search->low <= search->high;
}

/* Limits the search to max candidates of a company. Returns 1 if it had more, 0 if not, -1 on
 * error. */
static int bound_company(
	struct search *search, const char *company_id, int64_t max, struct err *err)
{
/* clang-format off */
#define LAST(from, condition, seq, join, once, order)                           \
	"SELECT " seq                                                           \
	" FROM " from                                                           \
	" WHERE " condition " AND " seq " BETWEEN $low AND $high"               \
	" ORDER BY " seq order                                                  \
	" LIMIT 1 OFFSET $max"
	/* clang-format on */
	static const char *const lasts[LEADS][2] = EACH_LEAD(LAST, OF_ONE);
#undef LAST
	int64_t last;
	int found = row_number(search->db, lasts[search->lead][search->up],
		DB_PARAMS(DB_INT("$low", search->low), DB_INT("$high", search->high),
			DB_INT("$max", max), LEAD_PARAMS(search, search->lead),
			DB_GIVEN_TEXT("$company", company_id)),
		&last, err);

	if (found != 1)
		return found;
	if (search->up)
		search->high = last;
	else
		search->low = last;
	return 1;
}

/* Sets where the next page continues, and how far that is through the scope, after the range was
 * cut. Returns 1, 0 if nothing follows, -1 on error. */
static int note_cut(const struct search *search, struct email_found *found, struct err *err)
{
	struct mark last, newest, oldest;
	int result = find_mark(search, !search->up, search->low, search->high, &last, err);

	if (result == 1)
		result = find_mark(search, false, 1, INT64_MAX - 1, &newest, err);
	if (result == 1)
		result = find_mark(search, true, 1, INT64_MAX - 1, &oldest, err);
	if (result != 1)
		return result;
	memcpy(found->next, last.id, ID_SIZE);
	found->looked_us = last.created_us;
	found->percent = 100 * (search->up ? last.seq - oldest.seq : newest.seq - last.seq) /
			 (newest.seq - oldest.seq + 1);
	return 1;
}

/* Limits the search to the candidates of one page. Returns 1 if it had more, 0 if not, -1 on
 * error. */
static int bound_range(struct search *search, struct email_found *found_r, struct err *err)
{
	size_t n = search->scope.company_id ? 1 : search->companies.n;
	/* A candidate from an index costs a look-up of its email; a text search also one of its
	 * recipients. */
	int64_t all = search->lead < LEAD_TEXT || search->filter->text ? EMAIL_SEARCH_LED_MAX
								       : EMAIL_SEARCH_MAX;
	int64_t max = all / (int64_t)(n ? n : 1);
	int found, cut = 0;

	if (n < 2)
		cut = bound_company(search, search->scope.company_id, max, err);
	for (size_t i = 0; n > 1 && cut >= 0 && i < n; i++) {
		found = bound_company(search, search->companies.items[i], max > 0 ? max : 1, err);
		cut = found < 0 ? -1 : cut | found;
	}
	return cut == 1 ? note_cut(search, found_r, err) : cut;
}

/* Gets candidates from the text index, if no other index leads to few emails. Returns 1 if there
 * may be more, 0 if not, -1 on error. */
static int find_texts(struct search *search, struct email_found *found_r, struct err *err)
{
	struct buf json = BUF_INIT;
	struct text_found texts;
	struct mark mark;
	/* Ends the range at an email of the scope, so that the next page can continue from it. */
	int found = find_mark(search, search->up, search->low, search->high, &mark, err);

	if (found != 1)
		return found;
	*(search->up ? &search->low : &search->high) = mark.seq;
	if (store_text_index_find(search->db,
		    &(const struct text_look){.company_id = search->scope.company_id,
			    .words = &search->words,
			    .up = search->up,
			    .low = search->low,
			    .high = search->high},
		    &texts, err) < 0)
		return -1;
	buf_add_char(&json, '[');
	for (size_t i = 0; i < texts.n; i++)
		buf_printf(&json, "%s%lld", i ? "," : "", (long long)texts.seqs[i]);
	buf_add_char(&json, ']');
	free(texts.seqs);
	search->lead = LEAD_TEXT;
	search->seqs_json = buf_take(&json);
	if (!texts.cut)
		return 0;
	*(search->up ? &search->high : &search->low) = texts.reached;
	return note_cut(search, found_r, err);
}

/* True if every candidate matches, because the search has no condition but the company and the
 * domain whose index it walks. */
static bool all_match(const struct search *search)
{
	const struct email_filter *filter = search->filter;
	bool by_domain = search->lead == LEAD_DOMAIN && search->scope.domain;

	if (search->lead != LEAD_ALL && search->lead != LEAD_COMPANY && !by_domain)
		return false;
	return !search->scope.sent_only && !filter->to && !filter->from && !filter->subject &&
	       !filter->text && !filter->recipient && !filter->key_id && !filter->status &&
	       !filter->tag && !filter->since_us && !filter->until_us;
}

/* IS TRUE makes the filter a single condition. From several conditions SQLite concludes that few
 * rows are left, and sorts them instead of reading them in order. */
static int read_matches(const struct search *search, const struct page *page,
	struct email_list *list_r, struct page_end *end_r, struct err *err)
{
/* clang-format off */
#define MATCHES(from, condition, seq, join, once, order)                        \
	"SELECT " EMAIL_COLUMNS                                                       \
	" FROM " from join                                                      \
	" WHERE " condition once " AND " seq " BETWEEN $low AND $high"          \
	" AND" EMAIL_IN_FOLDER                                                        \
	" AND ($company IS NULL OR e.company_id = $company)"                    \
	" AND ($domain IS NULL OR e.domain = $domain)"                          \
	" AND e.created_us >= $since"                                           \
	" AND e.created_us < $until"                                            \
	" AND (($from IS NULL OR e.sender = $from COLLATE NOCASE)"              \
	"   AND ($key IS NULL OR e.key_id = $key)"                              \
	"   AND ($subject IS NULL OR instr(lower(e.subject), $subject) > 0)"    \
	"   AND ($status IS NULL"                                               \
	"     OR CASE $status"                                                  \
	"       WHEN 'refused' THEN e.state = 'refused' AND e.last_event = 'failed'" \
	"       WHEN 'stopped' THEN e.state = 'staged' AND e.last_event IS NOT NULL" \
	"       WHEN 'scheduled'"                                               \
	"         THEN e.state = 'staged' AND e.last_event IS NULL AND e.scheduled_us > $now" \
	"       WHEN 'queued'"                                                  \
	"         THEN e.state = 'staged' AND e.last_event IS NULL AND e.scheduled_us <= $now" \
	"       WHEN 'sent' THEN e.last_event = 'sent' AND e.state = 'sent'"    \
	"       ELSE e.last_event = $status END)"                               \
	"   AND ($tag IS NULL OR EXISTS (SELECT 1"                              \
	"       FROM email_tag t"                                               \
	"       WHERE t.email = e.seq AND t.tag = $tag))"                       \
	"   AND (($receiver IS NULL AND $status_of IS NULL) OR EXISTS (SELECT 1" \
	"       FROM email_recipient o"                                         \
	"       WHERE o.email = e.seq"                                          \
	"       AND ($status_of IS NULL OR o.state || '' = $status_of)"         \
	"       AND ($receiver IS NULL OR +o.address = $receiver COLLATE NOCASE)))" \
	"   AND NOT EXISTS (SELECT 1"                                           \
	"     FROM json_each($words) w"                                         \
	"     WHERE instr(lower(e.subject), w.value) = 0"                       \
	"     AND instr(lower(e.header_from), w.value) = 0"                     \
	"     AND instr(lower(e.sender), w.value) = 0"                          \
	"     AND instr(lower(e.message_id), w.value) = 0"                      \
	"     AND NOT EXISTS (SELECT 1"                                         \
	"       FROM email_recipient p"                                         \
	"       WHERE p.email = e.seq"                                          \
	"       AND instr(lower(coalesce(p.mailbox, p.address)), w.value) > 0))) IS TRUE" \
	" ORDER BY " seq order                                                  \
	" LIMIT $limit"
	/* clang-format on */
	static const char *const matches[2][LEADS][2] = {
		EACH_LEAD(MATCHES, OF_ONE), EACH_LEAD(MATCHES, OF_SEVERAL)};
#undef MATCHES
	const struct email_scope *scope = &search->scope;
	const struct email_filter *filter = search->filter;
	bool several = scope->company_id == NULL && search->companies.n > 0 &&
		       search->lead != LEAD_TEXT;

	return row_list(search->db,
		ROW_LIST(.sql = matches[several][search->lead][search->up],
			.params = DB_PARAMS(DB_INT("$low", search->low),
				DB_INT("$high", search->high), DB_INT("$all", !scope->sent_only),
				DB_TEXT("$company", scope->company_id),
				DB_TEXT("$domain", scope->domain),
				DB_INT("$since", filter->since_us),
				DB_INT("$until", filter->until_us ? filter->until_us : INT64_MAX),
				DB_TEXT("$receiver", search->lead == LEAD_ALL || search->status
							     ? filter->to
							     : NULL),
				DB_TEXT("$status_of", search->status),
				DB_TEXT("$from", filter->from), DB_TEXT("$key", filter->key_id),
				DB_TEXT("$words", search->words_json),
				DB_TEXT("$subject", search->subject),
				DB_TEXT("$status", filter->status), DB_INT("$now", filter->now_us),
				DB_TEXT("$tag", search->tag), LEAD_PARAMS(search, search->lead),
				DB_GIVEN_TEXT(
					"$companies", several ? search->companies_json : NULL)),
			.type = &store_email_type, .page = page, ROW_INTO(list_r), .end_r = end_r),
		err);
}

/* Starts before or after the cursor. Returns 1, 0 if there is no such email, -1 on error. */
static int start_at(struct search *search, const struct page *page, struct err *err)
{
	const char *cursor = page_cursor(page);
	int64_t seq;
	int found;

	search->low = 1;
	search->high = INT64_MAX - 1;
	search->up = page_backwards(page);
	if (cursor == NULL)
		return 1;
	found = store_email_seq(search->db, cursor, NULL, &search->scope, &seq, err);
	if (found == 1 && search->up)
		search->low = seq + 1;
	else if (found == 1)
		search->high = seq - 1;
	return found;
}

int store_email_search(struct db *db, const struct email_scope *scope,
	const struct email_filter *filter, const struct page *page, struct email_found *found_r,
	struct err *err)
{
	struct search search = {.db = db, .scope = *scope, .filter = filter};
	struct email_found all = {0};
	struct page_end end = {0};
	int found = start_at(&search, page, err), cut = 0;

	if (found != 1)
		return found;
	search.subject = str_lowered(filter->subject);
	search.tag = str_lowered(filter->tag);
	if (filter->text)
		store_text_index_words(filter->text, &search.words);
	else if (!str_empty(filter->subject))
		strv_take(&search.words, str_folded(filter->subject));
	choose_lead(&search);
	found = find_companies(&search, err);
	if (found == 1)
		found = find_range(&search, err);
	if (found == 1 && search.words.n > 0 && search.lead > LEAD_TEXT) {
		cut = find_texts(&search, &all, err);
	} else if (found == 1) {
		if (filter->text)
			search.words_json = row_json_array(&search.words);
		/* A page of emails that all match ends at its limit, so none has to be counted. */
		if (!all_match(&search))
			cut = bound_range(&search, &all, err);
	}
	if (found == 1 && cut >= 0)
		found = read_matches(&search, page, &all.list, &end, err);
	free(search.subject);
	free(search.tag);
	free(search.domain);
	free(search.companies_json);
	free(search.words_json);
	free(search.seqs_json);
	strv_free(&search.companies);
	strv_free(&search.words);
	if (found < 0 || cut < 0)
		return -1;
	all.more = end.more || cut;
	if (end.more)
		all.next[0] = '\0';
	*found_r = all;
	return 1;
}
