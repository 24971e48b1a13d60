/*
 * store_event: what became of emails, recipient by recipient.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/store_event.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/str.h"

/* A line may be stamped with whole seconds, and a message be recorded a moment
 * before or after it. */
#define SLACK_US INT64_C(5000000)
/* How long a message may be in the queue; Postfix's default is 5 days. */
#define LIFETIME_US (31 * DAY_US)

static const char *const hows[] = {
	[HOP_MILTER] = "milter",
	[HOP_FORWARDED] = "forwarded",
	[HOP_QUEUED_AS] = "queued_as",
	[HOP_ORIG_ID] = "orig_id",
	[HOP_MESSAGE_ID] = "message_id",
};
static const struct row_words how_words = {hows, ARRAY_SIZE(hows), false};

static const struct row_field hop_fields[] = {
	ROW_FIELD(hop, queue_id, ROW_TEXT),
	ROW_FIELD(hop, since_us, ROW_INT64),
	ROW_FIELD(hop, email, ROW_INT64),
	ROW_FIELD(hop, n, ROW_INT64),
	ROW_FIELD(hop, parent, ROW_TEXT),
	ROW_WORD(hop, how, ROW_ENUM, "how", &how_words),
	ROW_FIELD(hop, closed_us, ROW_INT64),
};
static const struct row_type hop_type = ROW_TYPE(hop, hop_fields);

#define HOP_COLUMNS                                                            \
	"h.queue_id, h.since_us, h.email, coalesce(h.n, -1) AS n, h.parent,"   \
	" h.how, h.closed_us"

void hop_clear(struct hop *hop)
{
	row_clear(&hop_type, hop);
}

/* The message that the milter recorded under the id; it becomes a hop. */
static int find_recorded(struct db *db, const struct db_param *params,
	struct hop *hop_r, struct err *err)
{
	static const char sql_email[] =
		"SELECT queue_id, decided_us AS since_us, seq AS email, -1 AS "
		"n,"
		" 'milter' AS how FROM email WHERE queue_id = $id"
		" AND state = 'sent' AND decided_us BETWEEN $from AND $to"
		" ORDER BY decided_us DESC LIMIT 1";
	int found = row_get(db, sql_email, params, &hop_type, hop_r, err);

	if (found != 1)
		return found;
	hop_r->is_new = true;
	if (store_hop_add(db, hop_r, err) == 0)
		return 1;
	hop_clear(hop_r);
	return -1;
}

int store_hop_find(struct db *db, const char *queue_id, int64_t time_us,
	bool now, struct hop *hop_r, struct err *err)
{
	static const char sql_hop[] = "SELECT " HOP_COLUMNS
				      " FROM hop h WHERE h.queue_id = $id"
				      " AND h.since_us BETWEEN $from AND $to"
				      " ORDER BY h.since_us DESC LIMIT 1";
	const struct db_param *params = DB_PARAMS(DB_TEXT("$id", queue_id),
		DB_INT("$from", time_us - LIFETIME_US),
		DB_INT("$to", now ? INT64_MAX : time_us + SLACK_US));
	struct hop hop, newer;
	int found = row_get(db, sql_hop, params, &hop_type, &hop, err);

	if (found < 0)
		return -1;
	if (found == 0)
		return find_recorded(db, params, hop_r, err);
	if (hop.closed_us == 0 || time_us <= hop.closed_us + SLACK_US) {
		*hop_r = hop;
		return 1;
	}
	/* It is gone, and the id was used again: by an email, or by mail that
	 * is none of ours. */
	found = find_recorded(db, params, &newer, err);
	if (found == 1 && newer.since_us > hop.since_us)
		*hop_r = newer;
	else if (found == 1)
		hop_clear(&newer), found = 0;
	hop_clear(&hop);
	return found;
}

int store_hop_add(struct db *db, const struct hop *hop, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO hop (queue_id, since_us, email, n, parent, how)"
		" VALUES ($queue_id, $since_us, $email, nullif($n, -1), "
		"$parent,"
		" $how) ON CONFLICT (queue_id, since_us) DO UPDATE SET"
		" n = excluded.n, parent = excluded.parent, how = excluded.how"
		" WHERE how = 'message_id'";

	return row_write(db, sql_add, NULL, &hop_type, hop, err) < 0 ? -1 : 0;
}

int store_hop_close(
	struct db *db, const struct hop *hop, int64_t time_us, struct err *err)
{
	static const char sql_close[] =
		"UPDATE hop SET closed_us = $now WHERE queue_id = $queue_id"
		" AND since_us = $since_us AND closed_us = 0";

	return row_write(db, sql_close, DB_PARAMS(DB_INT("$now", time_us)),
		       &hop_type, hop, err) < 0
		       ? -1
		       : 0;
}

/* Most Message-IDs begin with the email's id. */
int store_hop_of_message_id(struct db *db, const char *message_id,
	int64_t time_us, struct hop *hop_r, struct err *err)
{
#define OPEN_HOP                                                               \
	"SELECT coalesce(h.queue_id, e.queue_id) AS queue_id,"                 \
	" coalesce(h.since_us, e.decided_us) AS since_us, e.seq AS email,"     \
	" coalesce(h.n, -1) AS n, 'milter' AS how"                             \
	" FROM email e LEFT JOIN hop h ON h.email = e.seq"                     \
	" WHERE e.message_id = $message_id AND e.state = 'sent'"               \
	" AND e.decided_us <= $now AND (h.queue_id IS NULL OR"                 \
	" (h.since_us <= $now AND (h.closed_us = 0 OR h.closed_us >= $now)))"
#define NEWEST " ORDER BY h.since_us DESC LIMIT 1"
	static const char sql_own[] = OPEN_HOP " AND e.id = $id" NEWEST;
	static const char sql_chosen[] = OPEN_HOP
		" AND substr(e.message_id, 2, 36) <> e.id" NEWEST;
#undef OPEN_HOP
#undef NEWEST
	char begin[ID_SIZE] = "", id[ID_SIZE];
	int found;

	if (strlen(message_id) > ID_SIZE)
		*stpncpy(begin, message_id + 1, ID_SIZE - 1) = '\0';
	if (id_parse(begin, id)) {
		found = row_get(db, sql_own,
			DB_PARAMS(DB_TEXT("$message_id", message_id),
				DB_INT("$now", time_us), DB_TEXT("$id", id)),
			&hop_type, hop_r, err);
		if (found != 0)
			return found;
	}
	return row_get(db, sql_chosen,
		DB_PARAMS(DB_TEXT("$message_id", message_id),
			DB_INT("$now", time_us)),
		&hop_type, hop_r, err);
}

const char *hop_how_name(enum hop_how how)
{
	return hows[how];
}

int store_hops_of_email(
	struct db *db, int64_t email, struct hop_list *list_r, struct err *err)
{
	static const char sql_hops[] = "SELECT " HOP_COLUMNS
				       " FROM hop h WHERE h.email = $email"
				       " ORDER BY h.since_us, h.queue_id";

	return row_all(db, sql_hops, DB_PARAMS(DB_INT("$email", email)),
		&hop_type, &list_r->items, &list_r->n, err);
}

void store_hop_list_free(struct hop_list *list)
{
	row_list_free(&hop_type, list->items, list->n);
	*list = (struct hop_list){0};
}

/* What a statement that gives one row says: 1, 0, -1. */
static int is_true(struct db *db, const char *sql,
	const struct db_param *params, struct err *err)
{
	int64_t number;

	return row_number(db, sql, params, &number, err) < 0 ? -1 : (int)number;
}

int store_hop_is_filtered(
	struct db *db, const struct hop *hop, int64_t from_us, struct err *err)
{
	static const char sql_filtered[] =
		"SELECT EXISTS (SELECT 1 FROM hop WHERE email = $email"
		" AND parent = $queue_id AND how = 'message_id'"
		" AND since_us >= $from)";

	return is_true(db, sql_filtered,
		DB_PARAMS(DB_INT("$email", hop->email),
			DB_TEXT("$queue_id", hop->queue_id),
			DB_INT("$from", from_us)),
		err);
}

int store_hop_is_alone(struct db *db, const struct hop *hop, struct err *err)
{
	static const char sql_alone[] =
		"SELECT count(*) < 2 FROM hop WHERE email = $email";

	return is_true(
		db, sql_alone, DB_PARAMS(DB_INT("$email", hop->email)), err);
}

int store_hop_is_last(struct db *db, const struct hop *hop, struct err *err)
{
	static const char sql_last[] =
		"SELECT NOT EXISTS (SELECT 1 FROM hop WHERE email = $email"
		" AND (closed_us = 0 OR how IN ('forwarded', 'queued_as')))";

	return is_true(
		db, sql_last, DB_PARAMS(DB_INT("$email", hop->email)), err);
}

static const struct row_field event_fields[] = {
	ROW_FIELD(email_event, seq, ROW_INT64),
	ROW_FIELD(email_event, email_id, ROW_ID),
	ROW_FIELD(email_event, n, ROW_INT64),
	ROW_FIELD(email_event, recipient, ROW_TEXT),
	ROW_FIELD(email_event, domain, ROW_TEXT),
	ROW_WORD(email_event, kind, ROW_ENUM, "kind", &fact_words),
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
};
static const struct row_type event_type = ROW_TYPE(email_event, event_fields);

/* The key as a UUID: 8-4-4-4-12 digits. */
#define EVENT_COLUMNS                                                          \
	"v.seq, e.id AS email_id, v.n, r.address AS recipient, v.domain,"      \
	" v.kind, v.attempt, v.occurred_us, v.recorded_us, v.address, "        \
	"v.relay,"                                                             \
	" v.dsn, v.text, v.source, lower(substr(hex(v.key), 1, 8) || '-' ||"   \
	" substr(hex(v.key), 9, 4) || '-' || substr(hex(v.key), 13, 4) || '-'" \
	" || substr(hex(v.key), 17, 4) || '-' || substr(hex(v.key), 21)) AS "  \
	"id"
#define EVENT_TABLES                                                           \
	" FROM event v JOIN email e ON e.seq = v.email"                        \
	" JOIN email_recipient r ON r.email = v.email AND r.n = v.n"

void store_event_list_free(struct event_list *list)
{
	row_list_free(&event_type, list->items, list->n);
	*list = (struct event_list){0};
}

int store_event_of_email(struct db *db, int64_t email,
	struct event_list *list_r, struct err *err)
{
	static const char sql_list[] = "SELECT " EVENT_COLUMNS EVENT_TABLES
				       " WHERE v.email = $email ORDER BY v.seq";
	struct rows rows;

	if (row_list(db, sql_list, DB_PARAMS(DB_INT("$email", email)),
		    &event_type, ROWS_ALL, &rows, err) < 0)
		return -1;
	*list_r = (struct event_list){.items = rows.items, .n = rows.n};
	return 0;
}

/* Of one email all numbers are sorted, which an index has; rows are read of the
 * page alone. */
int store_event_after(struct db *db, int64_t after_seq, int64_t email,
	int limit, struct event_list *list_r, struct err *err)
{
	static const char sql_all[] =
		"SELECT " EVENT_COLUMNS EVENT_TABLES
		" WHERE v.seq > $seq ORDER BY v.seq LIMIT $limit";
	static const char sql_email[] =
		"SELECT " EVENT_COLUMNS EVENT_TABLES
		" WHERE v.seq IN (SELECT seq FROM event WHERE email = $email"
		" AND seq > $seq ORDER BY seq LIMIT $limit) ORDER BY v.seq";
	struct db_param params[] = {
		DB_INT("$seq", after_seq),
		DB_INT("$limit", limit + INT64_C(1)),
		DB_INT("$email", email),
		{.name = NULL},
	};
	struct rows rows;

	if (email == 0)
		params[2].name = NULL;
	if (row_list(db, email ? sql_email : sql_all, params, &event_type,
		    (size_t)limit, &rows, err) < 0)
		return -1;
	*list_r = (struct event_list){
		.items = rows.items, .n = rows.n, .more = rows.more};
	return 0;
}

int store_event_newest(struct db *db, int64_t *seq_r, struct err *err)
{
	static const char sql_newest[] =
		"SELECT coalesce(max(seq), 0) FROM event";

	return row_number(db, sql_newest, NULL, seq_r, err) < 0 ? -1 : 0;
}

/* Reads a public id back. */
static bool read_key(const char *id, uint8_t key_r[static EVENT_KEY_LEN])
{
	char text[ID_SIZE];
	const char *p = text;

	if (!id_parse(id, text))
		return false;
	for (size_t i = 0; i < EVENT_KEY_LEN; i++, p += 2) {
		if (*p == '-')
			p++;
		key_r[i] = (uint8_t)ascii_hex_pair(p);
	}
	return true;
}

int store_event_page_of_email(struct db *db, int64_t email, const char *after,
	int limit, struct event_list *list_r, struct err *err)
{
	static const char sql_seq[] = "SELECT seq FROM event"
				      " WHERE key = $key AND email = $email";
	uint8_t key[EVENT_KEY_LEN];
	int64_t seq = 0;
	int found = 1;

	if (*after && !read_key(after, key))
		return 0;
	if (*after)
		found = row_number(db, sql_seq,
			DB_PARAMS(DB_BLOB("$key", key, EVENT_KEY_LEN),
				DB_INT("$email", email)),
			&seq, err);
	if (found != 1)
		return found;
	return store_event_after(db, seq, email, limit, list_r, err) < 0 ? -1 : 1;
}

/* recorded_us and seq rise together, so the time of an event, or of the next
 * one if it was removed, bounds those behind it or in front of it. */
static int bound_time(struct db *db, int64_t seq, bool begins,
	int64_t *begin_us, int64_t *end_us, struct err *err)
{
	static const char sql_time[] =
		"SELECT recorded_us FROM event"
		" WHERE seq >= $seq ORDER BY seq LIMIT 1";
	int64_t time_us;
	int found = row_number(
		db, sql_time, DB_PARAMS(DB_INT("$seq", seq)), &time_us, err);

	if (found == 1 && begins && time_us > *begin_us)
		*begin_us = time_us;
	if (found == 1 && !begins && time_us < *end_us)
		*end_us = time_us;
	return found < 0 ? -1 : 0;
}

/* clang-format off */
/* plus: "+" keeps the engine off the index of the domain. */
#define BEHIND(plus, side)                                                     \
	" " plus "v.domain = $domain"                                          \
	" AND " plus "v.recorded_us BETWEEN $begin AND $end"                   \
	" AND " plus "v.seq " side " $seq"
#define IN_ORDER(order) " ORDER BY v.recorded_us " order ", v.seq " order
#define ANY_OF(array, condition)                                               \
	" AND ($" array " IS NULL OR EXISTS (SELECT 1 FROM json_each($" array  \
	") j WHERE " condition "))"
/* What the index has is tried first: an event that is of none of the kinds costs
 * no look at its row. */
#define FITS                                                                   \
	" AND ($kinds = '' OR instr($kinds, ' ' || v.kind || ' '))"            \
	" AND ($company IS NULL OR e.company_id = $company)"                   \
	ANY_OF("recipients", "r.address = j.value COLLATE NOCASE")             \
	ANY_OF("message_ids", "e.message_id = '<' || j.value || '>'")          \
	ANY_OF("senders", "instr(lower(e.header_from), lower(j.value))"        \
		" OR e.sender = j.value COLLATE NOCASE")                       \
	ANY_OF("subjects", "instr(lower(e.subject), lower(j.value))")          \
	ANY_OF("tags", "EXISTS (SELECT 1 FROM email_tag g"                     \
		" WHERE g.email = e.seq AND g.tag = j.value)")                 \
	ANY_OF("to", "EXISTS (SELECT 1 FROM email_recipient o"                 \
		" WHERE o.email = e.seq AND o.address = j.value"               \
		" COLLATE NOCASE)")
#define WITH_EMAIL(event)                                                      \
	"SELECT " EVENT_COLUMNS ", e.message_id, e.sender, e.header_from,"     \
	" e.subject, c.tags, c.variables,"                                     \
	" (SELECT group_concat(t.text, ', ') FROM"                             \
	" (SELECT coalesce(mailbox, address) AS text FROM email_recipient"     \
	" WHERE email = e.seq AND kind = 'to' ORDER BY n LIMIT 20) t)"         \
	" AS header_to FROM " event " CROSS JOIN email e ON e.seq = v.email"   \
	" CROSS JOIN email_recipient r ON r.email = v.email AND r.n = v.n"     \
	" CROSS JOIN email_content c ON c.seq = v.email WHERE"
/* clang-format on */

/* Of few emails it is quicker to read all events. */
enum { FEW_EMAILS = 100 };

/* The numbers of the emails that can fit, if they are few, as a JSON array: 1,
 * 0 when they are many, or the filter leads to none, -1. */
static int find_few(struct db *db, const struct event_filter *filter,
	struct buf *emails, struct err *err)
{
	static const char sql_messages[] =
		"SELECT e.seq FROM json_each($texts) j CROSS JOIN email e"
		" ON e.id = substr(j.value, 1, 36)"
		" WHERE e.message_id = '<' || j.value || '>'"
		" UNION SELECT e.seq FROM json_each($texts) j CROSS JOIN email"
		" e ON e.message_id = '<' || j.value || '>'"
		" AND substr(e.message_id, 2, 36) <> e.id LIMIT $max";
	static const char sql_recipients[] =
		"SELECT r.email FROM json_each($texts) j"
		" CROSS JOIN email_recipient r"
		" ON r.address = j.value COLLATE NOCASE LIMIT $max";
	static const char sql_tags[] =
		"SELECT g.email FROM json_each($texts) j"
		" CROSS JOIN email_tag g ON g.tag = j.value LIMIT $max";
	/* Those that tend to have the fewest come first. */
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
			    DB_INT("$max", FEW_EMAILS + 1)),
		    &stmt, err) != 0)
		return -1;
	buf_add_char(emails, '[');
	while ((result = db_step(stmt, err)) == 1)
		buf_printf(emails, "%s%lld", n++ ? "," : "",
			(long long)db_int(stmt, 0));
	buf_add_char(emails, ']');
	return result < 0 ? -1 : n <= FEW_EMAILS;
}

/* In the order of the index; the events of few emails are sorted. */
int store_event_page(struct db *db, const struct event_filter *filter,
	struct event_list *list_r, struct err *err)
{
#define LAST(side, order)                                                      \
	"SELECT v.seq FROM event v WHERE" BEHIND("", side)                     \
		IN_ORDER(order) " LIMIT 1 OFFSET $max"
#define PAGE(side, until, order)                                               \
	WITH_EMAIL("event v")                                                  \
	BEHIND("", side)                                                       \
	" AND v.seq " until " $last" FITS IN_ORDER(order) " LIMIT $limit"
#define OF_FEW(side, order)                                                    \
	WITH_EMAIL("(SELECT DISTINCT value FROM json_each($emails)) m"         \
		   " CROSS JOIN event v ON v.email = m.value")                 \
	BEHIND("+", side) FITS IN_ORDER(order) " LIMIT $limit"
	static const char *const lasts[] = {
		LAST("<", "DESC"), LAST(">", "ASC")};
	static const char *const pages[] = {
		PAGE("<", ">=", "DESC"), PAGE(">", "<=", "ASC")};
	static const char *const of_few[] = {
		OF_FEW("<", "DESC"), OF_FEW(">", "ASC")};
#undef LAST
#undef PAGE
#undef OF_FEW
	_cleanup_buf_ struct buf kinds = BUF_INIT, emails = BUF_INIT;
	bool up = filter->ascending;
	int64_t begin_us = filter->begin_us, seq = filter->after_seq;
	int64_t end_us = filter->end_us ? filter->end_us : INT64_MAX;
	int64_t last = up ? INT64_MAX : 0;
	struct rows rows;
	int few, cut = 0;

	for (unsigned i = 0; i < FACTS; i++)
		if (filter->kinds & (1u << i))
			buf_printf(&kinds, " %s ", fact_name((enum fact)i));
	if (seq == 0 && !up)
		seq = INT64_MAX;
	few = find_few(db, filter, &emails, err);
	if (few < 0 || (filter->after_seq && bound_time(db, seq, up, &begin_us,
						     &end_us, err) < 0))
		return -1;
	if (!few)
		cut = row_number(db, lasts[up],
			DB_PARAMS(DB_TEXT("$domain", filter->domain),
				DB_INT("$begin", begin_us),
				DB_INT("$end", end_us), DB_INT("$seq", seq),
				DB_INT("$max", EVENT_PAGE_MAX - 1)),
			&last, err);
	if (cut == 1 && bound_time(db, last, !up, &begin_us, &end_us, err) < 0)
		return -1;
	const struct db_param params[] = {
		DB_TEXT("$domain", filter->domain),
		DB_INT("$begin", begin_us),
		DB_INT("$end", end_us),
		DB_INT("$seq", seq),
		DB_TEXT("$kinds", buf_str(&kinds)),
		DB_TEXT("$company", filter->company_id),
		DB_TEXT("$recipients", filter->recipients),
		DB_TEXT("$message_ids", filter->message_ids),
		DB_TEXT("$senders", filter->senders),
		DB_TEXT("$subjects", filter->subjects),
		DB_TEXT("$tags", filter->tags),
		DB_TEXT("$to", filter->to),
		DB_INT("$limit", filter->limit + INT64_C(1)),
		few ? (struct db_param)DB_TEXT("$emails", buf_str(&emails))
		    : (struct db_param)DB_INT("$last", last),
		{.name = NULL},
	};
	if (cut < 0 || row_list(db, few ? of_few[up] : pages[up], params,
			       &event_type, (size_t)filter->limit, &rows, err) < 0)
		return -1;
	*list_r = (struct event_list){
		rows.items, rows.n, rows.more, cut && !rows.more ? last : 0};
	return 0;
}

static const struct row_field count_fields[] = {
	ROW_FIELD(event_count, time_us, ROW_INT64),
	ROW_FIELD(event_count, domain, ROW_TEXT),
	ROW_WORD(event_count, kind, ROW_ENUM, "kind", &fact_words),
	ROW_FIELD(event_count, count, ROW_INT64),
};
static const struct row_type count_type = ROW_TYPE(event_count, count_fields);

/* The hours of a company lie together, and its days. Those of all companies are
 * read one company after the other: ids finds each by one look-up. Where whole
 * days are asked for, the hours before the first and after the last one are
 * read alone. */
#define ALL_COMPANIES                                                          \
	"WITH RECURSIVE ids (id) AS"                                           \
	" (SELECT min(company_id) FROM event_day"                              \
	" UNION ALL SELECT (SELECT min(n.company_id) FROM event_day n"         \
	" WHERE n.company_id > ids.id) FROM ids WHERE ids.id IS NOT NULL) "

int store_event_counts(struct db *db, const struct event_count_filter *filter,
	struct event_counts *counts_r, struct err *err)
{
/* clang-format off */
#define PART(time, from, table, company, low, high)                            \
	"SELECT t." time " AS at_us, t.domain, t.kind, t.count FROM " from     \
	table " t WHERE t.company_id = " company " AND t." time " >= " low     \
	" AND t." time " < " high " AND ($domain IS NULL OR t.domain = $domain)"
#define COUNTS(what, from, company, group)                                     \
	"SELECT " what ", p.kind, sum(p.count) AS count FROM ("                \
	PART("hour_us", from, "event_count", company, "$begin", "$first")      \
	" UNION ALL "                                                          \
	PART("day_us", from, "event_day", company, "$first", "$last")          \
	" UNION ALL "                                                          \
	PART("hour_us", from, "event_count", company, "$last", "$end")         \
	") p GROUP BY " group ", p.kind ORDER BY " group
#define BY_TIME(from, company)                                                 \
	COUNTS("p.at_us - p.at_us % $step AS time_us", from, company, "time_us")
#define BY_DOMAIN(from, company) COUNTS("p.domain", from, company, "p.domain")
	/* clang-format on */
	static const char *const sql[2][2] = {
		{BY_TIME("", "$company"), BY_DOMAIN("", "$company")},
		{
			ALL_COMPANIES BY_TIME("ids CROSS JOIN ", "ids.id"),
			ALL_COMPANIES BY_DOMAIN("ids CROSS JOIN ", "ids.id"),
		},
	};
#undef BY_TIME
#undef BY_DOMAIN
#undef COUNTS
#undef PART
	bool days = filter->by_domain || filter->step_us % DAY_US == 0;
	int64_t first = (filter->begin_us + DAY_US - 1) / DAY_US * DAY_US;
	int64_t last = filter->end_us / DAY_US * DAY_US;
	bool whole = days && first < last;
	const struct db_param params[] = {
		DB_INT("$begin", filter->begin_us),
		DB_INT("$first", whole ? first : filter->end_us),
		DB_INT("$last", whole ? last : filter->end_us),
		DB_INT("$end", filter->end_us),
		DB_GIVEN_TEXT("$company", filter->company_id),
		DB_TEXT("$domain", filter->domain),
		/* The last one: by domain there is no step. */
		{.name = filter->by_domain ? NULL : "$step",
			.kind = DB_PARAM_INT,
			.number = filter->step_us},
		{.name = NULL},
	};
	struct rows rows;

	if (row_list(db, sql[filter->company_id == NULL][filter->by_domain],
		    params, &count_type, ROWS_ALL, &rows, err) < 0)
		return -1;
	*counts_r = (struct event_counts){rows.items, rows.n};
	return 0;
}

void store_event_counts_free(struct event_counts *counts)
{
	row_list_free(&count_type, counts->items, counts->n);
	*counts = (struct event_counts){0};
}

static const struct row_field refused_fields[] = {
	ROW_FIELD(refused_count, time_us, ROW_INT64),
	ROW_FIELD(refused_count, domain, ROW_TEXT),
	ROW_FIELD(refused_count, count, ROW_INT64),
};
static const struct row_type refused_type = ROW_TYPE(
	refused_count, refused_fields);

/* An index has the refused emails alone. */
int store_refused_counts(struct db *db, const struct event_count_filter *filter,
	struct refused_counts *counts_r, struct err *err)
{
	static const char sql_refused[] =
		"SELECT CASE WHEN $step THEN"
		" r.decided_us - r.decided_us % $step ELSE 0 END AS time_us,"
		" CASE WHEN $step THEN NULL ELSE r.domain END AS domain,"
		" count(*) AS count FROM (SELECT e.decided_us, e.domain"
		" FROM email e WHERE e.state = 'refused'"
		" AND e.decided_us >= $begin AND e.decided_us < $end"
		" AND ($company IS NULL OR e.company_id = $company)"
		" AND ($domain IS NULL OR e.domain = $domain)"
		" ORDER BY e.decided_us DESC LIMIT $max) r"
		" GROUP BY 1, 2 ORDER BY 1, 2";

	return row_all(db, sql_refused,
		DB_PARAMS(DB_INT("$step", filter->by_domain ? 0 : filter->step_us),
			DB_INT("$begin", filter->begin_us),
			DB_INT("$end", filter->end_us),
			DB_TEXT("$company", filter->company_id),
			DB_TEXT("$domain", filter->domain),
			DB_INT("$max", REFUSED_COUNT_MAX)),
		&refused_type, &counts_r->items, &counts_r->n, err);
}

void store_refused_counts_free(struct refused_counts *counts)
{
	row_list_free(&refused_type, counts->items, counts->n);
	*counts = (struct refused_counts){0};
}

int store_log_cursor(
	struct db *db, const char *source, char **position_r, struct err *err)
{
	static const char sql_cursor[] =
		"SELECT position FROM log_cursor WHERE source = $source";
	struct db_stmt *stmt;
	int found;

	if (db_start(db, sql_cursor, DB_PARAMS(DB_TEXT("$source", source)),
		    &stmt, err) != 0)
		return -1;
	found = db_step(stmt, err);
	if (found == 1) {
		*position_r = db_copy(stmt, 0);
		db_reset(stmt);
	}
	return found;
}

int store_log_cursor_set(struct db *db, const char *source,
	const char *position, int64_t now_us, struct err *err)
{
	static const char sql_set[] =
		"INSERT INTO log_cursor (source, position, changed_us)"
		" VALUES ($source, $position, $now) ON CONFLICT (source)"
		" DO UPDATE SET position = excluded.position,"
		" changed_us = excluded.changed_us";

	return db_change(db, sql_set,
		       DB_PARAMS(DB_TEXT("$source", source),
			       DB_TEXT("$position", position),
			       DB_INT("$now", now_us)),
		       err) < 0
		       ? -1
		       : 0;
}

int store_log_state(struct db *db, struct log_state *state_r, struct err *err)
{
	static const char sql_read[] =
		"SELECT coalesce(max(changed_us), 0) FROM log_cursor";
	static const char sql_gaps[] =
		"SELECT count(*) FROM gap WHERE repaired_us = 0";

	if (row_number(db, sql_read, NULL, &state_r->read_us, err) < 0)
		return -1;
	return row_number(db, sql_gaps, NULL, &state_r->gaps, err) < 0 ? -1 : 0;
}

int store_log_silence(struct db *db, int64_t from_us, int64_t to_us,
	int64_t *since_us_r, struct err *err)
{
	enum { LOOK_MAX = 1000 };
	static const char sql_open[] =
		"SELECT s.decided_us FROM (SELECT e.seq, e.decided_us,"
		" e.last_event, e.state FROM email e"
		" WHERE e.last_event IN ('sent', 'delivery_delayed')"
		" AND e.closed = 0 AND e.decided_us >= $from AND e.decided_us "
		"< $to"
		" ORDER BY e.decided_us DESC LIMIT $max) s"
		" WHERE s.last_event = 'sent' AND s.state = 'sent'"
		" AND NOT EXISTS"
		" (SELECT 1 FROM hop h WHERE h.email = s.seq) LIMIT 1";
	/* Those that the queue no longer had are closed. */
	static const char sql_lost[] =
		"SELECT e.decided_us FROM event v"
		" CROSS JOIN email e ON e.seq = v.email"
		" WHERE v.seq > (SELECT max(seq) FROM event) - $max"
		" AND v.kind = 'unknown' AND e.state = 'sent'"
		" AND e.last_event = 'sent'"
		" AND e.decided_us >= $from AND e.decided_us < $to"
		" AND NOT EXISTS (SELECT 1 FROM hop h WHERE h.email = e.seq)"
		" ORDER BY v.seq DESC LIMIT 1";
	const struct db_param *params = DB_PARAMS(DB_INT("$from", from_us),
		DB_INT("$to", to_us), DB_INT("$max", LOOK_MAX));
	int found = row_number(db, sql_open, params, since_us_r, err);

	return found != 0 ? found
			  : row_number(db, sql_lost, params, since_us_r, err);
}

int store_gap_add(struct db *db, const char *source, const char *why,
	int64_t from_us, int64_t to_us, struct err *err)
{
	static const char sql_more[] =
		"UPDATE gap SET to_us = max(to_us, $to), count = count + 1"
		" WHERE source = $source AND why = $why AND repaired_us = 0";
	static const char sql_add[] =
		"INSERT INTO gap (source, why, from_us, to_us, count)"
		" VALUES ($source, $why, $from, $to, 1)";
	int changed = db_change(db, sql_more,
		DB_PARAMS(DB_TEXT("$source", source), DB_TEXT("$why", why),
			DB_INT("$to", to_us)),
		err);

	if (changed != 0)
		return changed < 0 ? -1 : 0;
	return db_change(db, sql_add,
		       DB_PARAMS(DB_TEXT("$source", source), DB_TEXT("$why", why),
			       DB_INT("$from", from_us), DB_INT("$to", to_us)),
		       err) < 0
		       ? -1
		       : 0;
}

int store_gap_repaired(struct db *db, int64_t now_us, struct err *err)
{
	static const char sql_repaired[] =
		"UPDATE gap SET repaired_us = $now WHERE repaired_us = 0";

	return db_change(
		db, sql_repaired, DB_PARAMS(DB_INT("$now", now_us)), err);
}

static const struct row_field open_fields[] = {
	ROW_FIELD(open_recipient, email, ROW_INT64),
	ROW_FIELD(open_recipient, n, ROW_INT64),
	ROW_FIELD(open_recipient, decided_us, ROW_INT64),
	ROW_WORD(open_recipient, fate, ROW_ENUM, "state", &fate_words),
	ROW_FIELD(open_recipient, queue_id, ROW_TEXT),
	ROW_FIELD(open_recipient, address, ROW_TEXT),
	ROW_FIELD(open_recipient, seen, ROW_INT64),
};
static const struct row_type open_type = ROW_TYPE(open_recipient, open_fields);

int store_open_recipients(struct db *db, int64_t from_us, int64_t to_us,
	int limit, struct open_recipients *open_r, struct err *err)
{
	static const char sql_open[] =
		"SELECT e.seq AS email, r.n, e.decided_us, r.state, e.queue_id,"
		" r.address, EXISTS (SELECT 1 FROM hop h WHERE h.email = e.seq)"
		" AS seen"
		" FROM email e CROSS JOIN email_recipient r ON r.email = e.seq"
		" WHERE e.last_event IN ('sent', 'delivery_delayed')"
		" AND e.closed = 0"
		" AND e.decided_us >= $from AND e.decided_us < $to"
		" AND e.state = 'sent'"
		" AND r.state IN ('queued', 'deferred', 'handed_on')"
		" ORDER BY e.decided_us LIMIT $limit";

	return row_all(db, sql_open,
		DB_PARAMS(DB_INT("$from", from_us), DB_INT("$to", to_us),
			DB_INT("$limit", limit)),
		&open_type, &open_r->items, &open_r->n, err);
}

void store_open_recipients_free(struct open_recipients *open)
{
	row_list_free(&open_type, open->items, open->n);
	*open = (struct open_recipients){0};
}
