/*
 * op_webhook: webhooks, their events, and the attempts to send these.
 */
#include "core/ops/op_webhook.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/base64.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/conf/conf.h"
#include "core/report/event_json.h"
#include "core/store/store_audit.h"
#include "core/store/company/store_domain.h"
#include "core/store/webhook/store_webhook_event.h"

static const struct op_field add_fields[] = {
	{OP_FIELD(op_webhook, endpoint, OP_TEXT), .required = true},
	{OP_FIELD(op_webhook, events, OP_LIST), .required = true},
	{OP_FIELD(op_webhook, domain, OP_TEXT)},
	{OP_FIELD(op_webhook, company_id, OP_ID), .operators = true},
	{0},
};
static const struct op_field update_fields[] = {
	{OP_FIELD(op_webhook, endpoint, OP_TEXT)},
	{OP_FIELD(op_webhook, events, OP_LIST)},
	{OP_FIELD(op_webhook, domain, OP_TEXT)},
	{OP_FIELD(op_webhook, enabled, OP_FLAG)},
	{0},
};
static const struct op_field list_fields[] = {
	{OP_FIELD(op_webhook, company_id, OP_ID)},
	{0},
};
static const struct op_field search_fields[] = {
	{OP_FIELD(op_webhook, company_id, OP_ID)},
	{OP_FIELD(op_webhook, in_trouble, OP_FLAG)},
	{0},
};
static const struct op_field event_fields[] = {
	{OP_FIELD(op_webhook_event, event_id, OP_TEXT), .required = true},
	{0},
};
static const struct op_field replay_fields[] = {
	{OP_FIELD(op_webhook_event, event_id, OP_TEXT)},
	{OP_FIELD(op_webhook_event, since, OP_TIME)},
	{OP_FIELD(op_webhook_event, until, OP_TIME)},
	{0},
};

static const char *const form_names[] = {"accepted", "delivered", "opened", "clicked",
	"unsubscribed", "complained", "permanent_fail", "temporary_fail"};

/* The families of events that clients of the JSON API know. Families that never occur are
 * accepted. */
static const char *const families[] = {
	"email.", "contact.", "domain.", "suppression.", "topic.", "inbox."};

static struct webhook_scope scope_of(const struct op *op)
{
	return (struct webhook_scope){
		.company_id = op->company_id,
		.domain = op->domain,
		.dialect = op->actor == OP_KEY ? "json" : NULL,
	};
}

/* Finds the webhook of the operation. Returns 1, 0 if there is none, -1 on error. */
static int find_own(const struct op *op, struct webhook *webhook_r, struct err *err)
{
	const struct webhook_scope scope = scope_of(op);

	return store_webhook_find(op->db, &scope, op->object, webhook_r, err);
}

/* Returns 1 or -1. */
static int give_webhook(struct op *op, struct webhook *webhook, struct err *err)
{
	int result = op->actor == OP_USER ? store_webhook_count_waiting(
						    op->db, webhook->id, &webhook->waiting, err)
					  : 0;

	op_give(op, &store_webhook_type, webhook);
	*webhook = (struct webhook){0};
	return result < 0 ? -1 : 1;
}

/* In the form API the secret is given as hex digits, else as `whsec_` and base64. */
static void give_secret(struct op *op, const struct webhook *webhook)
{
	_cleanup_secret_buf_ struct buf text = BUF_INIT;

	if (webhook->dialect == WEBHOOK_JSON) {
		buf_add_str(&text, "whsec_");
		base64_encode((const char *)webhook->secret, WEBHOOK_SECRET_LEN, 0, &text);
	} else {
		buf_add_hex(&text, webhook->secret, WEBHOOK_SECRET_LEN);
	}
	json_object_set_new(op_more(op), "signing_secret", json_string(buf_str(&text)));
}

/* Checks the port of `host:port` or `[address]:port`. Returns 0 or -1. */
static int check_port(const struct op *op, const char *host, size_t len, struct err *err)
{
	/* Mail servers of strangers, which take an HTTP client for an abused proxy. */
	static const int64_t of_mail[] = {25, 465, 587};
	const char *bracket = memrchr(host, ']', len);
	const char *from = bracket ? bracket : host;
	const char *colon = memchr(from, ':', len - (size_t)(from - host));
	_cleanup_free_ char *digits = NULL;
	int64_t port;

	if (colon == NULL)
		return 0;
	digits = mem_dup(colon + 1, len - (size_t)(colon + 1 - host));
	if (str_int(digits, 1, 65535, &port) < 0)
		return op_refuse(op, err, "endpoint", "has a port that is no number up to 65535");
	for (size_t i = 0; i < ARRAY_SIZE(of_mail); i++)
		if (port == of_mail[i])
			return op_refuse(op, err, "endpoint",
				"has the port %s, which is for mail and not for HTTP", digits);
	return 0;
}

/* Checks the URL. Returns 0 or -1. postern-webhook checks the address when it connects. */
static int check_endpoint(const struct op *op, const char *url, struct err *err)
{
	bool https = str_starts(url, "https://"), http = str_starts(url, "http://");
	const char *host = https || http ? strchr(url, '/') + 2 : "";
	size_t authority = strcspn(host, "/?#"), name;
	const char *at = memrchr(host, '@', authority);

	if (strlen(url) > WEBHOOK_ENDPOINT_MAX)
		return op_refuse(
			op, err, "endpoint", "has more than %d bytes", WEBHOOK_ENDPOINT_MAX);
	for (const char *p = url; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f || *p == '\\')
			return op_refuse(op, err, "endpoint",
				"is not a URL: it has a character that must be encoded");
	name = at ? authority - (size_t)(at + 1 - host) : authority;
	if ((!https && !http) || name == 0 || (at ? at[1] : *host) == ':' || strchr(url, '#'))
		return op_refuse(op, err, "endpoint", "is not a URL like https://example.com/path");
	if (http && op->conf->webhook.schemes != WEBHOOK_HTTP_TOO)
		return op_refuse(op, err, "endpoint", "must begin with https://");
	return check_port(op, host + authority - name, name, err);
}

/* Reads the types as a JSON array without duplicates; the caller frees it. Returns 0 or -1. */
static int read_events(const struct op *op, const char *text, char **events_r, struct err *err)
{
	_cleanup_strv_ struct strv words = STRV_INIT;
	json_t *events = json_array();
	int result = 0;

	strv_split(&words, text, ',');
	for (size_t i = 0; i < words.n && result == 0; i++) {
		_cleanup_free_ char *word = str_trim(words.items[i], strlen(words.items[i]));
		bool known = false;
		json_t *one;
		size_t n;

		for (size_t k = 0; k < ARRAY_SIZE(families); k++)
			known |= str_starts(word, families[k]) && word[strlen(families[k])];
		if (!known || strlen(word) > 64 ||
			word[strspn(word, "abcdefghijklmnopqrstuvwxyz_.")])
			result = op_refuse(op, err, "events",
				"field has no type of events like `email.delivered`: \"%.60s\"",
				word);
		json_array_foreach(events, n, one)
			if (str_eq(json_string_value(one), word))
				known = false;
		if (result == 0 && known)
			json_array_append_new(events, json_string(word));
	}
	if (result == 0 &&
		(json_array_size(events) == 0 || json_array_size(events) > OP_WEBHOOK_EVENTS_MAX))
		result = op_refuse(op, err, "events", "field must have 1 to %d types of events",
			OP_WEBHOOK_EVENTS_MAX);
	if (result == 0)
		*events_r = json_dumps(events, JSON_COMPACT);
	json_decref(events);
	return result;
}

/* Finds a domain of the company and returns its name, which the caller frees; NULL for all. Returns
 * 0 or -1. */
static int read_domain(const struct op *op, const char *company_id, const char *given,
	char **name_r, struct err *err)
{
	_cleanup_free_ char *name = NULL;
	struct domain domain;
	int found;

	if (op->domain && given && !str_eq(given, op->domain))
		return err_set(
			err, ERR_DENIED, "this API key is restricted to the domain %s", op->domain);
	if (op->domain)
		given = op->domain;
	if (given == NULL)
		return 0;
	if (addr_domain_normalize(given, &name, err) < 0)
		return -1;
	found = store_domain_find_own(op->db, company_id, name, &domain, err);
	if (found < 0)
		return -1;
	if (found == 0)
		return op_refuse(op, err, "domain", "is no domain of the company: %s", name);
	store_domain_clear(&domain);
	*name_r = TAKE_PTR(name);
	return 0;
}

static int add_webhook(struct op *op, const void *arg, struct err *err)
{
	const struct op_webhook *input = arg;
	const char *company_id = op_company_of(op, input->company_id);
	struct webhook webhook = {.dialect = WEBHOOK_JSON, .enabled = input->enabled != OP_NO};
	int result;

	if (company_id == NULL)
		return op_refuse(op, err, "company_id", "field is missing");
	if (input->endpoint == NULL || input->events == NULL)
		return op_refuse(
			op, err, input->endpoint ? "events" : "endpoint", "field is missing");
	*stpncpy(webhook.company_id, company_id, ID_SIZE - 1) = '\0';
	result = check_endpoint(op, input->endpoint, err);
	if (result == 0)
		result = read_events(op, input->events, &webhook.events, err);
	if (result == 0)
		result = read_domain(op, company_id, input->domain, &webhook.domain, err);
	if (result == 0) {
		webhook.endpoint = mem_strdup(input->endpoint);
		result = store_webhook_add(op->db, &webhook, op->now_us, err);
	}
	if (result == 0)
		result = op_check_limit(op, LIMIT_WEBHOOKS, company_id, err);
	if (result == 0) {
		give_secret(op, &webhook);
		result = give_webhook(op, &webhook, err);
	}
	store_webhook_clear(&webhook);
	return result < 0 ? -1 : 1;
}

static int list(struct op *op, const void *arg, struct err *err)
{
	const struct op_webhook *input = arg;
	struct webhook_scope scope = scope_of(op);
	struct webhook_list webhooks = {0};
	struct page_end end = {0};
	int found;

	scope.company_id = op_company_of(op, input ? input->company_id : NULL);
	scope.in_trouble = input && input->in_trouble == OP_YES;
	found = store_webhook_list(op->db, &scope, &op->page, &webhooks, &end, err);
	if (found <= 0)
		return found;
	op_give_page(op, &store_webhook_type, webhooks.items, webhooks.n, &end);
	for (size_t i = 0; i < webhooks.n && op->actor == OP_USER; i++) {
		struct webhook *webhook = &webhooks.items[i];

		if (store_webhook_count_waiting(op->db, webhook->id, &webhook->waiting, err) < 0)
			return -1;
	}
	return 1;
}

static int get_webhook(struct op *op, const void *arg, struct err *err)
{
	struct webhook webhook;
	int found = find_own(op, &webhook, err);

	(void)arg;
	if (found <= 0)
		return found;
	if (op->actor != OP_USER)
		give_secret(op, &webhook);
	return give_webhook(op, &webhook, err);
}

static int show_secret(struct op *op, const void *arg, struct err *err)
{
	struct webhook webhook;
	int found = find_own(op, &webhook, err);

	(void)arg;
	if (found <= 0)
		return found;
	if (store_audit_add(op->db,
		    &(struct audit_action){.company_id = webhook.company_id,
			    .action = "webhook.secret",
			    .object_id = webhook.id,
			    .object_name = webhook.endpoint},
		    err) < 0) {
		store_webhook_clear(&webhook);
		return -1;
	}
	give_secret(op, &webhook);
	return give_webhook(op, &webhook, err);
}

static int update(struct op *op, const void *arg, struct err *err)
{
	const struct op_webhook *input = arg;
	struct webhook webhook;
	int found = find_own(op, &webhook, err), result = 0;

	if (found <= 0)
		return found;
	if (webhook.dialect == WEBHOOK_FORM && (input->events || input->domain))
		result = err_set(err, ERR_INVALID,
			"the types and the domain of a webhook of the form API are changed over "
			"that one");
	if (result == 0 && input->endpoint) {
		result = check_endpoint(op, input->endpoint, err);
		free(webhook.endpoint);
		webhook.endpoint = mem_strdup(input->endpoint);
	}
	if (result == 0 && input->events) {
		free(webhook.events);
		webhook.events = NULL;
		result = read_events(op, input->events, &webhook.events, err);
	}
	if (result == 0 && input->domain) {
		free(webhook.domain);
		webhook.domain = NULL;
		if (op->domain || *input->domain)
			result = read_domain(
				op, webhook.company_id, input->domain, &webhook.domain, err);
	}
	if (input->enabled != OP_NOT_GIVEN)
		webhook.enabled = input->enabled == OP_YES;
	if (result == 0)
		result = store_webhook_change(op->db, &webhook, err);
	store_webhook_clear(&webhook);
	if (result < 0)
		return -1;
	found = find_own(op, &webhook, err);
	return found > 0 ? give_webhook(op, &webhook, err) : found;
}

static int remove_one(struct op *op, const void *arg, struct err *err)
{
	struct webhook webhook;
	int found = find_own(op, &webhook, err);

	(void)arg;
	if (found <= 0)
		return found;
	found = store_webhook_remove(op->db, webhook.id, err);
	if (give_webhook(op, &webhook, err) < 0)
		return -1;
	return found;
}

static int rotate(struct op *op, const void *arg, struct err *err)
{
	struct webhook webhook;
	int found = find_own(op, &webhook, err);

	(void)arg;
	if (found > 0) {
		found = store_webhook_rotate(op->db, webhook.id, op->now_us, err);
		store_webhook_clear(&webhook);
	}
	if (found > 0)
		found = find_own(op, &webhook, err);
	if (found <= 0)
		return found;
	give_secret(op, &webhook);
	return give_webhook(op, &webhook, err);
}

/* Returns the body of a test event, of the first type of the webhook. The caller frees it. */
static char *test_body(const struct op *op, const struct webhook *webhook, const char *type)
{
	const char *domain = webhook->domain ? webhook->domain : "example.com";
	_cleanup_free_ char *from = mem_printf("test@%s", domain);
	char id[ID_SIZE];
	json_t *body;
	char *text;

	id_new(id);
	if (webhook->dialect == WEBHOOK_FORM)
		body = json_pack(
			"{s:s, s:s, s:s, s:f, s:s, s:s, s:{s:{s:s, s:s, s:s, s:s}, s:[], "
			"s:i}, s:[], s:{}, s:[], s:{s:b}, s:{s:i, s:s, s:s}}",
			"id", id, "event",
			str_eq(type, "permanent_fail") || str_eq(type, "temporary_fail") ? "failed"
											 : type,
			"log-level", "info", "timestamp", (double)op->now_us / 1e6, "recipient",
			"nobody@example.invalid", "recipient-domain", "example.invalid", "message",
			"headers", "to", "nobody@example.invalid", "message-id",
			"test@example.invalid", "from", from, "subject", "Test", "attachments",
			"size", 0, "tags", "user-variables", "campaigns", "flags", "is-test-mode",
			1, "delivery-status", "code", 250, "message", "", "description", "");
	else
		body = json_pack("{s:s, s:o, s:{s:s, s:o, s:s, s:s, s:[s], s:s, s:{}}}", "type",
			type, "created_at", event_json_time(op->now_us), "data", "email_id", id,
			"created_at", event_json_time(op->now_us), "message_id",
			"<test@example.invalid>", "from", from, "to", "nobody@example.invalid",
			"subject", "Test", "tags");
	if (body && (str_eq(type, "permanent_fail") || str_eq(type, "temporary_fail"))) {
		json_object_set_new(
			body, "severity", json_string(*type == 'p' ? "permanent" : "temporary"));
		json_object_set_new(body, "reason", json_string("generic"));
	}
	if (str_eq(type, "email.bounced"))
		json_object_set_new(json_object_get(body, "data"), "bounce",
			json_pack("{s:s, s:s, s:s, s:[]}", "message",
				"Postfix returned a hard bounce message: a test", "type",
				"Permanent", "subType", "General", "diagnosticCode"));
	text = json_dumps(body, JSON_COMPACT);
	json_decref(body);
	return text;
}

/* Returns 0 or -1. */
static int add_test(struct op *op, const struct webhook *webhook, struct webhook_event *event_r,
	struct err *err)
{
	json_t *events = webhook->events ? json_loads(webhook->events, 0, NULL) : NULL;
	struct webhook_event event = {.created_us = op->now_us, .due_us = op->now_us};
	int result;

	store_webhook_event_id(event.id);
	memcpy(event.webhook_id, webhook->id, ID_SIZE);
	event.type = mem_strdup(json_string_value(json_array_get(events, 0)));
	event.body = test_body(op, webhook, event.type);
	json_decref(events);
	result = store_webhook_event_add(op->db, &event, 0, err);
	if (result == 0 && event_r)
		*event_r = event;
	else
		store_webhook_event_clear(&event);
	return result;
}

static int test(struct op *op, const void *arg, struct err *err)
{
	struct webhook_event event;
	struct webhook webhook;
	int found = find_own(op, &webhook, err);

	(void)arg;
	if (found <= 0)
		return found;
	if (!webhook.enabled)
		found = err_set(err, ERR_INVALID, "the webhook is disabled");
	else if (add_test(op, &webhook, &event, err) < 0)
		found = -1;
	else
		op_give(op, &store_webhook_event_type, &event);
	store_webhook_clear(&webhook);
	return found;
}

/* Events and attempts. */

static int find_event(
	const struct op *op, const char *id, struct webhook_event *event_r, struct err *err)
{
	struct webhook webhook;
	int found = find_own(op, &webhook, err);

	if (found <= 0)
		return found;
	found = store_webhook_event_find(op->db, webhook.id, id ? id : "", event_r, err);
	store_webhook_clear(&webhook);
	return found;
}

static int list_events(struct op *op, const void *arg, struct err *err)
{
	struct webhook_event_list events = {0};
	struct page_end end = {0};
	struct webhook webhook;
	int found = find_own(op, &webhook, err);

	(void)arg;
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no such webhook");
	if (found < 0)
		return -1;
	found = store_webhook_event_list(op->db, webhook.id, &op->page, &events, &end, err);
	store_webhook_clear(&webhook);
	if (found > 0)
		op_give_page(op, &store_webhook_event_type, events.items, events.n, &end);
	return found;
}

static int get_event(struct op *op, const void *arg, struct err *err)
{
	const struct op_webhook_event *input = arg;
	struct webhook_event event;
	int found = find_event(op, input->event_id, &event, err);

	if (found > 0)
		op_give(op, &store_webhook_event_type, &event);
	return found;
}

static int list_attempts(struct op *op, const void *arg, struct err *err)
{
	const struct op_webhook_event *input = arg;
	struct webhook_attempt_list attempts = {0};
	struct page_end end = {0};
	struct webhook_event event;
	int found = find_event(op, input->event_id, &event, err);

	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no such event of the webhook");
	if (found < 0)
		return -1;
	found = store_webhook_attempt_list(op->db, event.seq, &op->page, &attempts, &end, err);
	store_webhook_event_clear(&event);
	if (found > 0)
		op_give_page(op, &store_webhook_attempt_type, attempts.items, attempts.n, &end);
	return found;
}

static int replay(struct op *op, const void *arg, struct err *err)
{
	const struct op_webhook_event *input = arg;
	struct webhook_event event;
	struct webhook webhook;
	int found = find_own(op, &webhook, err);

	if (found <= 0)
		return found;
	if (input->event_id == NULL && input->since == 0)
		found = op_refuse(op, err, "since", "field is missing");
	else if (!webhook.enabled)
		found = err_set(err, ERR_INVALID, "the webhook is disabled");
	else
		found = store_webhook_event_replay(
			op->db, webhook.id, input->event_id, input->since, input->until, err);
	store_webhook_clear(&webhook);
	if (found < 0)
		return -1;
	if (input->event_id == NULL) {
		json_object_set_new(op_more(op), "events", json_integer(found));
		return 1;
	}
	if (found > 0)
		found = find_event(op, input->event_id, &event, err);
	if (found > 0)
		op_give(op, &store_webhook_event_type, &event);
	return found;
}

static bool is_of_name(const struct webhook *webhook, const char *name)
{
	_cleanup_free_ char *events = mem_printf("[\"%s\"]", name ? name : "");

	return name == NULL || str_eq(webhook->events, events);
}

/* Lists all webhooks of the domain in the form dialect. Returns 0 or -1. */
static int list_urls(const struct op *op, const struct op_webhook_urls *input,
	struct webhook_list *list_r, struct err *err)
{
	const struct webhook_scope scope = {
		.company_id = op->company_id, .domain = input->domain, .dialect = "form"};
	const struct page page = {.limit = 1000};

	return store_webhook_list(op->db, &scope, &page, list_r, NULL, err) < 0 ? -1 : 0;
}

/* Gives the webhooks of the name, oldest first. Returns the number of names that have any. */
static int give_urls(struct op *op, const struct webhook_list *webhooks, const char *name)
{
	json_t *all = json_object();

	for (size_t i = webhooks->n; i-- > 0;) {
		const struct webhook *webhook = &webhooks->items[i];
		json_t *events = json_loads(webhook->events, 0, NULL), *urls;
		const char *type = json_string_value(json_array_get(events, 0));

		if (type && is_of_name(webhook, name)) {
			urls = json_object_get(json_object_get(all, type), "urls");
			if (urls == NULL)
				json_object_set_new(all, type, json_pack("{s:[]}", "urls"));
			urls = json_object_get(json_object_get(all, type), "urls");
			json_array_append_new(urls, json_string(webhook->endpoint));
		}
		json_decref(events);
	}
	json_object_set_new(op_more(op), "webhooks", all);
	return json_object_size(all) > 0 ? 1 : 0;
}

static int get_urls(struct op *op, const void *arg, struct err *err)
{
	const struct op_webhook_urls *input = arg;
	struct webhook_list webhooks = {0};
	int found;

	if (list_urls(op, input, &webhooks, err) < 0)
		return -1;
	found = give_urls(op, &webhooks, input->name);
	store_webhook_list_free(&webhooks);
	return input->name ? found : 1;
}

static int remove_urls(struct op *op, const void *arg, struct err *err)
{
	const struct op_webhook_urls *input = arg;
	struct webhook_list webhooks = {0};
	int found;

	if (list_urls(op, input, &webhooks, err) < 0)
		return -1;
	found = give_urls(op, &webhooks, input->name);
	for (size_t i = 0; i < webhooks.n && found > 0; i++)
		if (is_of_name(&webhooks.items[i], input->name) &&
			store_webhook_remove(op->db, webhooks.items[i].id, err) < 0)
			found = -1;
	store_webhook_list_free(&webhooks);
	return found;
}

static bool has_url(const char *const *urls, size_t n, const char *url)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(urls[i], url))
			return true;
	return false;
}

/* Removes the webhooks of the name whose URL is not among the given ones. has_url_r: which of these
 * have one that stays. 0 or -1. */
static int keep_urls(struct op *op, const struct op_webhook_urls *input,
	const struct webhook_list *webhooks, bool *has_url_r, struct err *err)
{
	for (size_t i = 0; i < webhooks->n; i++) {
		struct webhook *webhook = &webhooks->items[i];

		if (!is_of_name(webhook, input->name))
			continue;
		if (!has_url(input->urls, input->n, webhook->endpoint)) {
			if (store_webhook_remove(op->db, webhook->id, err) < 0)
				return -1;
			continue;
		}
		for (size_t u = 0; u < input->n; u++)
			has_url_r[u] |= str_eq(input->urls[u], webhook->endpoint);
		/* This API has no other way to enable it again. */
		if (webhook->enabled)
			continue;
		webhook->enabled = true;
		if (store_webhook_change(op->db, webhook, err) < 0)
			return -1;
	}
	return 0;
}

/* Sets the URLs of a name. What waits for a URL that stays is kept. */
static int set_urls(struct op *op, const void *arg, struct err *err)
{
	const struct op_webhook_urls *input = arg;
	bool has_url_already[OP_WEBHOOK_URLS_MAX] = {false};
	struct webhook_list webhooks = {0};
	size_t name = 0;
	int result;

	while (name < ARRAY_SIZE(form_names) && !str_eq(input->name, form_names[name]))
		name++;
	if (name == ARRAY_SIZE(form_names))
		return err_set(err, ERR_INVALID, "there is no webhook \"%.60s\"", input->name);
	if (input->n == 0 || input->n > OP_WEBHOOK_URLS_MAX)
		return err_set(
			err, ERR_INVALID, "a webhook has 1 to %d `url`", OP_WEBHOOK_URLS_MAX);
	if (list_urls(op, input, &webhooks, err) < 0)
		return -1;
	result = keep_urls(op, input, &webhooks, has_url_already, err);
	store_webhook_list_free(&webhooks);
	for (size_t i = 0; i < input->n && result == 0; i++) {
		struct webhook webhook = {.dialect = WEBHOOK_FORM, .enabled = true};

		if (has_url_already[i] || has_url(input->urls, i, input->urls[i]))
			continue;
		result = check_endpoint(op, input->urls[i], err);
		if (result < 0)
			break;
		*stpncpy(webhook.company_id, op->company_id, ID_SIZE - 1) = '\0';
		webhook.domain = mem_strdup(input->domain);
		webhook.endpoint = mem_strdup(input->urls[i]);
		webhook.events = mem_printf("[\"%s\"]", input->name);
		/* The list is ordered by these times. */
		result = store_webhook_add(op->db, &webhook, op->now_us + (int64_t)i, err);
		store_webhook_clear(&webhook);
	}
	if (result < 0 || op_check_limit(op, LIMIT_WEBHOOKS, op->company_id, err) < 0)
		return -1;
	return get_urls(op, input, err);
}

static int add_urls(struct op *op, const void *arg, struct err *err)
{
	const struct op_webhook_urls *input = arg;
	struct webhook_list webhooks = {0};
	bool exists = false;

	if (list_urls(op, input, &webhooks, err) < 0)
		return -1;
	for (size_t i = 0; i < webhooks.n; i++)
		exists |= is_of_name(&webhooks.items[i], input->name);
	store_webhook_list_free(&webhooks);
	if (exists)
		return err_set(err, ERR_EXISTS, "the webhook %s exists already", input->name);
	return set_urls(op, input, err);
}

static int test_urls(struct op *op, const void *arg, struct err *err)
{
	const struct op_webhook_urls *input = arg;
	struct webhook_list webhooks = {0};
	int found = 0;

	if (list_urls(op, input, &webhooks, err) < 0)
		return -1;
	for (size_t i = 0; i < webhooks.n && found >= 0; i++) {
		const struct webhook *webhook = &webhooks.items[i];
		bool meant = input->n == 0 || has_url(input->urls, input->n, webhook->endpoint);

		if (meant && webhook->enabled && is_of_name(webhook, input->name))
			found = add_test(op, webhook, NULL, err) < 0 ? -1 : 1;
	}
	store_webhook_list_free(&webhooks);
	return found;
}

#define INPUT sizeof(struct op_webhook)
#define EVENT sizeof(struct op_webhook_event)
#define URLS  sizeof(struct op_webhook_urls)

const struct operation op_webhook_add = {add_fields, INPUT, .run = add_webhook};
const struct operation op_webhook_list = {list_fields, INPUT, .list = OP_BACKWARDS, .run = list};
const struct operation op_webhook_search = {search_fields, INPUT, .list = OP_SEARCH, .run = list};
const struct operation op_webhook_secret = {.run = show_secret};
const struct operation op_webhook_get = {.run = get_webhook};
const struct operation op_webhook_update = {update_fields, INPUT, .run = update};
const struct operation op_webhook_remove = {.run = remove_one};
const struct operation op_webhook_rotate = {.run = rotate};
const struct operation op_webhook_test = {.run = test};
const struct operation op_webhook_events = {.list = OP_ONWARD, .run = list_events};
const struct operation op_webhook_event = {event_fields, EVENT, .run = get_event};
const struct operation op_webhook_attempts = {
	event_fields, EVENT, .list = OP_ONWARD, .run = list_attempts};
const struct operation op_webhook_replay = {replay_fields, EVENT, .run = replay};
const struct operation op_webhook_urls_get = {.size = URLS, .run = get_urls};
const struct operation op_webhook_urls_add = {.size = URLS, .run = add_urls};
const struct operation op_webhook_urls_set = {.size = URLS, .run = set_urls};
const struct operation op_webhook_urls_remove = {.size = URLS, .run = remove_urls};
const struct operation op_webhook_urls_test = {.size = URLS, .run = test_urls};
