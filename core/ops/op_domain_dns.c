/*
 * op_domain_dns: the records of a domain as JSON.
 */
#include "core/ops/op_domain_dns.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/company/store_dkim.h"

static json_t *text_json(const char *text)
{
	json_t *value = text ? json_string(text) : NULL;

	return value ? value : json_null();
}

json_t *op_domain_dns_json(const struct dns_records *records, bool looked)
{
	json_t *array = json_array();

	for (size_t i = 0; i < records->n; i++) {
		const struct dns_record *record = &records->items[i];

		if (!looked && str_eq(record->kind, "MX"))
			continue;
		json_array_append_new(array,
			json_pack("{s:s, s:s, s:o, s:o, s:s, s:o}", "record", record->kind, "type",
				record->type, "name", text_json(record->name), "value",
				text_json(record->value), "status", dns_status_name(record->status),
				"text", text_json(looked ? record->text : NULL)));
	}
	return array;
}

json_t *op_domain_dns_look(struct db *db, const struct conf *conf, const struct dns_view *view,
	struct dns *dns, const struct domain *domain, struct err *err)
{
	_cleanup_dns_records_ struct dns_records records = {0};
	_cleanup_dkim_keys_ struct dkim_key_list list = {0};
	_cleanup_free_ struct dkim_key_public *keys = NULL;
	_cleanup_free_ char *proof = domain_dns_proof(domain->id);
	struct dns_domain wanted = {.name = domain->name};

	if (store_dkim_list(db, domain->id, &list, err) < 0)
		return NULL;
	keys = mem_alloc(list.n + 1, sizeof(*keys));
	for (size_t i = 0; i < list.n; i++)
		if (list.items[i].state != DKIM_OLD)
			keys[wanted.keys_n++] = (struct dkim_key_public){list.items[i].selector,
				list.items[i].public_key,
				list.items[i].state == DKIM_NEW ? "it does not sign yet" : ""};
	wanted.keys = keys;
	if (domain->pending && conf->http.domain_activation == ACTIVATION_DNS)
		wanted.proof = proof;
	domain_dns_check(dns, &wanted, &view->host, &records);
	return op_domain_dns_json(&records, dns != NULL);
}

bool op_domain_dns_proves(const json_t *records, const struct domain *domain)
{
	_cleanup_free_ char *proof = domain_dns_proof(domain->id);
	const json_t *record;
	size_t i;

	json_array_foreach(records, i, record)
		if (str_eq(row_json_text(record, "record"), "PROOF") &&
			str_eq(row_json_text(record, "value"), proof) &&
			str_eq(row_json_text(record, "status"), "verified"))
			return true;
	return false;
}

int op_domain_dns_keep(struct db *db, const struct domain *domain, const json_t *records,
	int64_t now_us, struct err *err)
{
	_cleanup_free_ char *text = json_dumps(records, JSON_COMPACT);
	struct domain_check check = {.checked_us = now_us, .records = text};

	memcpy(check.domain_id, domain->id, ID_SIZE);
	return store_domain_check_put(db, &check, err);
}

int op_domain_dns_when(
	struct db *db, const struct domain *domain, int64_t *checked_us_r, struct err *err)
{
	struct domain_check check;
	int found = store_domain_check_get(db, domain->id, &check, err);

	if (found < 0)
		return -1;
	*checked_us_r = found ? check.checked_us : 0;
	if (found)
		store_domain_check_clear(&check);
	return 0;
}

/* Returns what was found for a record; NULL if nothing. Results for a different DKIM key or proof
 * do not count. */
static json_t *found_of(const json_t *wanted, const json_t *found)
{
	const char *kind = row_json_text(wanted, "record");
	bool exact = str_eq(kind, "DKIM") || str_eq(kind, "PROOF");
	json_t *record;
	size_t i;

	json_array_foreach(found, i, record) {
		if (str_eq(row_json_text(record, "record"), kind) &&
			str_eq(row_json_text(record, "name"), row_json_text(wanted, "name")) &&
			(!exact || str_eq(row_json_text(record, "value"),
					   row_json_text(wanted, "value"))))
			return record;
	}
	return NULL;
}

int op_domain_dns_add(struct op *op, const struct domain *domain, struct err *err)
{
	struct domain_check check = {0};
	json_t *wanted, *found = NULL, *records, *record;
	int has_found;
	size_t i;

	if (op->view == NULL)
		op->view = dns_view_new(op->conf);
	wanted = op_domain_dns_look(op->db, op->conf, op->view, NULL, domain, err);
	if (wanted == NULL)
		return -1;
	has_found = store_domain_check_get(op->db, domain->id, &check, err);
	if (has_found > 0)
		found = json_loads(check.records, 0, NULL);
	records = json_array();
	json_array_foreach(wanted, i, record) {
		json_t *known = found_of(record, found);

		json_array_append(records, known ? known : record);
	}
	json_array_foreach(found, i, record) {
		if (str_eq(row_json_text(record, "record"), "MX"))
			json_array_append(records, record);
	}
	json_decref(wanted);
	json_decref(found);
	json_object_set_new(op_more(op), "records", records);
	json_object_set_new(
		op_more(op), "checked_at", row_json_time(has_found > 0 ? check.checked_us : 0));
	if (has_found > 0)
		store_domain_check_clear(&check);
	return has_found < 0 ? -1 : 0;
}
