/*
 * form_domains: GET /v3/domains/{name}: a domain, and what its DNS is to have.
 *
 * Threads: the pool's.
 */
#include "httpd/form/api_form.h"

#include <jansson.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/ops/op_domain_dns.h"
#include "httpd/admission/request.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

/* `valid` is what clients look at. */
static json_t *render_record(const json_t *record)
{
	const char *status = row_json_text(record, "status");
	const char *valid = str_eq(status, "verified")  ? "valid"
			    : str_eq(status, "unknown") ? "unknown"
							: "invalid";

	return json_pack("{s:s, s:s, s:s, s:s, s:[], s:b, s:s}", "record_type",
		row_json_text(record, "type"), "name", row_json_text(record, "name"), "value",
		row_json_text(record, "value"), "valid", valid, "cached", "is_active",
		str_eq(status, "verified"), "purpose", row_json_text(record, "record"));
}

/* Of an MX: its name stands apart from the priority. */
static json_t *render_mx(const json_t *record)
{
	json_t *object = render_record(record);
	const char *value = row_json_text(record, "value");
	size_t len = strcspn(value, " ");
	_cleanup_free_ char *priority = mem_dup(value, len);

	json_object_del(object, "name");
	json_object_set_new(object, "priority", json_string(priority));
	json_object_set_new(object, "value", json_string(value + len + (value[len] == ' ')));
	return object;
}

static json_t *render_domain(const struct domain *domain, const json_t *records)
{
	json_t *sending = json_array(), *receiving = json_array();
	char created[CLOCK_TEXT_SIZE];
	const json_t *record;
	size_t i;

	json_array_foreach(records, i, record) {
		if (str_eq(row_json_text(record, "record"), "MX"))
			json_array_append_new(receiving, render_mx(record));
		else
			json_array_append_new(sending, render_record(record));
	}
	clock_iso8601(domain->created_us, created);
	return json_pack("{s:{s:s, s:s, s:s, s:s, s:s, s:s, s:b}, s:o, s:o}", "domain", "id",
		domain->id, "name", domain->name, "state",
		domain->active    ? "active"
		: domain->pending ? "unverified"
				  : "disabled",
		"type", "custom", "created_at", created, "spam_action", "disabled", "wildcard",
		domain->covers_subdomains, "sending_dns_records", sending, "receiving_dns_records",
		receiving);
}

void api_form_domain(struct request *request)
{
	const struct admission *admission = &request->admission;
	const struct key *key = &admission->key;
	struct op op = {.db = request->db,
		.conf = request->conf,
		.now_us = clock_now_us(request->worker->shared->clock),
		.actor = OP_KEY,
		.company_id = key->company_id,
		.domain = key->domain};
	_cleanup_free_ char *name = NULL;
	struct problem problem = PROBLEM_INIT;
	struct domain domain = {0};
	struct err err = ERR_INIT;
	json_t *answer = NULL;
	int found = 0;

	if (addr_domain_normalize(admission->param, &name, NULL) == 0)
		found = store_domain_find_own(op.db, key->company_id, name, &domain, &err);
	if (found > 0 && key->domain && !str_eq(key->domain, domain.name))
		found = 0;
	if (found > 0 && op_domain_dns_add(&op, &domain, &err) == 0)
		answer = render_domain(&domain, json_object_get(op.result.more, "records"));
	else if (found == 0)
		problem_set(&problem, PROBLEM_NOT_FOUND, "Domain not found: %s", admission->param);
	else
		request_failed(request, "domain_failed", &err, &problem);
	op_clear(&op);
	store_domain_clear(&domain);
	reply_either(request, &problem, 200, answer);
}
