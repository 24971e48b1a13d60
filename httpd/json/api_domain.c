/*
 * api_domain: the routes /domains: parses the bodies and renders the answers.
 *
 * Clients send settings of a domain that do not exist here. A setting that asks
 * for what is the case anyway is accepted, any other is refused: a client that
 * wants to enforce TLS must not believe that it does.
 */
#include "httpd/json/api_json.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/ops/op_domain.h"
#include "httpd/json/api_manage.h"
#include "httpd/json/json_field.h"

/* Mail is sent from where Postfix runs. Clients that validate the region know
 * only these. */
static const char *const regions[] = {"us-east-1", "eu-west-1", "sa-east-1", "ap-northeast-1"};

/* Settings and the only value that they accept. */
static const struct {
	const char *path;   /* the name in problems */
	const char *object; /* the object that contains it; NULL for the body itself */
	const char *name;
	const char *value; /* NULL means false */
} fixed[] = {
	{"open_tracking", NULL, "open_tracking", NULL},
	{"click_tracking", NULL, "click_tracking", NULL},
	{"tls", NULL, "tls", "opportunistic"},
	{"capabilities.sending", "capabilities", "sending", "enabled"},
	{"capabilities.receiving", "capabilities", "receiving", "disabled"},
};

/* Checks the settings of a body: they may only ask for what is the case anyway. */
static int check_settings(const json_t *body, struct problem *problem)
{
	const json_t *capabilities = json_field_get(body, "capabilities");

	if (capabilities && !json_is_object(capabilities))
		return problem_set(
			problem, PROBLEM_VALIDATION, "The `capabilities` field must be an object.");
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		const json_t *object = fixed[i].object ? json_object_get(body, fixed[i].object)
						       : body;
		const json_t *value = json_field_get(object, fixed[i].name);
		const char *wanted = fixed[i].value;
		const char *text = json_string_value(value);

		if (value && !(wanted ? text && str_eq(text, wanted) : json_is_false(value)))
			return problem_set(problem, PROBLEM_VALIDATION,
				"The `%s` field can only be `%s` here.", fixed[i].path,
				wanted ? wanted : "false");
	}
	if (json_field_get(body, "tracking_subdomain"))
		return problem_set(problem, PROBLEM_VALIDATION,
			"The `tracking_subdomain` field is not supported.");
	return 0;
}

static int check_region(const json_t *body, struct problem *problem)
{
	const json_t *region = json_field_get(body, "region");
	_cleanup_buf_ struct buf known = BUF_INIT;

	if (region == NULL)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(regions); i++) {
		if (json_is_string(region) && str_eq(json_string_value(region), regions[i]))
			return 0;
		buf_printf(&known, "%s%s",
			i == 0                        ? ""
			: i + 1 < ARRAY_SIZE(regions) ? ", "
						      : " and ",
			regions[i]);
	}
	return problem_set(problem, PROBLEM_REGION,
		"The `region` field must be one of %s. It has no meaning here.", buf_str(&known));
}

int domain_json_parse_new(const json_t *body, void *input, struct problem *problem)
{
	_cleanup_free_ char *normal = NULL;
	struct op_domain *domain = input;
	struct err err = ERR_INIT;

	if (check_region(body, problem) < 0 || check_settings(body, problem) < 0 ||
		json_field_line(body, "name", "name", &domain->name, problem) < 0)
		return -1;
	if (domain->name == NULL)
		return problem_set(problem, PROBLEM_MISSING_FIELD, "Missing `name` field.");
	/* The name is kept as it was given. */
	if (addr_domain_normalize(domain->name, &normal, &err) < 0)
		return problem_set(
			problem, PROBLEM_VALIDATION, "Invalid `name` field: %s.", err.text);
	return 0;
}

static int parse_settings(const json_t *body, void *input, struct problem *problem)
{
	(void)input;
	return check_settings(body, problem);
}

/* A domain that an operator deactivated is shown as not_started. */
static const char *status(const struct domain *domain)
{
	if (domain->active)
		return "verified";
	return domain->pending ? "pending" : "not_started";
}

json_t *domain_json_render_item(const struct domain *domain)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:b, s:b, s:{s:s, s:s}}", "object",
		"domain", "id", domain->id, "name", domain->name, "status", status(domain),
		"created_at", row_json_time(domain->created_us), "region", regions[0],
		"open_tracking", 0, "click_tracking", 0, "capabilities", "sending", "enabled",
		"receiving", "disabled");
}

/* Clients know a few kinds and states of records, and some fail on others. All
 * records but DKIM keys are shown as SPF, since they concern the envelope
 * sender. Members that clients do not know (purpose, text) say more. */
static json_t *render_record(const json_t *record, bool looked)
{
	static const char *const states[][2] = {
		{"verified", "verified"}, {"missing", "pending"}, {"wrong", "failed"}};
	const char *kind = json_string_value(json_object_get(record, "record"));
	const char *type = json_string_value(json_object_get(record, "type"));
	const char *value = json_string_value(json_object_get(record, "value"));
	const char *found = json_string_value(json_object_get(record, "status"));
	const char *status = looked ? "temporary_failure" : "not_started";
	size_t priority = str_eq(type, "MX") && value ? strcspn(value, " ") : 0;
	json_t *object;

	if (!json_is_string(json_object_get(record, "text")))
		status = "not_started";
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (str_eq(found, states[i][0]))
			status = states[i][1];
	object = json_pack("{s:s, s:O, s:s, s:s, s:s, s:s, s:s, s:O}", "record",
		str_eq(kind, "DKIM") ? "DKIM" : "SPF", "name", json_object_get(record, "name"),
		"type", type, "ttl", "Auto", "status", status, "value",
		value ? value + priority + (priority > 0) : "", "purpose", kind, "text",
		json_object_get(record, "text"));
	if (priority)
		json_object_set_new(object, "priority", json_integer(strtol(value, NULL, 10)));
	return object;
}

json_t *domain_json_render(const struct domain *domain, const json_t *more)
{
	json_t *object = domain_json_render_item(domain), *array = json_array();
	bool looked = json_is_string(json_object_get(more, "checked_at"));
	const json_t *record;
	size_t i;

	json_array_foreach(json_object_get(more, "records"), i, record)
		json_array_append_new(array, render_record(record, looked));
	json_object_set_new(object, "records", array);
	return object;
}

static json_t *render_whole(const struct op *op)
{
	return domain_json_render(op->result.rows.items, op->result.more);
}

static json_t *render_item(const void *item)
{
	return domain_json_render_item(item);
}

#define MISSING "Domain not found"

const struct manage api_domain_create = {
	domain_json_parse_new, render_whole, NULL, MISSING, PROBLEM_RESTRICTED_KEY};
const struct manage api_domain_get = {NULL, render_whole, NULL, MISSING, PROBLEM_DOMAIN};
const struct manage api_domain_list = {NULL, NULL, render_item, MISSING, PROBLEM_DOMAIN};
const struct manage api_domain_update = {
	parse_settings, manage_render_id, NULL, MISSING, PROBLEM_DOMAIN};
const struct manage api_domain_verify = {NULL, manage_render_id, NULL, MISSING, PROBLEM_DOMAIN};
const struct manage api_domain_remove = {
	NULL, manage_render_removed, NULL, MISSING, PROBLEM_DOMAIN};
