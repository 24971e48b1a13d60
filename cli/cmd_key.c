/*
 * cmd_key: API keys.
 */
#include <string.h>

#include "cli/cmd.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/address/addr.h"
#include "core/store/store_key.h"

static void fill_scopes(struct report *report, size_t column, const void *item)
{
	const struct key *key = item;
	_cleanup_free_ char *words = store_key_scopes_format(key->scopes);
	_cleanup_strv_ struct strv scopes = STRV_INIT;

	strv_split(&scopes, words, ',');
	report_list(report, column, &scopes);
}

#define COLUMNS                                                                                    \
	{"id", "ID", COLUMN_TEXT, COLUMN_OF(key, id)},                                             \
		{"company_id", "COMPANY", COLUMN_TEXT, .spare = 2, COLUMN_OF(key, company_id)},    \
		{"domain", "DOMAIN", COLUMN_TEXT, COLUMN_OF(key, domain)},                         \
		{"name", "NAME", COLUMN_TEXT, 40, COLUMN_OF(key, name)},                           \
		{"scopes", "SCOPES", COLUMN_LIST, .spare = 3, .fill = fill_scopes},                \
	{                                                                                          \
		"created_at", "CREATED", COLUMN_TIME, .spare = 1, COLUMN_OF(key, created_us)       \
	}

static const struct column columns[] = {
	COLUMNS,
	{"last_used_at", "LAST USED", COLUMN_TIME, .spare = 4, COLUMN_OF(key, last_used_us)},
	{"revoked_at", "REVOKED", COLUMN_TIME, COLUMN_OF(key, revoked_us)},
	{0},
};

enum { TOKEN = 6 };

static const struct column created_columns[] = {
	COLUMNS,
	[TOKEN] = {"token", "TOKEN", .type = COLUMN_TEXT},
	{0},
};

static int create(const struct call *call, const struct key_spec *spec, struct report *report,
	struct err *err)
{
	char token[SECRET_TOKEN_SIZE];
	uint8_t hash[SECRET_HASH_LEN];
	struct key key;
	int result;

	secret_token(token);
	secret_hash(token, strlen(token), hash);
	result = store_key_create(call->db, spec, hash, call->now_us, &key, err);
	if (result == 0) {
		report_add(report, &key);
		report_text(report, TOKEN, token);
		report_note(report, "\nThe token is shown only now: it is not stored.");
		store_key_clear(&key);
	}
	secret_wipe(token, sizeof(token));
	return result;
}

static int run_create(const struct call *call, struct report *report, struct err *err)
{
	const char *scopes = call_option(call, OPTION_SCOPE);
	const char *domain = call_option(call, OPTION_DOMAIN);
	_cleanup_free_ char *normal = NULL;
	char company_id[ID_SIZE];
	struct key_spec spec = {
		.company_id = company_id,
		.name = call_option(call, OPTION_NAME),
		.scopes = KEY_SENDING | KEY_READING,
	};

	if (call_id_option(call, OPTION_COMPANY, company_id, err) < 0)
		return -1;
	if (scopes && store_key_scopes_parse(scopes, &spec.scopes, err) < 0)
		return -1;
	if (domain && addr_domain_normalize(domain, &normal, err) < 0)
		return -1;
	spec.domain = normal;
	return create(call, &spec, report, err);
}

static int run_list(const struct call *call, struct report *report, struct err *err)
{
	struct page page = CALL_FIRST_PAGE;
	struct page_end end = {.more = true};
	struct key_filter filter = {0};
	char company_id[ID_SIZE];
	struct key_list keys;

	if (call_company_option(call, company_id, err) < 0)
		return -1;
	filter.company_id = *company_id ? company_id : NULL;
	while (end.more) {
		if (store_key_list(call->db, &filter, &page, &keys, &end, err) <= 0)
			return call_page_lost(err);
		for (size_t i = 0; i < keys.n; i++) {
			report_add(report, &keys.items[i]);
			memcpy(page.after, keys.items[i].id, ID_SIZE);
		}
		store_key_list_free(&keys);
		if (report_flush(report, err) < 0)
			return -1;
	}
	return 0;
}

static void note_revoked(struct report *report, const struct key *key)
{
	if (str_empty(key->name))
		report_note(report, "key %s revoked", key->id);
	else
		report_note(report, "key %s (%s) revoked", key->id, key->name);
}

static int report_key(struct db *db, const char *id, struct report *report, struct err *err)
{
	struct key key;

	if (store_key_find_any(db, NULL, id, &key, err) <= 0)
		return -1;
	report_add(report, &key);
	note_revoked(report, &key);
	store_key_clear(&key);
	return 0;
}

static int run_revoke(const struct call *call, struct report *report, struct err *err)
{
	char id[ID_SIZE];
	int found;

	if (call_id_argument(call, id, err) < 0)
		return -1;
	found = store_key_revoke(call->db, id, call->now_us, err);
	if (found < 0)
		return -1;
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no key with the id %s", id);
	return report_key(call->db, id, report, err);
}

const struct verb cmd_key_create = {
	.noun = "key",
	.name = "create",
	.access = VERB_WRITES,
	.shape = VERB_RECORD,
	.columns = created_columns,
	.options = {{OPTION_COMPANY, true, "The company that it belongs to."},
		{OPTION_NAME, true, "What people call it."},
		{OPTION_SCOPE, false,
			"What it may do: sending, reading, managing, with commas between. Who may "
			"manage may create keys over HTTP with any scope, also those that it "
			"lacks. Without this, sending and reading."},
		{OPTION_DOMAIN, false,
			"Restrict it to this domain of the company. The key is removed with the "
			"domain."}},
	.help = "Creates an API key and prints its token, once: only a hash of it is "
		"stored.",
	.run = run_create,
};

const struct verb cmd_key_list = {
	.noun = "key",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.options = {{OPTION_COMPANY, false, "Only those of this company."}},
	.help = "Lists the keys, newest first, with the revoked ones. When a key was last "
		"used is kept to the minute or so.",
	.run = run_list,
};

const struct verb cmd_key_revoke = {
	.noun = "key",
	.name = "revoke",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = columns,
	.help = "Makes a key invalid, at once and for good. What it sent and Postfix has "
		"not yet passed on to the milter is refused.",
	.run = run_revoke,
};
