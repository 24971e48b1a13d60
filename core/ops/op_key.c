/*
 * op_key: API keys. Invariant: a token is wiped once it is in the answer.
 */
#include "core/ops/op_key.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/store_audit.h"
#include "core/store/company/store_domain.h"
#include "core/store/company/store_key.h"

enum { REVOKE_STEP = 500 };

static const struct op_field create_fields[] = {
	{OP_FIELD(op_key, name, OP_TEXT), .required = true},
	{OP_FIELD(op_key, scopes, OP_TEXT)},
	{OP_FIELD(op_key, domain, OP_TEXT)},
	{OP_FIELD(op_key, company_id, OP_ID)},
	{0},
};
static const struct op_field rename_fields[] = {
	{OP_FIELD(op_key, name, OP_TEXT), .required = true},
	{0},
};
static const struct op_field one_of_fields[] = {
	{OP_FIELD(op_key, id, OP_ID), .required = true},
	{0},
};
static const struct op_field revoke_all_fields[] = {
	{OP_FIELD(op_key, keys, OP_ITEMS), .max = OP_KEYS_MAX, .fields = one_of_fields,
		.size = sizeof(struct op_key)},
	{OP_FIELD(op_key, company_id, OP_ID), .command = true},
	{OP_FIELD(op_key, domain, OP_TEXT), .command = true},
	{0},
};
static const struct op_field list_fields[] = {
	{OP_FIELD(op_key, company_id, OP_ID)},
	{OP_FIELD(op_key, valid, OP_FLAG)},
	{OP_FIELD(op_key, idle, OP_TEXT), .admins = true},
	{0},
};

/* Finds the name of the domain that a new key is restricted to, NULL for none; the caller frees it.
 * Returns 0 or -1. */
static int find_key_domain(
	const struct op *op, const struct op_key *input, char **name_r, struct err *err)
{
	char id[ID_SIZE] = "";
	struct domain domain;
	int found;

	if (op->domain && input->domain_id == NULL)
		return err_set(err, ERR_DENIED,
			"this API key is restricted to the domain %s: it can only create keys with "
			"its `domain_id`",
			op->domain);
	if (input->domain)
		return addr_domain_normalize(input->domain, name_r, err);
	if (input->domain_id == NULL)
		return 0;
	id_parse(input->domain_id, id);
	found = store_domain_get(op->db, op->company_id, id, &domain, err);
	if (found < 0)
		return -1;
	if (found > 0 && (op->domain == NULL || str_eq(op->domain, domain.name)))
		*name_r = mem_strdup(domain.name);
	if (found > 0)
		store_domain_clear(&domain);
	return *name_r ? 0
		       : op_refuse(op, err, "domain_id",
				 "field is not the id of a domain that this API key may manage");
}

/* The SMTP login for programs: only the password counts. */
#define SMTP_USER "postern"

/* Adds where programs log in over SMTP with a sending key, if it is configured (auth.url). */
static void give_smtp(struct op *op, const struct key *key)
{
	const char *url = key->scopes & KEY_SENDING ? op->conf->auth.url : "";
	bool tls = str_starts(url, "smtps://"), known = !str_empty(url);
	const char *host = known ? strstr(url, "://") + 3 : "", *colon = strrchr(host, ':');
	_cleanup_free_ char *name = NULL;
	int64_t port = tls ? 465 : 587;
	json_t *more = op_more(op);

	if (!known)
		return;
	if (colon && (strchr(colon, ']') || str_int(colon + 1, 1, 65535, &port) < 0))
		colon = NULL;
	name = mem_dup(host, colon ? (size_t)(colon - host) : strlen(host));
	json_object_set_new(more, "smtp_host", json_string(name));
	json_object_set_new(more, "smtp_port", json_integer(port));
	json_object_set_new(more, "smtp_security", json_string(tls ? "tls" : "starttls"));
	json_object_set_new(more, "smtp_user", json_string(SMTP_USER));
}

static int create(struct op *op, const void *arg, struct err *err)
{
	const struct op_key *input = arg;
	struct key_spec spec = {
		.company_id = op_company_of(op, input->company_id),
		.name = input->name,
		.scopes = KEY_SENDING | KEY_READING,
	};
	_cleanup_free_ char *domain = NULL;
	char token[SECRET_TOKEN_SIZE];
	uint8_t hash[SECRET_HASH_LEN];
	struct key key;
	int result;

	if (spec.company_id == NULL)
		return op_refuse(op, err, "company_id", "field is missing");
	if ((input->scopes && store_key_scopes_parse(input->scopes, &spec.scopes, err) < 0) ||
		find_key_domain(op, input, &domain, err) < 0)
		return -1;
	spec.domain = domain;
	secret_token(token);
	secret_hash(token, strlen(token), hash);
	result = store_key_create(op->db, &spec, hash, op->now_us, &key, err);
	if (result == 0) {
		op_give(op, &store_key_type, &key);
		json_object_set_new(op_more(op), "token", json_string(token));
		give_smtp(op, &key);
	}
	secret_wipe(token, sizeof(token));
	if (result < 0 || op_check_limit(op, LIMIT_KEYS, spec.company_id, err) < 0)
		return -1;
	/* The command removes no old keys, because no limit applies to it. */
	if (op->actor != OP_COMMAND &&
		store_key_forget_revoked(op->db, spec.company_id, op->conf->limits.keys, err) < 0)
		return -1;
	return 1;
}

static int list_keys(struct op *op, const void *arg, struct err *err)
{
	const struct op_key *input = arg;
	struct key_filter filter = {
		.company_id = op_company_of(op, input->company_id),
		.domain = op->domain,
		.valid_only = op->actor == OP_KEY || input->valid == OP_YES,
	};
	struct key_list keys = {0};
	struct page_end end;
	int found;

	if (input->idle && str_eq(input->idle, "unused"))
		filter.unused_us = op->now_us - OP_KEY_UNUSED_DAYS * DAY_US;
	else if (input->idle && str_eq(input->idle, "forgotten"))
		filter.forgotten_us = op->now_us - OP_KEY_FORGOTTEN_DAYS * DAY_US;
	else if (input->idle)
		return op_refuse(op, err, "idle", "must be unused or forgotten");
	found = store_key_list(op->db, &filter, &op->page, &keys, &end, err);
	if (found > 0)
		op_give_page(op, &store_key_type, keys.items, keys.n, &end);
	return found;
}

static int get_key(struct op *op, const void *arg, struct err *err)
{
	struct key key;
	int found = store_key_find_any(op->db, op->company_id, op->object, &key, err);

	(void)arg;
	if (found > 0)
		op_give(op, &store_key_type, &key);
	return found;
}

static int rename_one(struct op *op, const void *arg, struct err *err)
{
	const struct op_key *input = arg;
	const struct key_range range = {op->company_id, op->domain};
	int found = store_key_rename(op->db, &range, op->object, input->name, err);

	return found > 0 ? get_key(op, NULL, err) : found;
}

static int revoke(struct op *op, const void *arg, struct err *err)
{
	const struct key_range range = {op->company_id, op->domain};
	int found = store_key_revoke(op->db, &range, op->object, op->now_us, err);

	(void)arg;
	/* For the command, a key that was revoked before also counts. */
	return found > 0 || (found == 0 && op->actor == OP_COMMAND) ? get_key(op, NULL, err)
								    : found;
}

/* Revokes the given keys. Returns how many of them were valid, or -1. */
static int revoke_given(struct op *op, const struct op_items *keys, struct err *err)
{
	const struct key_range range = {op->company_id, op->domain};
	const struct op_key *items = keys->items;
	int revoked = 0;

	for (size_t i = 0; i < keys->n; i++) {
		char id[ID_SIZE];
		int found = id_parse(items[i].id, id)
				    ? store_key_revoke(op->db, &range, id, op->now_us, err)
				    : 0;

		if (found < 0)
			return -1;
		revoked += found;
	}
	return revoked;
}

/* Revokes the first valid keys of a company. *more_r is true if there are others. */
static int revoke_first(
	struct op *op, const struct key_filter *filter, bool *more_r, struct err *err)
{
	const struct key_range range = {filter->company_id, filter->domain};
	const struct page page = {.limit = REVOKE_STEP};
	struct key_list keys = {0};
	struct page_end end;
	int result = store_key_list(op->db, filter, &page, &keys, &end, err);

	for (size_t i = 0; i < keys.n && result >= 0; i++)
		result = store_key_revoke(op->db, &range, keys.items[i].id, op->now_us, err);
	*more_r = result >= 0 && end.more;
	result = result < 0 ? -1 : (int)keys.n;
	row_list_free(&store_key_type, keys.items, keys.n);
	return result;
}

static int revoke_all(struct op *op, const void *arg, struct err *err)
{
	const struct op_key *input = arg;
	const struct key_filter filter = {input->company_id, input->domain, .valid_only = true};
	bool more = false;
	json_int_t before = json_integer_value(json_object_get(op_more(op), "revoked"));
	int revoked;

	if (input->keys.n == 0 && input->company_id == NULL)
		return op_refuse(
			op, err, op->actor == OP_COMMAND ? "company" : "keys", "is missing");
	revoked = input->keys.n > 0 ? revoke_given(op, &input->keys, err)
				    : revoke_first(op, &filter, &more, err);
	if (revoked < 0)
		return -1;
	json_object_set_new(op_more(op), "revoked", json_integer(before + revoked));
	return more ? STORE_MORE : 1;
}

#define INPUT sizeof(struct op_key)

const struct operation op_key_create = {create_fields, INPUT, .run = create};
const struct operation op_key_list = {list_fields, INPUT, .list = OP_SEARCH, .run = list_keys};
const struct operation op_key_get = {.run = get_key};
const struct operation op_key_rename = {rename_fields, INPUT, .run = rename_one};
const struct operation op_key_revoke = {.run = revoke};
const struct operation op_key_revoke_all = {revoke_all_fields, INPUT, .run = revoke_all};
