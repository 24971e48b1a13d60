/*
 * store_dkim: the rows of the table dkim_key.
 */
#include "core/store/company/store_dkim.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/store/store_audit.h"

static const char *const states[DKIM_STATES] = {
	[DKIM_NEW] = "new",
	[DKIM_SIGNING] = "signing",
	[DKIM_OLD] = "old",
};
static const struct row_words state_words = {states, DKIM_STATES, false};

static const struct row_field dkim_fields[] = {
	ROW_FIELD(dkim_key, id, ROW_ID),
	ROW_FIELD(dkim_key, company_id, ROW_ID),
	ROW_FIELD(dkim_key, domain_id, ROW_ID),
	ROW_FIELD(dkim_key, domain, ROW_TEXT),
	ROW_FIELD(dkim_key, selector, ROW_TEXT),
	ROW_FIELD(dkim_key, public_key, ROW_TEXT),
	ROW_WORD(dkim_key, state, ROW_ENUM, "state", &state_words),
	ROW_FIELD(dkim_key, created_us, ROW_TIME),
	ROW_FIELD(dkim_key, changed_us, ROW_TIME),
};
const struct row_type store_dkim_type = ROW_TYPE(dkim_key, dkim_fields);

#define DKIM_SELECT                                                                                \
	"SELECT k.id, k.company_id, k.domain_id, d.name AS domain, k.selector, k.public_key,"      \
	" k.state, k.created_us, k.changed_us"                                                     \
	" FROM dkim_key k"                                                                         \
	" JOIN domain d ON d.id = k.domain_id"

static const char sql_get[] = DKIM_SELECT " WHERE k.id = $id";

void store_dkim_list_free(struct dkim_key_list *list)
{
	row_list_free(&store_dkim_type, list->items, list->n);
	*list = (struct dkim_key_list){0};
}

int store_dkim_list(
	struct db *db, const char *domain_id, struct dkim_key_list *list_r, struct err *err)
{
	static const char sql_of_domain[] = DKIM_SELECT
		" WHERE k.domain_id = $domain"
		" ORDER BY k.created_us DESC, k.id";
	static const char sql_all[] = DKIM_SELECT " ORDER BY d.name, k.created_us DESC, k.id";

	return row_list(db,
		ROW_LIST(.sql = domain_id ? sql_of_domain : sql_all,
			.params = DB_PARAMS(DB_GIVEN_TEXT("$domain", domain_id)),
			.type = &store_dkim_type, ROW_INTO(list_r)),
		err);
}

int store_dkim_add(struct db *db, struct dkim_key *key, int64_t now_us, struct err *err)
{
	static const char sql_owner[] =
		"SELECT company_id, name AS domain FROM domain WHERE id = $domain";
	static const char sql_add[] =
		"INSERT INTO dkim_key (id, company_id, domain_id, selector, public_key, state,"
		"   created_us, changed_us)"
		" VALUES ($id, $company_id, $domain_id, $selector, $public_key, $state,"
		"   $created_us, $changed_us)";
	struct err why = ERR_INIT;
	struct dkim_key owner;
	int found = row_get(db, sql_owner, DB_PARAMS(DB_TEXT("$domain", key->domain_id)),
		&store_dkim_type, &owner, err);

	if (found <= 0)
		return found < 0 ? -1 : err_set(err, ERR_NOT_FOUND, "there is no such domain");
	memcpy(key->company_id, owner.company_id, ID_SIZE);
	free(key->domain);
	key->domain = TAKE_PTR(owner.domain);
	row_clear(&store_dkim_type, &owner);
	id_new(key->id);
	key->state = DKIM_NEW;
	key->created_us = key->changed_us = now_us;
	if (audit_change(db,
		    &(struct audit_change){.action = "dkim.add",
			    .type = &store_dkim_type,
			    .name = "selector",
			    .sql = sql_add,
			    .item = key},
		    &why) > 0)
		return 0;
	if (why.code == ERR_EXISTS)
		return err_set(err, ERR_EXISTS,
			"%s has a new key already, or one with the selector %s", key->domain,
			key->selector);
	return err_copy(err, &why);
}

static int set_state(struct db *db, const struct dkim_key *key, enum dkim_state state,
	int64_t now_us, struct err *err)
{
	static const char sql_set[] =
		"UPDATE dkim_key SET state = $state, changed_us = $now WHERE id = $id";

	return audit_change(db,
		&(struct audit_change){.action = state == DKIM_SIGNING ? "dkim.sign" : "dkim.stop",
			.type = &store_dkim_type,
			.name = "selector",
			.sql = sql_set,
			.params = DB_PARAMS(DB_TEXT("$state", states[state]),
				DB_INT("$now", now_us), DB_TEXT("$id", key->id)),
			.sql_get = sql_get,
			.key = DB_PARAMS(DB_TEXT("$id", key->id))},
		err);
}

int store_dkim_switch(struct db *db, const char *domain_id, int64_t now_us, struct err *err)
{
	_cleanup_dkim_keys_ struct dkim_key_list list = {0};
	const struct dkim_key *fresh = NULL, *signing = NULL;

	if (store_dkim_list(db, domain_id, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++) {
		if (list.items[i].state == DKIM_NEW)
			fresh = &list.items[i];
		if (list.items[i].state == DKIM_SIGNING)
			signing = &list.items[i];
	}
	if (fresh == NULL)
		return 0;
	if (signing && set_state(db, signing, DKIM_OLD, now_us, err) < 0)
		return -1;
	return set_state(db, fresh, DKIM_SIGNING, now_us, err) < 0 ? -1 : 1;
}

int store_dkim_stop(struct db *db, const char *domain_id, int64_t now_us, struct err *err)
{
	_cleanup_dkim_keys_ struct dkim_key_list list = {0};
	int stopped = 0;

	if (store_dkim_list(db, domain_id, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++) {
		if (list.items[i].state == DKIM_OLD)
			continue;
		if (set_state(db, &list.items[i], DKIM_OLD, now_us, err) < 0)
			return -1;
		stopped++;
	}
	return stopped;
}

int store_dkim_remove(struct db *db, const char *id, struct err *err)
{
	static const char sql_remove[] = "DELETE FROM dkim_key WHERE id = $id";

	return audit_change(db,
		&(struct audit_change){.action = "dkim.remove",
			.type = &store_dkim_type,
			.name = "selector",
			.sql = sql_remove,
			.params = DB_PARAMS(DB_TEXT("$id", id)),
			.sql_get = sql_get,
			.key = DB_PARAMS(DB_TEXT("$id", id))},
		err);
}
