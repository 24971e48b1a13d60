/*
 * admission: checks the head of a request against the columns of its route.
 *
 * Each check returns 0, or -1 with the admission's problem. Their order is in
 * admission_decide(), at the end.
 */
#include "httpd/admission/admission.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/store_domain.h"
#include "httpd/admission/credentials.h"
#include "httpd/admission/key_use.h"
#include "core/policy/rate.h"
#include "httpd/admission/sender.h"
#include "httpd/worker/worker.h"

const char *admission_company(const struct admission *admission)
{
	const char *company_id = admission->session.company_id;

	return *company_id ? company_id : NULL;
}

const char *admission_whose(const struct admission *admission)
{
	const struct session *session = &admission->session;

	if (*admission->key.company_id)
		return admission->key.company_id;
	return *session->company_id ? session->company_id : session->user_id;
}

/* The maximum size of a body that is ignored or small: the worker's loop reads
 * it. */
enum { READ_ON_LOOP_MAX = 64 * 1024 };

/* True if the text can be put into a page and a log unescaped. */
static bool is_plain(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!isalnum((unsigned char)text.data[i]) && !strchr("-._:[]", text.data[i]))
			return false;
	return text.len > 0 && text.len < 256;
}

/* The admin listener answers only to its own names. This is the first thing
 * that an admin behind a new proxy sees, so a browser gets it as a page. */
static int check_host(
	const struct worker *worker, const struct http_head *head, struct admission *admission)
{
	const struct span *host = http_head_field(head, "Host");
	const struct span *types = http_head_field(head, "Accept");
	struct problem *problem = &admission->problem;

	if (!worker->shared->is_admin ||
		host_is_own(head, worker->conf->admin.url, worker->conf->admin.hosts))
		return 0;
	if (is_plain(*host))
		problem_set(problem, PROBLEM_MISDIRECTED,
			"The admin listener is not known by the name %.*s. Give the URL of the "
			"proxy in admin.url, or the name in admin.hosts of postern.conf; or use an "
			"address or localhost.",
			(int)host->len, host->data);
	else
		problem_set(problem, PROBLEM_MISDIRECTED,
			"The field Host has no name of the admin listener.");
	problem->as_page = types &&
			   memmem(types->data, types->len, "text/html", strlen("text/html"));
	return -1;
}

static int find_route(
	const struct worker *worker, const struct http_head *head, struct admission *admission)
{
	struct problem *problem = &admission->problem;
	struct route_match match;

	route_find(worker->shared->routes, head, &match);
	admission->route = match.route;
	memcpy(admission->param, match.param, sizeof(match.param));
	if (match.route)
		return 0;
	if (match.allow[0] == '\0')
		return problem_fixed(problem, PROBLEM_NOT_FOUND);
	problem_fixed(problem, PROBLEM_METHOD);
	snprintf(problem->allow, sizeof(problem->allow), "%s", match.allow);
	return -1;
}

static int find_key(
	struct worker *worker, const struct http_head *head, struct admission *admission)
{
	struct buf token = BUF_INIT;
	bool given = admission->route->auth == AUTH_BASIC ? credentials_basic(head, &token)
							  : credentials_bearer(head, &token);
	uint8_t hash[SECRET_HASH_LEN];
	struct err err = ERR_INIT;
	int found = 0;

	if (given) {
		secret_hash(token.data, token.len, hash);
		found = store_key_find(worker->db, hash, &admission->key, &err);
		secret_wipe(hash, sizeof(hash));
	}
	if (token.data)
		secret_wipe(token.data, token.len);
	buf_free(&token);
	if (found < 0) {
		log_error(worker->log, "key_lookup_failed", "error", err.text);
		return problem_from_err(&admission->problem, &err);
	}
	if (found == 0)
		return problem_fixed(
			&admission->problem, given ? PROBLEM_INVALID_KEY : PROBLEM_MISSING_KEY);
	key_use_note(worker->keys, &admission->key, clock_now_us(worker->shared->clock));
	return 0;
}

/* A token is accepted only in the Authorization field, a browser session only
 * in the cookie, so neither can be used in place of the other. */
static int find_session(
	struct worker *worker, const struct http_head *head, struct admission *admission)
{
	int64_t now_us = clock_now_us(worker->shared->clock);
	int64_t idle_us = now_us - worker->conf->admin.session_idle_ms * 1000;
	struct session *session = &admission->session;
	struct buf token = BUF_INIT;
	bool bearer = credentials_bearer(head, &token);
	enum session_kind kind = bearer ? SESSION_TOKEN : SESSION_BROWSER;
	uint8_t hash[SECRET_HASH_LEN];
	struct err err = ERR_INIT;
	int found = 0;

	if (bearer || credentials_cookie(head, &token)) {
		secret_hash(token.data, token.len, hash);
		found = store_session_find(worker->db, hash, now_us, idle_us, session, &err);
		secret_wipe(token.data, token.len);
		secret_wipe(hash, sizeof(hash));
	}
	buf_free(&token);
	if (found < 0) {
		log_error(worker->log, "session_lookup_failed", "error", err.text);
		return problem_from_err(&admission->problem, &err);
	}
	if (found > 0 && session->kind != kind) {
		store_session_clear(session);
		found = 0;
	}
	if (found == 0)
		return problem_fixed(&admission->problem, PROBLEM_LOGIN);
	/* Polling by a page that nobody looks at is not a use of the session:
	 * an unused login ends, even if its browser was left open. */
	if (!admission->route->unattended && http_head_field(head, "Postern-Unattended") == NULL)
		key_use_note_session(worker->keys, session, now_us);
	return 0;
}

/* A browser sends the cookie by itself (CSRF), so a request that changes
 * something must come from one of our pages. */
static int check_origin(
	struct worker *worker, const struct http_head *head, struct admission *admission)
{
	bool changes = !span_is(head->method, "GET") && !span_is(head->method, "HEAD");
	bool cookie = admission->route->auth == AUTH_USER &&
		      admission->session.kind == SESSION_BROWSER;
	enum page_origin origin = page_origin_of(head, worker->conf->admin.url);

	if (!changes || origin == PAGE_OWN || (origin == PAGE_NONE && !cookie))
		return 0;
	return problem_set(&admission->problem, PROBLEM_FORBIDDEN,
		"The request does not come from a page of this server: Origin or Sec-Fetch-Site "
		"say otherwise, or are missing.");
}

static int check_user(
	struct worker *worker, const struct http_head *head, struct admission *admission)
{
	const struct route *route = admission->route;

	if (find_session(worker, head, admission) < 0 || check_origin(worker, head, admission) < 0)
		return -1;
	if (route->operators && admission_company(admission))
		return problem_set(
			&admission->problem, PROBLEM_FORBIDDEN, "Only operators may do this.");
	if (route->makes_login && admission->session.kind == SESSION_TOKEN &&
		admission->session.expires_us)
		return problem_set(&admission->problem, PROBLEM_FORBIDDEN,
			"A token that ends makes no logins: they would outlast it.");
	if (admission->session.role < route->role)
		return problem_fixed(&admission->problem, PROBLEM_FORBIDDEN);
	return 0;
}

/* True if the route needs no login here: only clients on this host can reach
 * the listener, and the request is not from a page of another site. */
static bool is_open(const struct worker *worker, const struct http_head *head,
	const struct admission *admission)
{
	const struct conf *conf = worker->conf;

	return admission->route->on_loopback && !admission->by_proxy &&
	       worker->shared->on_loopback && conf->admin.metrics == METRICS_LOOPBACK &&
	       str_empty(conf->admin.url) && page_origin_of(head, "") != PAGE_FOREIGN &&
	       host_is_address(head);
}

int admission_take_rate_token(struct worker *worker, struct admission *admission, const char *whose,
	const struct rate_limit *limit, struct problem *problem)
{
	if (rate_table_take(
		    worker->shared->rates, whose, limit, clock_monotonic_us(), &admission->rate))
		return 0;
	problem_set(problem, PROBLEM_RATE,
		"Too many requests. You can only make %" PRId64 " requests per second.",
		limit->per_s);
	problem->retry_after_s = (int)admission->rate.retry_s;
	return -1;
}

int admission_take_company_token(struct worker *worker, struct admission *admission,
	const char *company_id, struct problem *problem)
{
	int64_t per_s = worker->conf->http.rate_limit;
	int64_t burst = worker->conf->http.rate_burst;
	const struct rate_limit limit = {per_s, burst ? burst : per_s};

	return per_s == 0
		       ? 0
		       : admission_take_rate_token(worker, admission, company_id, &limit, problem);
}

static int check_scope(struct admission *admission)
{
	unsigned wanted = admission->route->scopes;

	if (admission->key.scopes & wanted)
		return 0;
	if (wanted == KEY_SENDING)
		return problem_set(&admission->problem, PROBLEM_RESTRICTED_KEY,
			"This API key is not allowed to send emails.");
	if (admission->key.scopes == KEY_SENDING)
		return problem_set(&admission->problem, PROBLEM_RESTRICTED_KEY,
			"This API key is restricted to only send emails.");
	return problem_set(&admission->problem, PROBLEM_RESTRICTED_KEY,
		"This API key is not allowed to make this request.");
}

static int no_domain(struct admission *admission)
{
	return problem_set(
		&admission->problem, PROBLEM_NOT_FOUND, "Domain not found: %s", admission->param);
}

/* For routes that read a domain. A key that is bound to another domain gets
 * 404. */
static int check_own_domain(struct worker *worker, struct admission *admission)
{
	const struct key *key = &admission->key;
	_cleanup_free_ char *name = NULL;
	struct err err = ERR_INIT;
	struct domain domain;
	int found;

	if (check_scope(admission) < 0)
		return -1;
	if (addr_domain_normalize(admission->param, &name, &err) < 0 ||
		(key->domain && !str_eq(key->domain, name)))
		return no_domain(admission);
	found = store_domain_find_own(worker->db, key->company_id, name, &domain, &err);
	if (found < 0) {
		log_error(worker->log, "domain_lookup_failed", "error", err.text);
		return problem_from_err(&admission->problem, &err);
	}
	if (found == 0)
		return no_domain(admission);
	store_domain_clear(&domain);
	snprintf(admission->param, sizeof(admission->param), "%s", name);
	return 0;
}

static int check_domain(struct worker *worker, struct admission *admission)
{
	_cleanup_free_ char *name = NULL;
	struct err err = ERR_INIT;

	if (!(admission->route->scopes & KEY_SENDING))
		return check_own_domain(worker, admission);
	if (addr_domain_normalize(admission->param, &name, &err) < 0)
		return no_domain(admission);
	if (sender_check(worker, &admission->key, name, SENDER_OF_PATH, NULL, &admission->problem) <
		0)
		return -1;
	snprintf(admission->param, sizeof(admission->param), "%s", name);
	return 0;
}

/* The maximum length of a media type quoted in an answer, in bytes. */
enum { TYPE_QUOTED_MAX = 100 };

/* JSON and forms escape some bytes, so a body may be twice as long as its
 * message, but never larger than the memory quota allows. */
static uint64_t body_limit(const struct admission_limits *limits, const struct route *route)
{
	uint64_t limit = (uint64_t)limits->message * 2;
	uint64_t most = (uint64_t)limits->memory / BUDGET_FACTOR;

	if (route->body != BODY_JSON && route->body != BODY_FORM)
		return READ_ON_LOOP_MAX;
	return limit < most ? limit : most;
}

/* The media type must be application/json, with any parameters. */
static int check_json(const struct http_head *head, struct problem *problem)
{
	static const char json[] = "application/json";
	const size_t len = sizeof(json) - 1;
	const struct span *type = http_head_field(head, "Content-Type");

	if (type == NULL || type->len == 0)
		return problem_fixed(problem, PROBLEM_MEDIA_TYPE);
	if (type->len >= len && str_starts_nocase(type->data, json) &&
		(type->len == len || strchr("; \t", type->data[len])))
		return 0;
	return problem_set(problem, PROBLEM_MEDIA_TYPE,
		"The Content-Type must be application/json, not %.*s.",
		type->len < TYPE_QUOTED_MAX ? (int)type->len : TYPE_QUOTED_MAX, type->data);
}

static int check_body(
	struct worker *worker, const struct http_head *head, struct admission *admission)
{
	enum route_body body = admission->route->body;

	if ((body == BODY_JSON || body == BODY_JSON_SMALL) &&
		check_json(head, &admission->problem) < 0)
		return -1;
	admission->body_limit = body_limit(&admission->limits, admission->route);
	if (head->framing != HTTP_LENGTH)
		return 0;
	return admission_grow(worker, admission, head->length, &admission->problem);
}

enum { MIB = 1024 * 1024 };

int admission_too_large(const struct admission *admission, struct problem *problem)
{
	uint64_t limit = admission->body_limit;

	return problem_set(problem, PROBLEM_TOO_LARGE,
		"request size exceeds %" PRIu64 " %s limit (%" PRIu64 " bytes)",
		limit < MIB ? limit / 1024 : limit / MIB, limit < MIB ? "KiB" : "MiB", limit);
}

/* Logs what does not fit. Returns 0, or -1 with the problem. A caller without a
 * key or login has no company. */
static int tell_of_memory(const struct worker *worker, const struct admission *admission,
	enum budget_result result, uint64_t bytes, struct problem *problem)
{
	bool own = result == BUDGET_COMPANY_FULL && *admission_whose(admission);

	if (result == BUDGET_TAKEN)
		return 0;
	log_warn(worker->log, "over_budget", "bytes", LOG_INT((int64_t)bytes), "full",
		own ? "company" : "all");
	return problem_set(problem, PROBLEM_UNAVAILABLE,
		own ? "Your company's requests hold as much memory as they may have now. "
		      "Please try again."
		    : "The service has no memory for the request now. Please try again.");
}

static int too_much_memory(
	const struct admission *admission, uint64_t bytes, struct problem *problem)
{
	return problem_set(problem, PROBLEM_TOO_LARGE,
		"request size exceeds %" PRId64
		" MiB limit: it takes as much "
		"memory as %" PRIu64 " bytes (see http.max_inflight_bytes)",
		admission->limits.memory / BUDGET_FACTOR / MIB, bytes);
}

int admission_reserve_body(
	struct worker *worker, struct admission *admission, uint64_t bytes, struct problem *problem)
{
	int64_t limit = admission->limits.memory;

	if (bytes > (uint64_t)limit / BUDGET_FACTOR)
		return too_much_memory(admission, bytes, problem);
	return tell_of_memory(worker, admission,
		budget_reserve_body(worker->shared->budget, limit, admission_whose(admission),
			bytes, &admission->share),
		bytes, problem);
}

int admission_count_bytes(
	struct worker *worker, struct admission *admission, uint64_t bytes, struct problem *problem)
{
	int64_t limit = admission->limits.memory;
	uint64_t all = (uint64_t)admission->share.held + bytes;

	if (all < bytes || all > (uint64_t)limit)
		return too_much_memory(admission, all / BUDGET_FACTOR, problem);
	return tell_of_memory(worker, admission,
		budget_count_bytes(worker->shared->budget, limit, admission_whose(admission), bytes,
			&admission->share),
		bytes, problem);
}

int admission_reserve_answer(
	struct worker *worker, struct admission *admission, uint64_t bytes, struct problem *problem)
{
	return tell_of_memory(worker, admission,
		budget_reserve_answer(worker->shared->budget, admission->limits.memory,
			admission_whose(admission), bytes, &admission->share),
		bytes, problem);
}

int admission_take_slots(
	struct worker *worker, struct admission *admission, size_t emails, struct problem *problem)
{
	switch (slots_take(&worker->shared->budget->requests, admission->limits.requests,
		admission_whose(admission), (int64_t)emails, &admission->share.requests)) {
	case SLOTS_TAKEN:
		return 0;
	case SLOTS_COMPANY_FULL:
		return problem_set(problem, PROBLEM_UNAVAILABLE,
			"Your company has too many requests under way now. Please try again.");
	default:
		return problem_set(problem, PROBLEM_UNAVAILABLE,
			"The service has too many requests to handle now. Please try again.");
	}
}

int admission_grow(struct worker *worker, struct admission *admission, uint64_t body_bytes,
	struct problem *problem)
{
	if (body_bytes > admission->body_limit)
		return admission_too_large(admission, problem);
	return admission_reserve_body(worker, admission, body_bytes, problem);
}

static int check_caller(
	struct worker *worker, const struct http_head *head, struct admission *admission)
{
	int allowed;

	if (admission->route->auth == AUTH_NONE || is_open(worker, head, admission))
		return 0;
	database_watch_look(&worker->database_watch, clock_monotonic_us());
	if (worker->database_watch.gone)
		return problem_fixed(&admission->problem, PROBLEM_UNAVAILABLE);
	if (admission->route->auth == AUTH_LOGIN)
		return check_origin(worker, head, admission);
	if (admission->route->auth == AUTH_USER)
		return check_user(worker, head, admission) < 0
			       ? -1
			       : admission_take_slots(worker, admission, 1, &admission->problem);
	if (find_key(worker, head, admission) < 0 ||
		admission_take_company_token(
			worker, admission, admission->key.company_id, &admission->problem) < 0)
		return -1;
	allowed = admission->route->names_domain ? check_domain(worker, admission)
						 : check_scope(admission);
	if (allowed < 0)
		return -1;
	return admission_take_slots(worker, admission, 1, &admission->problem);
}

static int read_idempotency_key(const struct http_head *head, struct admission *admission)
{
	int given = admission->route->idempotent
			    ? idempotency_key_read(head, admission->idempotency_key)
			    : 0;

	if (given < 0)
		return problem_fixed(&admission->problem, PROBLEM_IDEMPOTENCY_KEY);
	admission->has_idempotency_key = given > 0;
	return 0;
}

void admission_decide(struct worker *worker, const struct http_head *head, bool by_proxy,
	struct admission *admission_r)
{
	memset(admission_r, 0, sizeof(*admission_r));
	admission_r->is_admin = worker->shared->is_admin;
	admission_r->by_proxy = by_proxy;
	admission_r->limits = (struct admission_limits){
		.memory = worker->conf->http.max_inflight_bytes,
		.requests = worker->conf->http.max_requests,
		.message = worker->conf->http.max_message_bytes,
		.recipients = worker->conf->http.max_recipients,
	};
	if (worker->postfix_limit > 0 && worker->postfix_limit < admission_r->limits.message)
		admission_r->limits.message = worker->postfix_limit;
	if (check_host(worker, head, admission_r) == 0 &&
		find_route(worker, head, admission_r) == 0 &&
		check_caller(worker, head, admission_r) == 0 &&
		read_idempotency_key(head, admission_r) == 0 &&
		check_body(worker, head, admission_r) == 0)
		return;
	/* The client may take a while to read the refusal. */
	budget_give_back(&admission_r->share);
}

int64_t admission_recipients(const struct admission *admission, int64_t own)
{
	return admission->limits.recipients ? admission->limits.recipients : own;
}

void admission_clear(struct admission *admission)
{
	budget_give_back(&admission->share);
	store_key_clear(&admission->key);
	store_session_clear(&admission->session);
}
