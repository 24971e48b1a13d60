/*
 * store_event: the events of emails, recipient by recipient.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/event/store_event.h"

#include <string.h>

#include "core/base/buf.h"

static const struct row_field event_fields[] = {
	ROW_FIELD(email_event, seq, ROW_INT64),
	ROW_FIELD(email_event, email_id, ROW_ID),
	ROW_FIELD(email_event, n, ROW_INT64),
	ROW_FIELD(email_event, recipient, ROW_TEXT),
	ROW_FIELD(email_event, domain, ROW_TEXT),
	ROW_WORD(email_event, kind, ROW_ENUM, "kind", &event_kind_words),
	ROW_FIELD(email_event, attempt, ROW_INT64),
	ROW_FIELD(email_event, occurred_us, ROW_INT64),
	ROW_FIELD(email_event, recorded_us, ROW_INT64),
	ROW_FIELD(email_event, address, ROW_TEXT),
	ROW_FIELD(email_event, relay, ROW_TEXT),
	ROW_FIELD(email_event, dsn, ROW_TEXT),
	ROW_FIELD(email_event, text, ROW_TEXT),
	ROW_FIELD(email_event, source, ROW_TEXT),
	ROW_FIELD(email_event, id, ROW_ID),
	ROW_FIELD(email_event, message_id, ROW_TEXT),
	ROW_FIELD(email_event, sender, ROW_TEXT),
	ROW_FIELD_AS(email_event, from, ROW_TEXT, "header_from"),
	ROW_FIELD_AS(email_event, to, ROW_TEXT, "header_to"),
	ROW_FIELD(email_event, subject, ROW_TEXT),
	ROW_FIELD(email_event, tags, ROW_TEXT),
	ROW_FIELD(email_event, variables, ROW_TEXT),
	ROW_FIELD(email_event, to_all, ROW_TEXT),
	ROW_FIELD(email_event, email_us, ROW_INT64),
	ROW_FIELD(email_event, is_first, ROW_BOOL),
	ROW_FIELD(email_event, is_repeat, ROW_BOOL),
	ROW_FIELD(email_event, company_id, ROW_ID),
	ROW_FIELD(email_event, company_name, ROW_TEXT),
	ROW_FIELD(email_event, host, ROW_TEXT),
};
static const struct row_type event_type = ROW_TYPE(email_event, event_fields);

/* clang-format off */
/* The id is the key as a UUID: 8-4-4-4-12 digits. */
#define EVENT_COLUMNS                                                          \
	"v.seq, e.id AS email_id, v.n, r.address AS recipient, v.domain,"      \
	" v.kind, v.attempt, v.occurred_us, v.recorded_us, v.address, v.relay," \
	" v.dsn, v.text, v.source,"                                            \
	" lower(substr(hex(v.key), 1, 8) || '-' || substr(hex(v.key), 9, 4)"   \
	"   || '-' || substr(hex(v.key), 13, 4)"                               \
	"   || '-' || substr(hex(v.key), 17, 4)"                               \
	"   || '-' || substr(hex(v.key), 21)) AS id"
#define EVENT_TABLES                                                           \
	" FROM event v"                                                        \
	" JOIN email e ON e.seq = v.email"                                     \
	" JOIN email_recipient r ON r.email = v.email AND r.n = v.n"
/* clang-format on */

void store_event_list_free(struct event_list *list)
{
	row_list_free(&event_type, list->items, list->n);
	*list = (struct event_list){0};
}

int store_event_of_email(struct db *db, int64_t email, struct event_list *list_r, struct err *err)
{
	static const char sql_list[] = "SELECT " EVENT_COLUMNS EVENT_TABLES
				       " WHERE v.email = $email"
				       " ORDER BY v.seq";

	*list_r = (struct event_list){0};
	return row_list(db,
		ROW_LIST(.sql = sql_list, .params = DB_PARAMS(DB_INT("$email", email)),
			.type = &event_type, ROW_INTO(list_r)),
		err);
}

/* For one email all seqs are sorted, which an index contains; only rows of the page are read. */
int store_event_after(struct db *db, int64_t after_seq, int64_t email, int limit,
	struct event_list *list_r, struct err *err)
{
	static const char sql_all[] = "SELECT " EVENT_COLUMNS EVENT_TABLES
				      " WHERE v.seq > $seq"
				      " ORDER BY v.seq"
				      " LIMIT $limit";
	static const char sql_email[] = "SELECT " EVENT_COLUMNS EVENT_TABLES
					" WHERE v.seq IN (SELECT seq"
					"   FROM event"
					"   WHERE email = $email AND seq > $seq"
					"   ORDER BY seq"
					"   LIMIT $limit)"
					" ORDER BY v.seq";
	struct db_param params[] = {
		DB_INT("$seq", after_seq),
		DB_INT("$email", email),
		{.name = NULL},
	};
	const struct page page = {.limit = limit};
	struct event_list list = {0};
	struct page_end end;

	if (email == 0)
		params[1].name = NULL;
	if (row_list(db,
		    ROW_LIST(.sql = email ? sql_email : sql_all, .params = params,
			    .type = &event_type, .page = &page, ROW_INTO(&list), .end_r = &end),
		    err) < 0)
		return -1;
	list.more = end.more;
	*list_r = list;
	return 0;
}

int store_event_newest(struct db *db, int64_t *seq_r, struct err *err)
{
	static const char sql_newest[] = "SELECT coalesce(max(seq), 0) FROM event";

	return row_value(db, sql_newest, NULL, seq_r, err);
}

int store_event_page_of_email(struct db *db, int64_t email, const char *after, int limit,
	struct event_list *list_r, struct err *err)
{
	static const char sql_seq[] = "SELECT seq FROM event WHERE key = $key AND email = $email";
	uint8_t key[EVENT_KEY_LEN];
	int64_t seq = 0;
	int found = 1;

	if (*after && !id_bytes(after, key))
		return 0;
	if (*after)
		found = row_number(db, sql_seq,
			DB_PARAMS(DB_BLOB("$key", key, EVENT_KEY_LEN), DB_INT("$email", email)),
			&seq, err);
	if (found != 1)
		return found;
	return store_event_after(db, seq, email, limit, list_r, err) < 0 ? -1 : 1;
}

/* recorded_us and seq increase together, so the time of an event, or of the next one if it was
 * removed, bounds the events on either side. */
static int bound_time(struct db *db, int64_t seq, bool begins, int64_t *begin_us, int64_t *end_us,
	struct err *err)
{
	static const char sql_time[] =
		"SELECT recorded_us FROM event WHERE seq >= $seq ORDER BY seq LIMIT 1";
	int64_t time_us;
	int found = row_number(db, sql_time, DB_PARAMS(DB_INT("$seq", seq)), &time_us, err);

	if (found == 1 && begins && time_us > *begin_us)
		*begin_us = time_us;
	if (found == 1 && !begins && time_us < *end_us)
		*end_us = time_us;
	return found < 0 ? -1 : 0;
}

/* clang-format off */
/* The events of the domain within the times and seqs of a page. text and number: operators that keep
 * SQLite from using the index of the domain. */
#define IN_RANGE(text, number)                                                 \
	" v.company_id" text " = $company"                                     \
	" AND v.domain" text " = $domain"                                      \
	" AND v.recorded_us" number " BETWEEN $begin AND $end"                 \
	" AND v.seq" number " BETWEEN $low AND $high"
#define IN_ORDER(order) " ORDER BY v.recorded_us " order ", v.seq " order
#define ANY_OF(array, condition)                                               \
	" AND ($" array " IS NULL OR EXISTS (SELECT 1"                         \
	"     FROM json_each($" array ") j"                                    \
	"     WHERE " condition "))"
/* "+" makes SQLite use the recipients of the email; the other index has all emails to the address.
 * Conditions on indexed columns come first, so an event of another kind costs no look-up of its
 * row. */
#define OF_KINDS " AND ($kinds = '' OR instr($kinds, ' ' || v.kind || ' ') > 0)"
#define TO_RECIPIENTS ANY_OF("recipients", "r.address = j.value COLLATE NOCASE")
#define MATCHES                                                                \
	OF_KINDS                                                               \
	TO_RECIPIENTS                                                          \
	ANY_OF("message_ids", "e.message_id = '<' || j.value || '>'")          \
	ANY_OF("senders", "instr(lower(e.header_from), lower(j.value)) > 0"    \
		" OR e.sender = j.value COLLATE NOCASE")                       \
	ANY_OF("subjects", "instr(lower(e.subject), lower(j.value)) > 0")      \
	ANY_OF("tags", "EXISTS (SELECT 1 FROM email_tag g"                     \
		" WHERE g.email = e.seq AND g.tag = lower(j.value))")          \
	ANY_OF("to", "EXISTS (SELECT 1 FROM email_recipient o"                 \
		" WHERE o.email = e.seq AND +o.address = j.value"              \
		" COLLATE NOCASE)")
#define EMAIL_COLUMNS ", e.message_id, e.sender, e.header_from," \
	" e.subject, c.tags, c.variables, (SELECT group_concat(t.text, ', ')" \
	"   FROM (SELECT coalesce(mailbox, address) AS text" \
	"     FROM email_recipient" \
	"     WHERE email = e.seq AND kind = 'to'" \
	"     ORDER BY n" \
	"     LIMIT 20) t) AS header_to"
#define EMAIL_TABLES(event) " FROM " event \
	" CROSS JOIN email e ON e.seq = v.email" \
	" CROSS JOIN email_recipient r ON r.email = v.email AND r.n = v.n" \
	" CROSS JOIN email_content c ON c.seq = v.email" \
	" WHERE"
#define WITH_EMAIL(event) "SELECT " EVENT_COLUMNS EMAIL_COLUMNS EMAIL_TABLES(event)
/* clang-format on */

int store_event_get(struct db *db, int64_t seq, struct email_event *event_r, struct err *err)
{
	static const char sql_get[] =
		"SELECT " EVENT_COLUMNS EMAIL_COLUMNS
		", e.created_us AS email_us, (SELECT json_group_array(t.text)"
		"   FROM (SELECT coalesce(mailbox, address) AS text"
		"     FROM email_recipient"
		"     WHERE email = e.seq AND kind = 'to'"
		"     ORDER BY n) t) AS to_all, v.n = (SELECT min(o.n)"
		"   FROM email_recipient o"
		"   WHERE o.email = e.seq AND o.state IS NOT NULL) AS is_first,"
		" EXISTS (SELECT 1"
		"   FROM event o"
		"   WHERE o.email = v.email AND o.n = v.n AND o.kind = v.kind"
		"   AND o.seq < v.seq) AS is_repeat" EMAIL_TABLES("event v") " v.seq = $seq";

	return row_get(db, sql_get, DB_PARAMS(DB_INT("$seq", seq)), &event_type, event_r, err);
}

void store_event_clear(struct email_event *event)
{
	row_clear(&event_type, event);
}

/* For few emails it is faster to read all of their events. */
enum { FEW_EMAILS = 100 };

/* Finds the seqs of the company's emails that can match, if they are few, as a JSON array. Returns
 * 1; 0 if there are many, or no filter leads to them; -1 on error. */
static int find_few(
	struct db *db, const struct event_filter *filter, struct buf *emails, struct err *err)
{
	static const char sql_messages[] =
		"SELECT e.seq"
		" FROM json_each($texts) j"
		" CROSS JOIN email e ON e.id = substr(j.value, 1, 36)"
		" AND e.company_id || '' = $company"
		" WHERE e.message_id = '<' || j.value || '>'"
		" UNION SELECT e.seq"
		" FROM json_each($texts) j"
		" CROSS JOIN email e ON e.message_id = '<' || j.value || '>'"
		" AND e.company_id = $company"
		" AND substr(e.message_id, 2, 36) <> e.id"
		" LIMIT $max";
	static const char sql_recipients[] =
		"SELECT r.email"
		" FROM json_each($texts) j"
		" CROSS JOIN email_recipient r ON r.address = j.value COLLATE NOCASE"
		" AND r.company_id = $company"
		" LIMIT $max";
	static const char sql_tags[] =
		"SELECT g.email"
		" FROM json_each($texts) j"
		" CROSS JOIN email_tag g ON g.tag = lower(j.value) AND g.company_id = $company"
		" LIMIT $max";
	/* The filters that usually match fewest emails come first. */
	const struct {
		const char *texts;
		const char *sql;
	} ways[] = {
		{filter->message_ids, sql_messages},
		{filter->recipients, sql_recipients},
		{filter->to, sql_recipients},
		{filter->tags, sql_tags},
		{NULL, NULL},
	};
	struct db_stmt *stmt;
	size_t way = 0;
	int result, n = 0;

	while (ways[way].sql && ways[way].texts == NULL)
		way++;
	if (ways[way].sql == NULL)
		return 0;
	if (db_start(db, ways[way].sql,
		    DB_PARAMS(DB_TEXT("$texts", ways[way].texts),
			    DB_TEXT("$company", filter->company_id),
			    DB_INT("$max", FEW_EMAILS + 1)),
		    &stmt, err) != 0)
		return -1;
	buf_add_char(emails, '[');
	while ((result = db_step(stmt, err)) == 1)
		buf_printf(emails, "%s%lld", n++ ? "," : "", (long long)db_int(stmt, 0));
	buf_add_char(emails, ']');
	return result < 0 ? -1 : n <= FEW_EMAILS;
}

int store_event_find(struct db *db, const char *company_id, const struct event_cursor *cursor,
	int64_t *seq_r, struct err *err)
{
	static const char sql_event[] =
		"SELECT v.seq"
		" FROM email e"
		" CROSS JOIN event v ON v.email = e.seq AND v.key = $key"
		" WHERE e.id = $email AND ($company IS NULL OR e.company_id || '' = $company)";
	uint8_t key[EVENT_KEY_LEN];

	if (!id_bytes(cursor->id, key))
		return 0;
	return row_number(db, sql_event,
		DB_PARAMS(DB_BLOB("$key", key, EVENT_KEY_LEN), DB_TEXT("$email", cursor->email_id),
			DB_TEXT("$company", company_id)),
		seq_r, err);
}

int store_event_seq(struct db *db, const struct event_filter *filter,
	const struct event_cursor *cursor, int64_t *seq_r, struct err *err)
{
/* clang-format off */
#define SAME_TIME(side, order)                                                 \
	"SELECT seq"                                                           \
	" FROM event"                                                          \
	" WHERE company_id = $company AND domain = $domain"                    \
	" AND recorded_us " side " $time"                                      \
	" ORDER BY recorded_us" order ", seq" order                            \
	" LIMIT 1"
	/* clang-format on */
	static const char *const sql_near[] = {SAME_TIME("<=", " DESC"), SAME_TIME(">=", "")};
#undef SAME_TIME
	bool up = filter->ascending;
	int64_t seq = up ? INT64_MAX - 2 : 0;
	int found;

	if (*cursor->email_id == '\0') {
		*seq_r = 0;
		return 0;
	}
	found = store_event_find(db, filter->company_id, cursor, seq_r, err);
	if (found != 0)
		return found < 0 ? -1 : 0;
	if (row_number(db, sql_near[up],
		    DB_PARAMS(DB_TEXT("$company", filter->company_id),
			    DB_TEXT("$domain", filter->domain),
			    DB_INT("$time", cursor->recorded_us)),
		    &seq, err) < 0)
		return -1;
	*seq_r = up ? seq - 1 : seq + 1;
	return 0;
}

/* The kinds as MATCHES compares them. */
static void add_kinds(struct buf *text, unsigned kinds)
{
	for (unsigned i = 0; i < EVENT_KINDS; i++)
		if (kinds & (1u << i))
			buf_printf(text, " %s ", event_kind_name((enum event_kind)i));
}

/* The events behind the cursor, in the direction of the list. */
static void set_seqs(const struct event_filter *filter, int64_t *low_r, int64_t *high_r)
{
	*low_r = filter->ascending ? filter->after_seq + 1 : 0;
	*high_r = filter->ascending || filter->after_seq == 0 ? INT64_MAX : filter->after_seq - 1;
}

/* clang-format off */
#define LAST(order)                                                            \
	"SELECT v.seq"                                                         \
	" FROM event v"                                                        \
	" WHERE" IN_RANGE("", "") IN_ORDER(order)                              \
	" LIMIT 1 OFFSET $max"
#define PAGE(order)                                                            \
	WITH_EMAIL("event v") IN_RANGE("", "") MATCHES IN_ORDER(order)         \
	" LIMIT $limit"
#define OF_FEW(order)                                                          \
	WITH_EMAIL("(SELECT DISTINCT CAST(value AS BIGINT) AS seq"             \
		"   FROM json_each($emails)) m"                                    \
		" CROSS JOIN event v ON v.email = m.seq")                      \
	IN_RANGE(" || ''", " + 0") MATCHES IN_ORDER(order)                     \
	" LIMIT $limit"
/* clang-format on */

/* Read in the order of the index; the events of few emails are sorted. */
int store_event_page(struct db *db, const struct event_filter *filter, struct event_list *list_r,
	struct err *err)
{
	static const char *const lasts[] = {LAST("DESC"), LAST("ASC")};
	static const char *const pages[] = {PAGE("DESC"), PAGE("ASC")};
	static const char *const of_few[] = {OF_FEW("DESC"), OF_FEW("ASC")};
	_cleanup_buf_ struct buf kinds = BUF_INIT, emails = BUF_INIT;
	const bool up = filter->ascending;
	int64_t begin_us = filter->begin_us;
	int64_t end_us = filter->end_us ? filter->end_us : INT64_MAX;
	int64_t low, high, last = 0;
	const struct page page = {.limit = filter->limit};
	struct event_list list = {0};
	struct page_end end;
	int few, cut = 0;

	set_seqs(filter, &low, &high);
	add_kinds(&kinds, filter->kinds);
	few = find_few(db, filter, &emails, err);
	if (few < 0 || (filter->after_seq &&
			       bound_time(db, filter->after_seq, up, &begin_us, &end_us, err) < 0))
		return -1;
	if (!few)
		cut = row_number(db, lasts[up],
			DB_PARAMS(DB_TEXT("$domain", filter->domain),
				DB_TEXT("$company", filter->company_id), DB_INT("$begin", begin_us),
				DB_INT("$end", end_us), DB_INT("$low", low), DB_INT("$high", high),
				DB_INT("$max", EVENT_PAGE_MAX - 1)),
			&last, err);
	if (cut < 0 || (cut && bound_time(db, last, !up, &begin_us, &end_us, err) < 0))
		return -1;
	if (cut)
		*(up ? &high : &low) = last;
	if (row_list(db,
		    ROW_LIST(.sql = few ? of_few[up] : pages[up],
			    .params = DB_PARAMS(DB_TEXT("$domain", filter->domain),
				    DB_INT("$begin", begin_us), DB_INT("$end", end_us),
				    DB_INT("$low", low), DB_INT("$high", high),
				    DB_TEXT("$kinds", buf_str(&kinds)),
				    DB_TEXT("$company", filter->company_id),
				    DB_TEXT("$recipients", filter->recipients),
				    DB_TEXT("$message_ids", filter->message_ids),
				    DB_TEXT("$senders", filter->senders),
				    DB_TEXT("$subjects", filter->subjects),
				    DB_TEXT("$tags", filter->tags), DB_TEXT("$to", filter->to),
				    DB_GIVEN_TEXT("$emails", few ? buf_str(&emails) : NULL)),
			    .type = &event_type, .page = &page, ROW_INTO(&list), .end_r = &end),
		    err) < 0)
		return -1;
	list.more = end.more;
	list.looked_seq = cut && !end.more ? last : 0;
	*list_r = list;
	return 0;
}
#undef LAST
#undef PAGE
#undef OF_FEW

int store_event_cursor(struct db *db, int64_t seq, struct event_cursor *cursor_r, struct err *err)
{
	static const char sql_event[] = "SELECT " EVENT_COLUMNS EVENT_TABLES " WHERE v.seq = $seq";
	struct email_event event;
	int found = row_get(
		db, sql_event, DB_PARAMS(DB_INT("$seq", seq)), &event_type, &event, err);

	*cursor_r = (struct event_cursor){0};
	if (found <= 0)
		return found;
	memcpy(cursor_r->email_id, event.email_id, ID_SIZE);
	memcpy(cursor_r->id, event.id, ID_SIZE);
	cursor_r->recorded_us = event.recorded_us;
	row_clear(&event_type, &event);
	return 1;
}

/* clang-format off */
#define BY_COMPANY " INDEXED BY event_by_company"
#define OF_COMPANY " v.company_id = $company AND"
#define LAST(index, company, order)                                            \
	"SELECT v.seq"                                                         \
	" FROM event v" index                                                  \
	" WHERE" company " v.seq BETWEEN $low AND $high"                       \
	" ORDER BY v.seq " order                                               \
	" LIMIT 1 OFFSET $skip"
#define PAGE(index, company, order)                                            \
	"SELECT " EVENT_COLUMNS ", e.subject, e.host, v.company_id,"           \
	" (SELECT p.name FROM company p WHERE p.id = v.company_id)"            \
	"   AS company_name"                                                   \
	" FROM event v" index                                                  \
	" CROSS JOIN email e ON e.seq = v.email"                               \
	" CROSS JOIN email_recipient r ON r.email = v.email AND r.n = v.n"     \
	" WHERE" company " v.seq BETWEEN $low AND $high"                       \
	" AND ($domain IS NULL OR v.domain = $domain)"                         \
	OF_KINDS                                                               \
	TO_RECIPIENTS                                                          \
	" ORDER BY v.seq " order                                               \
	" LIMIT $limit"
#define EACH(statement) {                                                      \
	{statement("", "", "DESC"), statement("", "", "ASC")},                 \
	{statement(BY_COMPANY, OF_COMPANY, "DESC"),                            \
		statement(BY_COMPANY, OF_COMPANY, "ASC")},                     \
}
/* clang-format on */

/* Reads an index in its order, up to EVENT_PAGE_MAX entries. */
int store_event_recent(struct db *db, const struct event_filter *filter, struct event_list *list_r,
	struct err *err)
{
	static const char *const lasts[2][2] = EACH(LAST);
	static const char *const pages[2][2] = EACH(PAGE);
	_cleanup_buf_ struct buf kinds = BUF_INIT;
	const bool up = filter->ascending, own = filter->company_id != NULL;
	const struct page page = {.limit = filter->limit};
	struct event_list list = {0};
	struct page_end end;
	int64_t low, high, last = 0;
	int cut;

	if (row_number(db, lasts[own][false],
		    DB_PARAMS(DB_GIVEN_TEXT("$company", filter->company_id), DB_INT("$low", 0),
			    DB_INT("$high", INT64_MAX), DB_INT("$skip", 0)),
		    &list.newest_seq, err) < 0)
		return -1;
	set_seqs(filter, &low, &high);
	cut = row_number(db, lasts[own][up],
		DB_PARAMS(DB_GIVEN_TEXT("$company", filter->company_id), DB_INT("$low", low),
			DB_INT("$high", high), DB_INT("$skip", EVENT_PAGE_MAX - 1)),
		&last, err);
	if (cut < 0)
		return -1;
	if (cut)
		*(up ? &high : &low) = last;
	else if (up) /* what is stored meanwhile is for the next page */
		high = list.newest_seq;
	add_kinds(&kinds, filter->kinds);
	if (row_list(db,
		    ROW_LIST(.sql = pages[own][up],
			    .params = DB_PARAMS(DB_GIVEN_TEXT("$company", filter->company_id),
				    DB_INT("$low", low), DB_INT("$high", high),
				    DB_TEXT("$domain", filter->domain),
				    DB_TEXT("$kinds", buf_str(&kinds)),
				    DB_TEXT("$recipients", filter->recipients)),
			    .type = &event_type, .page = &page, ROW_INTO(&list), .end_r = &end),
		    err) < 0)
		return -1;
	list.more = end.more;
	list.looked_seq = cut && !end.more ? last : 0;
	*list_r = list;
	return 0;
}
