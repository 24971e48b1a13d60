/*
 * store_webhook: the rows of the table webhook, and the key of a company in webhook_key.
 */
#include "core/store/webhook/store_webhook.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/store/store_audit.h"

static const char *const dialects[] = {[WEBHOOK_JSON] = "json", [WEBHOOK_FORM] = "form"};
const struct row_words store_webhook_dialects = {dialects, WEBHOOK_DIALECTS, false};

static const struct row_field webhook_fields[] = {
	ROW_FIELD(webhook, id, ROW_ID),
	ROW_FIELD(webhook, company_id, ROW_ID),
	ROW_FIELD(webhook, domain, ROW_TEXT),
	ROW_WORD(webhook, dialect, ROW_ENUM, "dialect", &store_webhook_dialects),
	ROW_FIELD(webhook, endpoint, ROW_TEXT),
	ROW_FIELD(webhook, events, ROW_JSON),
	ROW_FIELD(webhook, enabled, ROW_BOOL),
	ROW_FIELD(webhook, created_us, ROW_TIME),
	ROW_FIELD(webhook, rotated_us, ROW_TIME),
	ROW_FIELD(webhook, succeeded_us, ROW_TIME),
	ROW_FIELD(webhook, failed_us, ROW_TIME),
	ROW_FIELD(webhook, failure, ROW_TEXT),
	ROW_FIELD(webhook, failing_us, ROW_TIME),
	ROW_FIELD(webhook, disabled_us, ROW_TIME),
	ROW_FIELD(webhook, secret, ROW_HASH),
	ROW_FIELD(webhook, old_secret, ROW_HASH),
	ROW_FIELD(webhook, waiting, ROW_INT64),
};
const struct row_type store_webhook_type = ROW_TYPE(webhook, webhook_fields);

#define WEBHOOK_SELECT                                                                             \
	"SELECT w.id, w.company_id, w.domain, w.dialect, w.endpoint, w.events, w.enabled,"         \
	" w.created_us, w.rotated_us, w.succeeded_us, w.failed_us, w.failure, w.failing_us,"       \
	" w.disabled_us, w.secret, w.old_secret"                                                   \
	" FROM webhook w"

static int change_webhook(struct db *db, const char *action, const char *id, const char *sql,
	const struct db_param *params, const struct webhook *item, struct err *err)
{
	static const char sql_get[] = WEBHOOK_SELECT " WHERE w.id = $id";

	return audit_change(db,
		&(struct audit_change){.action = action,
			.type = &store_webhook_type,
			.name = "endpoint",
			.sql = sql,
			.params = params,
			.item = item,
			.sql_get = sql_get,
			.key = DB_PARAMS(DB_TEXT("$id", id))},
		err);
}

/* Reads the key that signs attempts in the form dialect, and creates a missing one. Returns 0 or
 * -1. */
static int form_key(struct db *db, const char *company_id,
	uint8_t secret_r[static WEBHOOK_SECRET_LEN], struct err *err)
{
	static const char sql_key[] = "SELECT secret FROM webhook_key WHERE company_id = $company";
	static const char sql_add[] =
		"INSERT INTO webhook_key (company_id, secret) VALUES ($company, $secret)";
	struct webhook key; /* only its secret */
	int found = row_get(db, sql_key, DB_PARAMS(DB_TEXT("$company", company_id)),
		&store_webhook_type, &key, err);

	if (found > 0)
		memcpy(secret_r, key.secret, WEBHOOK_SECRET_LEN);
	if (found != 0)
		return found < 0 ? -1 : 0;
	secret_random(secret_r, WEBHOOK_SECRET_LEN);
	return db_execute(db, sql_add,
		DB_PARAMS(DB_TEXT("$company", company_id),
			DB_BLOB("$secret", secret_r, WEBHOOK_SECRET_LEN)),
		err);
}

int store_webhook_add(struct db *db, struct webhook *webhook, int64_t now_us, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO webhook (id, company_id, domain, dialect, endpoint, events, secret,"
		"   old_secret, enabled, created_us, from_seq)"
		" SELECT $id, c.id, $domain, $dialect, $endpoint, $events, $secret, $old_secret,"
		"   $enabled, $created_us, (SELECT max(l.seq, coalesce((SELECT max(seq)"
		"       FROM event), 0))"
		"     FROM event_last l)"
		" FROM company c"
		" WHERE c.id = $company_id";
	struct err why = ERR_INIT;
	int added;

	id_new(webhook->id);
	webhook->created_us = now_us;
	if (webhook->dialect == WEBHOOK_FORM) {
		if (form_key(db, webhook->company_id, webhook->secret, &why) < 0)
			return err_copy(err, &why);
	} else {
		secret_random(webhook->secret, WEBHOOK_SECRET_LEN);
	}
	memcpy(webhook->old_secret, webhook->secret, WEBHOOK_SECRET_LEN);
	added = audit_change(db,
		&(struct audit_change){.action = "webhook.add",
			.type = &store_webhook_type,
			.name = "endpoint",
			.sql = sql_insert,
			.item = webhook},
		&why);
	if (added < 0)
		return err_copy(err, &why);
	return added > 0
		       ? 0
		       : err_set(err, ERR_NOT_FOUND, "there is no company %s", webhook->company_id);
}

int store_webhook_change(struct db *db, const struct webhook *webhook, struct err *err)
{
	static const char sql_change[] =
		"UPDATE webhook"
		" SET endpoint = $endpoint, events = $events, domain = $domain,"
		"   enabled = $enabled,"
		"   failing_us = iif(enabled = $enabled AND endpoint = $endpoint, failing_us, 0),"
		"   disabled_us = iif($enabled <> 0, 0, disabled_us),"
		"   from_seq = iif($enabled <> 0 AND enabled = 0,"
		"     (SELECT max(l.seq, coalesce((SELECT max(seq) FROM event), 0))"
		"       FROM event_last l), from_seq)"
		" WHERE id = $id";

	return change_webhook(db, "webhook.change", webhook->id, sql_change, NULL, webhook, err);
}

/* All webhooks of the form dialect have the key of their company. */
int store_webhook_rotate(struct db *db, const char *id, int64_t now_us, struct err *err)
{
	static const char sql_rotate[] =
		"UPDATE webhook"
		" SET old_secret = secret, secret = $secret, rotated_us = $now"
		" WHERE id = $id";
	static const char sql_others[] =
		"UPDATE webhook"
		" SET old_secret = secret, secret = $secret, rotated_us = $now"
		" WHERE company_id = (SELECT company_id"
		"   FROM webhook"
		"   WHERE id = $id AND dialect = 'form')"
		" AND dialect = 'form' AND id <> $id";
	static const char sql_key[] =
		"UPDATE webhook_key"
		" SET secret = $secret"
		" WHERE company_id = (SELECT company_id"
		"   FROM webhook"
		"   WHERE id = $id AND dialect = 'form')";
	uint8_t secret[WEBHOOK_SECRET_LEN];
	int changed;

	secret_random(secret, sizeof(secret));
	changed = change_webhook(db, "webhook.rotate", id, sql_rotate,
		DB_PARAMS(DB_BLOB("$secret", secret, sizeof(secret)), DB_INT("$now", now_us),
			DB_TEXT("$id", id)),
		NULL, err);
	if (changed > 0 && (db_change(db, sql_others,
				    DB_PARAMS(DB_BLOB("$secret", secret, sizeof(secret)),
					    DB_INT("$now", now_us), DB_TEXT("$id", id)),
				    err) < 0 ||
				   db_change(db, sql_key,
					   DB_PARAMS(DB_BLOB("$secret", secret, sizeof(secret)),
						   DB_TEXT("$id", id)),
					   err) < 0))
		changed = -1;
	secret_wipe(secret, sizeof(secret));
	return changed;
}

int store_webhook_disable(struct db *db, const char *id, int64_t now_us, struct err *err)
{
	static const char sql_disable[] =
		"UPDATE webhook"
		" SET enabled = 0, disabled_us = $now"
		" WHERE id = $id AND enabled = 1";

	return change_webhook(db, "webhook.disable", id, sql_disable,
		DB_PARAMS(DB_INT("$now", now_us), DB_TEXT("$id", id)), NULL, err);
}

int store_webhook_remove(struct db *db, const char *id, struct err *err)
{
	static const char sql_remove[] = "DELETE FROM webhook WHERE id = $id";

	return change_webhook(
		db, "webhook.remove", id, sql_remove, DB_PARAMS(DB_TEXT("$id", id)), NULL, err);
}

int store_webhook_note(
	struct db *db, const char *id, const char *failure, int64_t now_us, struct err *err)
{
	static const char sql_failed[] =
		"UPDATE webhook"
		" SET failed_us = $now, failure = $failure,"
		"   failing_us = iif(failing_us = 0, $now, failing_us)"
		" WHERE id = $id";
	static const char sql_works[] =
		"UPDATE webhook SET succeeded_us = $now, failing_us = 0 WHERE id = $id";

	return db_execute(db, failure ? sql_failed : sql_works,
		failure ? DB_PARAMS(DB_INT("$now", now_us), DB_TEXT("$id", id),
				  DB_TEXT("$failure", failure))
			: DB_PARAMS(DB_INT("$now", now_us), DB_TEXT("$id", id)),
		err);
}

int store_webhook_count_waiting(struct db *db, const char *id, int64_t *waiting_r, struct err *err)
{
	static const char sql_count[] =
		"SELECT count(*)"
		" FROM (SELECT 1"
		"   FROM webhook_event"
		"   WHERE webhook_id = $id AND due_us > 0"
		"   LIMIT $max) few";

	return row_value(db, sql_count,
		DB_PARAMS(DB_TEXT("$id", id), DB_INT("$max", WEBHOOK_WAITING_MAX)), waiting_r, err);
}

#define IN_TROUBLE "(failing_us > 0 OR disabled_us > 0)"

int store_webhook_trouble(struct db *db, const char *company_id, int64_t before_us,
	struct webhook_trouble *trouble_r, struct err *err)
{
/* clang-format off */
#define TROUBLE(condition)                                                      \
	WEBHOOK_SELECT                                                          \
	" WHERE " condition IN_TROUBLE                                          \
	" AND (w.disabled_us > 0 OR (w.enabled = 1 AND w.failing_us < $before))" \
	" ORDER BY w.created_us DESC, w.id DESC"                                \
	" LIMIT $max"
	/* clang-format on */
	static const char sql_all[] = TROUBLE("");
	static const char sql_company[] = TROUBLE("w.company_id = $company AND ");
#undef TROUBLE
	struct webhook_trouble trouble = {0};
	struct webhook_list list = {0};

	if (row_list(db,
		    ROW_LIST(.sql = company_id ? sql_company : sql_all,
			    .params = DB_PARAMS(DB_INT("$before", before_us),
				    DB_INT("$max", WEBHOOK_TROUBLE_MAX),
				    DB_GIVEN_TEXT("$company", company_id)),
			    .type = &store_webhook_type, ROW_INTO(&list)),
		    err) < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++)
		++*(list.items[i].disabled_us ? &trouble.disabled : &trouble.failing);
	if (list.n > 0)
		trouble.endpoint = mem_strdup(list.items[0].endpoint);
	store_webhook_list_free(&list);
	*trouble_r = trouble;
	return 0;
}

#define FITS                                                                                       \
	" AND ($domain IS NULL OR w.domain = $domain)"                                             \
	" AND ($dialect IS NULL OR w.dialect = $dialect)"

int store_webhook_find(struct db *db, const struct webhook_scope *scope, const char *id,
	struct webhook *webhook_r, struct err *err)
{
	static const char sql_find[] = WEBHOOK_SELECT
		" WHERE w.id = $id AND ($company IS NULL OR w.company_id = $company)" FITS;

	return row_get(db, sql_find,
		DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$company", scope->company_id),
			DB_TEXT("$domain", scope->domain), DB_TEXT("$dialect", scope->dialect)),
		&store_webhook_type, webhook_r, err);
}

int store_webhook_list(struct db *db, const struct webhook_scope *scope, const struct page *page,
	struct webhook_list *list_r, struct page_end *end_r, struct err *err)
{
/* clang-format off */
#define PAGE(condition, side, order)                                            \
	WEBHOOK_SELECT                                                          \
	" WHERE " condition "(w.created_us, w.id) " side " ($created, $id)" FITS \
	" ORDER BY w.created_us " order ", w.id " order                         \
	" LIMIT $limit"
/* clang-format on */
#define PAGER(condition)                                                                           \
	{                                                                                          \
		"SELECT w.created_us FROM webhook w WHERE " condition "w.id = $id" FITS,           \
			PAGE(condition, "<", "DESC"), PAGE(condition, ">", "ASC"), ROW_BY_CREATED  \
	}
#define COMPANY "w.company_id = $company AND "
#define PAGERS(condition)                                                                          \
	{                                                                                          \
		PAGER(condition), PAGER(COMPANY condition),                                        \
			PAGER(COMPANY "w.domain = $domain AND " condition)                         \
	}
	static const struct row_pager pagers[2][3] = {PAGERS(""), PAGERS(IN_TROUBLE " AND ")};
	int of = scope->company_id == NULL ? 0 : scope->domain == NULL ? 1 : 2;
#undef PAGERS
#undef COMPANY
#undef PAGER
#undef PAGE

	return row_page(db,
		ROW_LIST(.pager = &pagers[scope->in_trouble][of],
			.params = DB_PARAMS(DB_TEXT("$domain", scope->domain),
				DB_TEXT("$dialect", scope->dialect),
				DB_GIVEN_TEXT("$company", scope->company_id)),
			.type = &store_webhook_type, .page = page, ROW_INTO(list_r),
			.end_r = end_r),
		err);
}

int store_webhook_waiting(
	struct db *db, int64_t now_us, struct webhook_list *list_r, struct err *err)
{
	static const char sql_waiting[] =
		"WITH RECURSIVE waiting (id) AS (SELECT min(webhook_id)"
		"   FROM webhook_event"
		"   WHERE due_us > 0"
		"   UNION ALL SELECT (SELECT min(n.webhook_id)"
		"     FROM webhook_event n"
		"     WHERE n.due_us > 0 AND n.webhook_id > waiting.id)"
		"   FROM waiting"
		"   WHERE waiting.id IS NOT NULL) " WEBHOOK_SELECT
		" JOIN waiting ON waiting.id = w.id"
		" WHERE w.enabled = 1"
		" AND EXISTS (SELECT 1"
		"   FROM webhook_event d"
		"   WHERE d.webhook_id = w.id AND d.due_us > 0 AND d.due_us <= $now)"
		" ORDER BY w.id";

	*list_r = (struct webhook_list){0};
	return row_list(db,
		ROW_LIST(.sql = sql_waiting, .params = DB_PARAMS(DB_INT("$now", now_us)),
			.type = &store_webhook_type, ROW_INTO(list_r)),
		err);
}

void store_webhook_clear(struct webhook *webhook)
{
	row_clear(&store_webhook_type, webhook);
}

void store_webhook_list_free(struct webhook_list *list)
{
	row_list_free(&store_webhook_type, list->items, list->n);
	*list = (struct webhook_list){0};
}
