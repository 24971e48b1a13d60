/*
 * store_suppression: the rows of the tables suppression and suppression_allowed.
 *
 * Invariant: addresses are stored folded. Each list has an index in its order. For the list of a
 * domain, the rows of the domain and those for all domains are read by the index and then merged.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/company/store_suppression.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"

static const char *const reasons[SUPPRESSION_REASONS] = {
	[SUPPRESSION_BOUNCE] = "bounce",
	[SUPPRESSION_COMPLAINT] = "complaint",
	[SUPPRESSION_UNSUBSCRIBE] = "unsubscribe",
	[SUPPRESSION_MANUAL] = "manual",
};
const struct row_words store_suppression_reasons = {reasons, SUPPRESSION_REASONS, false};

/* Events store these texts. After a change here, those of older events are not recognised. */
static const char *const texts[SUPPRESSION_REASONS] = {
	[SUPPRESSION_BOUNCE] = "Not delivering to previously bounced address",
	[SUPPRESSION_COMPLAINT] = "Not delivering to a recipient who has complained",
	[SUPPRESSION_UNSUBSCRIBE] = "Not delivering to unsubscribed recipient",
	[SUPPRESSION_MANUAL] = "Not delivering to an address on the suppression list",
};

static const struct row_field suppression_fields[] = {
	ROW_FIELD(suppression, id, ROW_ID),
	ROW_FIELD(suppression, company_id, ROW_ID),
	ROW_FIELD(suppression, company_name, ROW_TEXT),
	ROW_FIELD(suppression, domain, ROW_TEXT),
	ROW_FIELD(suppression, address, ROW_TEXT),
	ROW_WORD(suppression, reason, ROW_ENUM, "reason", &store_suppression_reasons),
	ROW_FIELD(suppression, origin, ROW_TEXT),
	ROW_FIELD(suppression, email_id, ROW_ID),
	ROW_FIELD(suppression, code, ROW_TEXT),
	ROW_FIELD(suppression, text, ROW_TEXT),
	ROW_FIELD(suppression, tags, ROW_JSON),
	ROW_FIELD(suppression, created_us, ROW_TIME),
};
const struct row_type store_suppression_type = ROW_TYPE(suppression, suppression_fields);

static const struct row_field allowed_fields[] = {
	ROW_FIELD(suppression_allowed, value, ROW_TEXT),
	ROW_FIELD(suppression_allowed, reason, ROW_TEXT),
	ROW_FIELD(suppression_allowed, created_us, ROW_TIME),
};
const struct row_type store_suppression_allowed_type = ROW_TYPE(
	suppression_allowed, allowed_fields);

#define SELECT                                                                                     \
	"SELECT s.id, s.company_id, (SELECT c.name"                                                \
	"   FROM company c"                                                                        \
	"   WHERE c.id = s.company_id) AS company_name,"                                           \
	" s.domain, s.address, s.reason, s.origin, coalesce(s.email_id, '') AS email_id,"          \
	" s.code, s.text, s.tags, s.created_us"                                                    \
	" FROM suppression s"
/* The order in which one of several entries of an address is chosen. */
#define WORST_FIRST                                                                                \
	" ORDER BY CASE s.reason WHEN 'complaint' THEN 1 WHEN 'bounce' THEN 2"                     \
	"   WHEN 'unsubscribe' THEN 3 ELSE 4 END"                                                  \
	" LIMIT 1"

const char *store_suppression_reason_name(enum suppression_reason reason)
{
	assert(reason < SUPPRESSION_REASONS);
	return reasons[reason];
}

const char *store_suppression_reason_text(enum suppression_reason reason)
{
	return texts[reason];
}

enum suppression_reason store_suppression_reason_of(const char *text)
{
	for (size_t i = 0; i < SUPPRESSION_REASONS; i++)
		if (text && str_eq(texts[i], text))
			return (enum suppression_reason)i;
	return SUPPRESSION_MANUAL;
}

void store_suppression_clear(struct suppression *suppression)
{
	row_clear(&store_suppression_type, suppression);
}

void store_suppression_list_free(struct suppression_list *list)
{
	row_list_free(&store_suppression_type, list->items, list->n);
	*list = (struct suppression_list){0};
}

void store_suppression_allowed_list_free(struct suppression_allowed_list *list)
{
	row_list_free(&store_suppression_allowed_type, list->items, list->n);
	*list = (struct suppression_allowed_list){0};
}

int store_suppression_put(struct db *db, const struct suppression *suppression, bool renew,
	struct suppression *suppression_r, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO suppression (id, company_id, domain, address, reason, email_id, code,"
		"   text, tags, created_us)"
		" VALUES ($id, $company_id, coalesce($domain, ''), $address, $reason,"
		"   nullif($email_id, ''), $code, $text, $tags, $created_us)"
		" ON CONFLICT (address, company_id, domain, reason)"
		" DO NOTHING";
	static const char sql_renew[] =
		"UPDATE suppression"
		" SET code = coalesce($code, code), text = coalesce($text, text), tags = $tags,"
		" email_id = coalesce(nullif($email_id, ''), email_id), created_us = $created_us"
		" WHERE company_id = $company_id AND address = $address"
		" AND domain = coalesce($domain, '') AND reason = $reason";
	static const char sql_there[] = SELECT
		" WHERE s.company_id = $company AND s.address = $address"
		" AND s.domain = $domain AND s.reason = $reason";
	struct suppression item = *suppression;
	_cleanup_free_ char *folded = addr_folded(suppression->address);
	const char *domain = suppression->domain ? suppression->domain : "";
	int added, found = 1;

	id_new(item.id);
	item.address = folded;
	added = row_write(db, sql_insert, NULL, &store_suppression_type, &item, err);
	if (added == 0 && renew &&
		row_write(db, sql_renew, NULL, &store_suppression_type, &item, err) < 0)
		return -1;
	if (added >= 0 && suppression_r)
		found = row_get(db, sql_there,
			DB_PARAMS(DB_TEXT("$company", item.company_id), DB_TEXT("$address", folded),
				DB_TEXT("$domain", domain),
				DB_TEXT("$reason", reasons[item.reason])),
			&store_suppression_type, suppression_r, err);
	return added < 0 || found < 0 ? -1 : added;
}

int store_suppression_get(struct db *db, const struct suppression_scope *scope, const char *id,
	struct suppression *suppression_r, struct err *err)
{
	static const char sql_get[] = SELECT
		" WHERE s.id = $id"
		" AND ($company IS NULL OR s.company_id = $company)"
		" AND ($domain IS NULL OR s.domain IN ('', $domain))";

	return row_get(db, sql_get,
		DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$company", scope->company_id),
			DB_TEXT("$domain", scope->domain)),
		&store_suppression_type, suppression_r, err);
}

int store_suppression_find(struct db *db, const struct suppression_scope *scope,
	const char *address, enum suppression_reason reason, struct suppression *suppression_r,
	struct err *err)
{
	static const char sql_find[] = SELECT
		" WHERE s.company_id = $company AND s.address = $address"
		" AND ($domain IS NULL OR s.domain IN ('', $domain))"
		" AND ($reason IS NULL OR s.reason = $reason)" WORST_FIRST;
	_cleanup_free_ char *folded = addr_folded(address);

	return row_get(db, sql_find,
		DB_PARAMS(DB_TEXT("$company", scope->company_id), DB_TEXT("$address", folded),
			DB_TEXT("$domain", scope->domain),
			DB_TEXT("$reason", reason < SUPPRESSION_REASONS ? reasons[reason] : NULL)),
		&store_suppression_type, suppression_r, err);
}

int store_suppression_entries(struct db *db, const struct suppression_scope *scope,
	const char *address, struct suppression_list *list_r, struct err *err)
{
	static const char sql_entries[] = SELECT
		" WHERE s.address = $address"
		" AND ($company IS NULL OR s.company_id = $company)"
		" AND ($domain IS NULL OR s.domain IN ('', $domain))"
		" ORDER BY s.created_us DESC, s.id DESC"
		" LIMIT $max";
	_cleanup_free_ char *folded = addr_folded(address);

	*list_r = (struct suppression_list){0};
	return row_list(db,
		ROW_LIST(.sql = sql_entries,
			.params = DB_PARAMS(DB_TEXT("$address", folded),
				DB_TEXT("$company", scope->company_id),
				DB_TEXT("$domain", scope->domain),
				DB_INT("$max", SUPPRESSION_ENTRIES_MAX)),
			.type = &store_suppression_type, ROW_INTO(list_r)),
		err);
}

int store_suppression_full(struct db *db, const char *company_id, int64_t max, int64_t *n_r,
	char **name_r, struct err *err)
{
	static const char sql_one[] =
		"SELECT c.name AS company_name"
		" FROM company_count n"
		" JOIN company c ON c.id = n.company_id"
		" WHERE n.company_id = $company AND n.kind = 'suppressions' AND n.count >= $max";
	static const char sql_all[] =
		"SELECT c.name AS company_name"
		" FROM company_count n"
		" CROSS JOIN company c ON c.id = n.company_id"
		" WHERE n.kind = 'suppressions' AND n.count >= $max"
		" LIMIT 1000";
	struct suppression_list list = {0};

	if (row_list(db,
		    ROW_LIST(.sql = company_id ? sql_one : sql_all,
			    .params = DB_PARAMS(
				    DB_INT("$max", max), DB_GIVEN_TEXT("$company", company_id)),
			    .type = &store_suppression_type, ROW_INTO(&list)),
		    err) < 0)
		return -1;
	*n_r = (int64_t)list.n;
	*name_r = list.n > 0 ? mem_strdup(list.items[0].company_name) : NULL;
	store_suppression_list_free(&list);
	return 0;
}

int store_suppression_count(struct db *db, const char *address, struct err *err)
{
	static const char sql_count[] = "SELECT count(*) FROM suppression WHERE address = $address";
	_cleanup_free_ char *folded = addr_folded(address);
	int64_t n = 0;

	return row_number(db, sql_count, DB_PARAMS(DB_TEXT("$address", folded)), &n, err) < 0
		       ? -1
		       : (int)n;
}

/* Lists by time. */

#define PLACE(condition) "SELECT s.created_us FROM suppression s WHERE s.id = $id" condition
/* clang-format off */
#define SIDE(condition, side, order)                                           \
	SELECT                                                                 \
	" WHERE " condition "(s.created_us, s.id) " side " ($created, $id)"    \
	" ORDER BY s.created_us " order ", s.id " order                        \
	" LIMIT $limit"
/* clang-format on */
#define OLDER(condition)     SIDE(condition, "<", "DESC")
#define NEWER(condition)     SIDE(condition, ">", "ASC")
#define PART(side)           "SELECT * FROM (" side ") part"
#define MERGED(parts, order) parts " ORDER BY created_us " order ", id " order " LIMIT $limit"

#define OF_COMPANY "s.company_id = $company AND "
#define OF_ORIGIN  OF_COMPANY "s.origin = $origin AND "
/* Entries of the domain, and those for all domains. */
#define OF_DOMAIN(origin) OF_COMPANY "s.domain = $domain AND s.origin = " origin " AND "
#define OF_ALL(origin)    OF_COMPANY "s.domain = '' AND s.origin = " origin " AND "
#define TWO(side, origin) PART(side(OF_DOMAIN(origin))) " UNION ALL " PART(side(OF_ALL(origin)))
#define SIX(side)                                                                                  \
	TWO(side, "'bounce'")                                                                      \
	" UNION ALL " TWO(side, "'complaint'") " UNION ALL " TWO(side, "'manual'")

#define HELD_BY_COMPANY " AND s.company_id = $company"
#define HELD_BY_ORIGIN  HELD_BY_COMPANY " AND s.origin = $origin"
#define HELD_BY_DOMAIN  HELD_BY_COMPANY " AND s.domain IN ('', $domain)"

int store_suppression_page(struct db *db, const struct suppression_scope *scope, const char *origin,
	const struct page *page, struct suppression_list *list_r, struct page_end *end_r,
	struct err *err)
{
	static const char sql_place[] = PLACE("");
	static const char sql_older[] = OLDER("");
	static const char sql_newer[] = NEWER("");
	static const char sql_place_company[] = PLACE(HELD_BY_COMPANY);
	static const char sql_older_company[] = OLDER(OF_COMPANY);
	static const char sql_newer_company[] = NEWER(OF_COMPANY);
	static const char sql_place_origin[] = PLACE(HELD_BY_ORIGIN);
	static const char sql_older_origin[] = OLDER(OF_ORIGIN);
	static const char sql_newer_origin[] = NEWER(OF_ORIGIN);
	static const char sql_place_domain[] = PLACE(HELD_BY_DOMAIN);
	static const char sql_older_domain[] = MERGED(SIX(OLDER), "DESC");
	static const char sql_newer_domain[] = MERGED(SIX(NEWER), "ASC");
	static const char sql_place_both[] = PLACE(HELD_BY_DOMAIN " AND s.origin = $origin");
	static const char sql_older_both[] = MERGED(TWO(OLDER, "$origin"), "DESC");
	static const char sql_newer_both[] = MERGED(TWO(NEWER, "$origin"), "ASC");
	/* Indexed by: with a domain, with an origin. */
	static const struct row_pager of_company[2][2] = {
		{{sql_place_company, sql_older_company, sql_newer_company, ROW_BY_CREATED},
			{sql_place_origin, sql_older_origin, sql_newer_origin, ROW_BY_CREATED}},
		{{sql_place_domain, sql_older_domain, sql_newer_domain, ROW_BY_CREATED},
			{sql_place_both, sql_older_both, sql_newer_both, ROW_BY_CREATED}},
	};
	static const struct row_pager of_all = {sql_place, sql_older, sql_newer, ROW_BY_CREATED};
	const char *company_id = scope->company_id;

	assert(company_id || (scope->domain == NULL && origin == NULL));
	return row_page(db,
		ROW_LIST(.pager = company_id ? &of_company[scope->domain != NULL][origin != NULL]
					     : &of_all,
			.params = DB_PARAMS(DB_GIVEN_TEXT("$company", company_id),
				DB_GIVEN_TEXT("$domain", scope->domain),
				DB_GIVEN_TEXT("$origin", origin)),
			.type = &store_suppression_type, .page = page, ROW_INTO(list_r),
			.end_r = end_r),
		err);
}

/* Lists by address. */

/* A text that sorts after all addresses: the last code point of Unicode. */
#define LAST "\xf4\x8f\xbf\xbf"

/* The range of a walk: [from, to). The address with a control character appended is the first text
 * after it, since no address has one. */
static void walk_range(const struct suppression_walk *walk, char **from_r, char **to_r)
{
	const char *prefix = walk->prefix ? walk->prefix : "";
	char *from = mem_strdup(prefix), *to = mem_printf("%s" LAST, prefix), *at;

	if (walk->address && walk->back && strcmp(walk->address, to) < 0) {
		free(to);
		to = mem_strdup(walk->address);
	} else if (walk->address && !walk->back) {
		at = mem_printf("%s\x01", walk->address);
		if (strcmp(at, from) > 0) {
			free(from);
			from = TAKE_PTR(at);
		}
		free(at);
	}
	*from_r = from;
	*to_r = to;
}

int store_suppression_walk(struct db *db, const struct suppression_walk *walk,
	struct suppression_list *list_r, struct err *err)
{
/* clang-format off */
#define RANGE(domain, more, order)                                             \
	"SELECT *"                                                             \
	" FROM (" SELECT                                                       \
	" WHERE s.company_id = $company AND s.domain = " domain                \
	" AND s.reason = $reason AND s.address >= $from AND s.address < $to"   \
	more                                                                   \
	" ORDER BY s.address " order                                           \
	" LIMIT $limit) part"
#define NOT_OF_DOMAIN                                                          \
	" AND NOT EXISTS (SELECT 1"                                            \
	"   FROM suppression o"                                                \
	"   WHERE o.company_id = $company AND o.address = s.address"           \
	"   AND o.domain = $domain AND o.reason = $reason)"
#define WALK(order)                                                            \
	"SELECT *"                                                             \
	" FROM (" RANGE("$domain", "", order)                                  \
	"   UNION ALL " RANGE("''", NOT_OF_DOMAIN, order)                      \
	"   ORDER BY address " order                                           \
	"   LIMIT $limit) walk"                                                \
	" ORDER BY address"
	/* clang-format on */
	static const char sql_on[] = WALK("ASC");
	static const char sql_back[] = WALK("DESC");
#undef WALK
#undef NOT_OF_DOMAIN
#undef RANGE
	_cleanup_free_ char *from = NULL, *to = NULL;

	walk_range(walk, &from, &to);
	return row_list(db,
		ROW_LIST(.sql = walk->back ? sql_back : sql_on,
			.params = DB_PARAMS(DB_TEXT("$company", walk->company_id),
				DB_TEXT("$domain", walk->domain),
				DB_TEXT("$reason", reasons[walk->reason]), DB_TEXT("$from", from),
				DB_TEXT("$to", to), DB_INT("$limit", walk->limit)),
			.type = &store_suppression_type, ROW_INTO(list_r)),
		err);
}

int store_suppression_remove(struct db *db, const struct suppression_scope *scope,
	const char *address, enum suppression_reason reason, bool but_manual, struct err *err)
{
	static const char sql_remove[] =
		"DELETE FROM suppression"
		" WHERE company_id = $company AND address = $address"
		" AND ($domain IS NULL OR domain IN ('', $domain))"
		" AND NOT ($but_manual <> 0 AND domain = '' AND reason = 'manual')"
		" AND ($reason IS NULL OR reason = $reason)";
	_cleanup_free_ char *folded = addr_folded(address);

	return db_change(db, sql_remove,
		DB_PARAMS(DB_TEXT("$company", scope->company_id), DB_TEXT("$address", folded),
			DB_TEXT("$domain", scope->domain), DB_INT("$but_manual", but_manual),
			DB_TEXT("$reason", reason < SUPPRESSION_REASONS ? reasons[reason] : NULL)),
		err);
}

int store_suppression_remove_id(struct db *db, const char *id, struct err *err)
{
	static const char sql_remove[] = "DELETE FROM suppression WHERE id = $id";

	return db_change(db, sql_remove, DB_PARAMS(DB_TEXT("$id", id)), err);
}

int store_suppression_clear_some(struct db *db, const char *company_id, const char *domain,
	enum suppression_reason reason, int max, struct err *err)
{
	static const char sql_company[] =
		"DELETE FROM suppression"
		" WHERE seq IN (SELECT seq FROM suppression WHERE company_id = $company LIMIT $max)";
	static const char sql_allowed[] =
		"DELETE FROM suppression_allowed"
		" WHERE (company_id, domain, value) IN (SELECT company_id, domain, value"
		"   FROM suppression_allowed"
		"   WHERE company_id = $company"
		"   LIMIT $max)";
	static const char sql_domain[] =
		"DELETE FROM suppression"
		" WHERE seq IN (SELECT seq"
		"   FROM suppression"
		"   WHERE company_id = $company AND domain IN ('', $domain) AND reason = $reason"
		"   LIMIT $max)";

	if (domain == NULL) {
		const struct db_param *params = DB_PARAMS(
			DB_TEXT("$company", company_id), DB_INT("$max", max));
		int removed = db_change(db, sql_company, params, err);

		return removed != 0 ? removed : db_change(db, sql_allowed, params, err);
	}
	return db_change(db, sql_domain,
		DB_PARAMS(DB_TEXT("$company", company_id), DB_TEXT("$domain", domain),
			DB_TEXT("$reason", reasons[reason]), DB_INT("$max", max)),
		err);
}

int store_suppression_allow(struct db *db, const char *company_id, const char *domain,
	const struct suppression_allowed *allowed, struct err *err)
{
	static const char sql_allow[] =
		"INSERT INTO suppression_allowed (company_id, domain, value, reason, created_us)"
		" VALUES ($company, $domain, $value, coalesce($reason, ''), $created_us)"
		" ON CONFLICT (company_id, domain, value) DO UPDATE SET reason = excluded.reason,"
		"   created_us = excluded.created_us";

	return row_write(db, sql_allow,
		       DB_PARAMS(DB_TEXT("$company", company_id), DB_TEXT("$domain", domain)),
		       &store_suppression_allowed_type, allowed, err) < 0
		       ? -1
		       : 0;
}

int store_suppression_allowed_walk(struct db *db, const struct suppression_walk *walk,
	struct suppression_allowed_list *list_r, struct err *err)
{
#define WALK(order)                                                                                \
	"SELECT value, reason, created_us"                                                         \
	" FROM suppression_allowed"                                                                \
	" WHERE company_id = $company AND domain = $domain"                                        \
	" AND value >= $from AND value < $to"                                                      \
	" ORDER BY value " order " LIMIT $limit"
	static const char sql_on[] = WALK("ASC");
	static const char sql_back[] = "SELECT * FROM (" WALK("DESC") ") w ORDER BY value";
#undef WALK
	_cleanup_free_ char *from = NULL, *to = NULL;

	walk_range(walk, &from, &to);
	return row_list(db,
		ROW_LIST(.sql = walk->back ? sql_back : sql_on,
			.params = DB_PARAMS(DB_TEXT("$company", walk->company_id),
				DB_TEXT("$domain", walk->domain), DB_TEXT("$from", from),
				DB_TEXT("$to", to), DB_INT("$limit", walk->limit)),
			.type = &store_suppression_allowed_type, ROW_INTO(list_r)),
		err);
}

int store_suppression_allowed_get(struct db *db, const char *company_id, const char *domain,
	const char *value, struct suppression_allowed *allowed_r, struct err *err)
{
	static const char sql_get[] =
		"SELECT value, reason, created_us"
		" FROM suppression_allowed"
		" WHERE company_id = $company AND domain = $domain AND value = $value";

	return row_get(db, sql_get,
		DB_PARAMS(DB_TEXT("$company", company_id), DB_TEXT("$domain", domain),
			DB_TEXT("$value", value)),
		&store_suppression_allowed_type, allowed_r, err);
}

int store_suppression_disallow(struct db *db, const char *company_id, const char *domain,
	const char *value, int max, struct err *err)
{
	static const char sql_one[] =
		"DELETE FROM suppression_allowed"
		" WHERE company_id = $company AND domain = $domain AND value = $value";
	static const char sql_some[] =
		"DELETE FROM suppression_allowed"
		" WHERE company_id = $company AND domain = $domain AND value IN (SELECT value"
		"   FROM suppression_allowed"
		"   WHERE company_id = $company AND domain = $domain"
		"   LIMIT $max)";

	if (value)
		return db_change(db, sql_one,
			DB_PARAMS(DB_TEXT("$company", company_id), DB_TEXT("$domain", domain),
				DB_TEXT("$value", value)),
			err);
	return db_change(db, sql_some,
		DB_PARAMS(DB_TEXT("$company", company_id), DB_TEXT("$domain", domain),
			DB_INT("$max", max)),
		err);
}

/* Entries from bounces, complaints and unsubscribes. */

/* True if the list contains the code, or a prefix of it: 5.4 stands for all of 5.4.x. */
static bool is_listed(const char *dsn, const char *codes)
{
	for (const char *at = codes; *(at += strspn(at, ", \t"));) {
		size_t len = strcspn(at, ", \t");

		if (strncmp(dsn, at, len) == 0 && (dsn[len] == '\0' || dsn[len] == '.'))
			return true;
		at += len;
	}
	return false;
}

bool suppression_is_hard(const char *dsn, const char *text, const char *more)
{
	static const char sender[] = "5.1.7 5.1.8", never[] = "5.7 5.2.2", hard[] = "5.1 5.2.1";

	if (dsn == NULL || is_listed(dsn, never) || is_listed(dsn, sender) ||
		(text && strstr(text, "(in reply to MAIL FROM command)")))
		return false;
	return is_listed(dsn, hard) || (more && is_listed(dsn, more));
}

int store_suppression_note(struct db *db, const struct suppression_note *note, struct err *err)
{
	static const char sql_count[] =
		"SELECT count FROM company_count WHERE company_id = $company AND"
		" kind = 'suppressions'";
	static const char sql_allowed[] =
		"SELECT 1"
		" FROM suppression_allowed"
		" WHERE company_id = $company AND domain = $domain AND value IN ($address, $host)";
	static const char sql_note[] =
		"INSERT INTO suppression (id, company_id, domain, address, reason, email_id, code,"
		"   text, created_us)"
		" SELECT $id, c.id, $domain, $address, $reason, (SELECT e.id"
		"   FROM email e"
		"   WHERE e.seq = $email), $code, $text, $now"
		" FROM company c"
		" WHERE c.id = $company"
		" ON CONFLICT (address, company_id, domain, reason)"
		" DO NOTHING";
	static const char sql_there[] =
		"SELECT 1"
		" FROM suppression"
		" WHERE address = $address AND company_id = $company AND domain = ''"
		" AND reason = $reason";
	_cleanup_free_ char *folded = addr_folded(note->address);
	const char *host = strrchr(folded, '@');
	const char *said = note->text ? strstr(note->text, " said: ") : NULL;
	bool unsubscribe = note->reason == SUPPRESSION_UNSUBSCRIBE;
	int64_t count = 0, one;
	char id[ID_SIZE], code[4] = "";
	int found;

	if (row_number(db, sql_count, DB_PARAMS(DB_TEXT("$company", note->company_id)), &count,
		    err) < 0)
		return -1;
	found = row_number(db, sql_allowed,
		DB_PARAMS(DB_TEXT("$company", note->company_id), DB_TEXT("$domain", note->domain),
			DB_TEXT("$address", folded), DB_TEXT("$host", host ? host + 1 : "")),
		&one, err);
	if (found < 0 || (found > 0 && note->reason == SUPPRESSION_BOUNCE))
		return found < 0 ? -1 : 0;
	if (count >= note->max && !unsubscribe) {
		/* A full list may have the entry already. */
		found = row_number(db, sql_there,
			DB_PARAMS(DB_TEXT("$address", folded),
				DB_TEXT("$company", note->company_id),
				DB_TEXT("$reason", reasons[note->reason])),
			&one, err);
		return found < 0 ? -1 : found > 0 ? 0 : SUPPRESSION_FULL;
	}
	if (said && strspn(said + 7, "0123456789") == 3)
		memcpy(code, said + 7, 3);
	id_new(id);
	return db_change(db, sql_note,
		DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$address", folded),
			DB_TEXT("$domain", unsubscribe ? note->domain : ""),
			DB_TEXT("$reason", reasons[note->reason]), DB_INT("$email", note->email),
			DB_TEXT("$code", *code ? code : NULL), DB_TEXT("$text", note->text),
			DB_INT("$now", note->now_us), DB_TEXT("$company", note->company_id)),
		err);
}

int store_suppression_applies(struct db *db, int64_t email, const char *company_id,
	const char *domain, const char *address, enum suppression_reason *reason_r, struct err *err)
{
	static const char sql_reason[] =
		"SELECT s.reason"
		" FROM suppression s"
		" WHERE s.company_id = $company AND s.address = $address"
		" AND s.domain IN ('', $domain)"
		" AND (s.tags IS NULL OR EXISTS (SELECT 1"
		"     FROM json_each(s.tags) t"
		"     WHERE t.value = '*' OR EXISTS (SELECT 1"
		"         FROM email_tag e"
		"         WHERE e.email = $email AND e.tag = lower(t.value))))" WORST_FIRST;
	_cleanup_free_ char *folded = addr_folded(address);
	struct suppression found = {0};
	int result = row_get(db, sql_reason,
		DB_PARAMS(DB_TEXT("$company", company_id), DB_TEXT("$address", folded),
			DB_TEXT("$domain", domain), DB_INT("$email", email)),
		&store_suppression_type, &found, err);

	if (result == 1)
		*reason_r = found.reason;
	store_suppression_clear(&found);
	return result;
}
