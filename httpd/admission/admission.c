/*
 * admission: checks the head of a request against the columns of its route.
 *
 * Each check returns 0, or -1 with the admission's problem. Their order is in
 * admission_begin() and admission_end(), at the end.
 */
#include "httpd/admission/admission.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/policy/rate.h"
#include "httpd/admission/credentials.h"
#include "httpd/admission/key_use.h"
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
	/* http_head_parse() lets no character pass that a page or a log would have to escape. */
	if (host->len > 0 && host->len < 256)
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

/* Asks for the row of the caller's key. What does not have the form of a key is refused without
 * asking, also while the database is away. */
static int ask_for_key(const struct worker *worker, const struct http_head *head,
	struct admission *admission, struct admission_rows *rows)
{
	_cleanup_secret_buf_ struct buf token = BUF_INIT;
	bool given = admission->route->auth == AUTH_BASIC ? credentials_basic(head, &token)
							  : credentials_bearer(head, &token);
	bool is_key = given && secret_is_token(token.data, token.len);
	_cleanup_free_ char *name = NULL;

	if (!is_key)
		return problem_fixed(
			&admission->problem, given ? PROBLEM_INVALID_KEY : PROBLEM_MISSING_KEY);
	secret_hash(token.data, token.len, rows->hash);
	rows->kind = ROWS_KEY;
	rows->domain[0] = '\0';
	/* The body may arrive slowly, and nothing accounts for the row meanwhile. */
	rows->reads_row = admission->route->read && worker->shared->lookups &&
			  head->framing == HTTP_NO_BODY;
	rows->admission = admission;
	rows->query = head->query;
	rows->row = NULL;
	if (admission->route->names_domain &&
		addr_domain_normalize(admission->param, &name, NULL) == 0)
		snprintf(rows->domain, sizeof(rows->domain), "%s", name);
	return 0;
}

/* Asks for the row of the caller's session. A token is accepted only in the Authorization field, a
 * browser session only in the cookie, so neither can be used in place of the other. */
static int ask_for_session(const struct worker *worker, const struct http_head *head,
	struct admission *admission, struct admission_rows *rows)
{
	const struct span *host = http_head_field(head, "Host");
	char cookie_name[SESSION_COOKIE_SIZE];
	_cleanup_secret_buf_ struct buf token = BUF_INIT;
	bool bearer = credentials_bearer(head, &token), is_token;

	credentials_cookie_name(
		host ? *host : (struct span){NULL, 0}, worker->conf->admin.url, cookie_name);
	is_token = (bearer || credentials_cookie(head, cookie_name, &token)) &&
		   secret_is_user_token(token.data, token.len);
	if (!is_token)
		return problem_fixed(&admission->problem, PROBLEM_LOGIN);
	secret_hash(token.data, token.len, rows->hash);
	rows->kind = ROWS_SESSION;
	rows->session_kind = bearer ? SESSION_TOKEN : SESSION_BROWSER;
	rows->now_us = clock_now_us(worker->shared->clock);
	rows->idle_us = rows->now_us - worker->conf->admin.session_idle_ms * 1000;
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
		"say otherwise, or are missing. Behind a proxy, set admin.url to the address that "
		"browsers use.");
}

static int check_user(struct worker *worker, const struct http_head *head,
	struct admission *admission, struct admission_rows *rows)
{
	const struct route *route = admission->route;

	if (!rows->found)
		return problem_fixed(&admission->problem, PROBLEM_LOGIN);
	admission->session = TAKE(rows->session);
	/* Polling by a page that nobody looks at is not a use of the session:
	 * an unused login ends, even if its browser was left open. */
	if (!route->unattended && http_head_field(head, "Postern-Unattended") == NULL)
		key_use_note_session(worker->keys, &admission->session, rows->now_us);
	if (check_origin(worker, head, admission) < 0)
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

static int domain_not_found(struct admission *admission)
{
	return problem_set(
		&admission->problem, PROBLEM_NOT_FOUND, "Domain not found: %s", admission->param);
}

/* A route that reads a domain answers 404 to a key that is bound to another one; a route that
 * sends says why the key may not send as it. */
static int check_domain(struct admission *admission, const struct admission_rows *rows)
{
	const struct key *key = &admission->key;
	const char *name = rows->domain;
	bool sends = admission->route->scopes & KEY_SENDING;

	if (!sends && check_scope(admission) < 0)
		return -1;
	if (*name == '\0')
		return domain_not_found(admission);
	if (sends && sender_check(key, name, rows->status, SENDER_OF_PATH, &admission->problem) < 0)
		return -1;
	if (!sends &&
		((key->domain && !str_eq(key->domain, name)) || rows->status == DOMAIN_NOT_OWN))
		return domain_not_found(admission);
	snprintf(admission->param, sizeof(admission->param), "%s", name);
	return 0;
}

static int check_key(
	struct worker *worker, struct admission *admission, struct admission_rows *rows)
{
	if (!rows->found)
		return problem_fixed(&admission->problem, PROBLEM_INVALID_KEY);
	admission->key = TAKE(rows->key);
	admission->row = TAKE_PTR(rows->row);
	key_use_note(worker->keys, &admission->key, clock_now_us(worker->shared->clock));
	if (admission_take_company_token(
		    worker, admission, admission->key.company_id, &admission->problem) < 0)
		return -1;
	return admission->route->names_domain ? check_domain(admission, rows)
					      : check_scope(admission);
}

/* The maximum length of a media type quoted in an answer, in bytes. */
enum { TYPE_QUOTED_MAX = 100 };

/* The maximum size of a body that is ignored or small: the worker's loop reads
 * it. */
enum { READ_ON_LOOP_MAX = 64 * 1024 };

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

enum { MIB = 1024 * 1024 };

int admission_too_large(const struct admission *admission, struct problem *problem)
{
	uint64_t limit = admission->body_limit;

	return problem_set(problem, PROBLEM_TOO_LARGE,
		"request size exceeds %" PRIu64 " %s limit (%" PRIu64 " bytes)",
		limit < MIB ? limit / 1024 : limit / MIB, limit < MIB ? "KiB" : "MiB", limit);
}

/* The media type must be application/json, with any parameters, and the body not encoded. */
static int check_json(const struct http_head *head, struct problem *problem)
{
	static const char json[] = "application/json";
	const size_t len = sizeof(json) - 1;
	const struct span *type = http_head_field(head, "Content-Type");
	const struct span *coding = http_head_field(head, "Content-Encoding");

	if (coding && coding->len > 0 && !span_is_nocase(*coding, "identity"))
		return problem_set(problem, PROBLEM_MEDIA_TYPE,
			"Content-Encoding %.*s is not supported",
			coding->len < TYPE_QUOTED_MAX ? (int)coding->len : TYPE_QUOTED_MAX,
			coding->data);
	if (type == NULL || type->len == 0)
		return problem_fixed(problem, PROBLEM_MEDIA_TYPE);
	if (type->len >= len && str_starts_nocase(type->data, json) &&
		(type->len == len || strchr("; \t", type->data[len])))
		return 0;
	return problem_set(problem, PROBLEM_MEDIA_TYPE,
		"The Content-Type must be application/json, not %.*s.",
		type->len < TYPE_QUOTED_MAX ? (int)type->len : TYPE_QUOTED_MAX, type->data);
}

/* The result of a reservation of memory: returns 0, or logs that it did not fit and returns -1 with
 * the problem. A caller without a key or login has no company. */
static int check_reserved(const struct worker *worker, const struct admission *admission,
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
	return check_reserved(worker, admission,
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
	return check_reserved(worker, admission,
		budget_count_bytes(worker->shared->budget, limit, admission_whose(admission), bytes,
			&admission->share),
		bytes, problem);
}

int admission_reserve_answer(
	struct worker *worker, struct admission *admission, uint64_t bytes, struct problem *problem)
{
	return check_reserved(worker, admission,
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

/* While the database is away, requests that need it are refused at once. */
static int check_database(struct worker *worker, struct admission *admission)
{
	database_watch_look(&worker->database_watch, clock_monotonic_us());
	return worker->database_watch.gone ? problem_fixed(&admission->problem, PROBLEM_UNAVAILABLE)
					   : 0;
}

/* Returns 1 if rows are needed to decide whether the caller may make the request, 0 if not, or -1
 * with the problem. */
static int ask_for_caller(struct worker *worker, const struct http_head *head,
	struct admission *admission, struct admission_rows *rows)
{
	int asked;

	if (admission->route->auth == AUTH_NONE || is_open(worker, head, admission))
		return 0;
	if (admission->route->auth == AUTH_LOGIN)
		return check_database(worker, admission) < 0
			       ? -1
			       : check_origin(worker, head, admission);
	asked = admission->route->auth == AUTH_USER ? ask_for_session(worker, head, admission, rows)
						    : ask_for_key(worker, head, admission, rows);
	return asked < 0 || check_database(worker, admission) < 0 ? -1 : 1;
}

/* Checks what the head says about the request itself, once its caller is known. */
static void check_request(const struct http_head *head, struct admission *admission)
{
	const struct route *route = admission->route;
	struct problem *problem = &admission->problem;
	int key = route->idempotent ? idempotency_key_read(head, admission->idempotency_key) : 0;

	if (key < 0) {
		problem_fixed(problem, PROBLEM_IDEMPOTENCY_KEY);
		return;
	}
	admission->has_idempotency_key = key > 0;
	if ((route->body == BODY_JSON || route->body == BODY_JSON_SMALL) &&
		check_json(head, problem) < 0)
		return;
	admission->body_limit = body_limit(&admission->limits, route);
	if (head->framing != HTTP_LENGTH)
		return;
	if (head->length > admission->body_limit)
		admission_too_large(admission, problem);
	else
		admission->body_bytes = head->length;
}

static void drop_row(struct admission *admission)
{
	if (admission->row)
		admission->route->row_free(TAKE_PTR(admission->row));
}

/* A refused request holds no memory while its client reads the refusal. */
static void release_refused(struct admission *admission)
{
	if (admission->problem.kind == PROBLEM_NONE)
		return;
	budget_give_back(&admission->share);
	drop_row(admission);
}

bool admission_begin(struct worker *worker, const struct http_head *head, bool by_proxy,
	struct admission *admission_r, struct admission_rows *rows_r)
{
	struct problem *problem = &admission_r->problem;
	struct route_match match;
	int asked = -1;

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
	if (check_host(worker, head, admission_r) == 0) {
		route_find(worker->shared->routes, head, &match);
		admission_r->route = match.route;
		memcpy(admission_r->param, match.param, sizeof(match.param));
		if (match.route) {
			asked = ask_for_caller(worker, head, admission_r, rows_r);
		} else if (match.allow[0]) {
			problem_fixed(problem, PROBLEM_METHOD);
			snprintf(problem->allow, sizeof(problem->allow), "%s", match.allow);
		} else {
			problem_fixed(problem, PROBLEM_NOT_FOUND);
		}
	}
	if (asked == 0)
		check_request(head, admission_r);
	release_refused(admission_r);
	return asked > 0;
}

bool admission_announces(const struct admission_rows *rows)
{
	return rows->kind == ROWS_KEY && str_empty(rows->domain);
}

void admission_announce(struct db *db, const struct admission_rows *rows)
{
	if (rows->reads_row)
		rows->admission->route->announce(db, rows);
	else
		store_key_find_ahead(db, rows->hash);
}

int admission_read(struct db *db, struct admission_rows *rows, struct err *err)
{
	int found;

	if (rows->kind == ROWS_SESSION) {
		found = store_session_find(
			db, rows->hash, rows->now_us, rows->idle_us, &rows->session, err);
		rows->found = found > 0 && rows->session.kind == rows->session_kind;
		if (found > 0 && !rows->found)
			store_session_clear(&rows->session);
		return found < 0 ? -1 : 0;
	}
	found = rows->reads_row ? rows->admission->route->read(db, rows, err)
				: store_key_find(db, rows->hash, &rows->key, err);
	rows->found = found > 0;
	if (found <= 0 || str_empty(rows->domain) ||
		sender_look_up(db, rows->key.company_id, rows->domain, &rows->status, err) == 0)
		return found < 0 ? -1 : 0;
	store_key_clear(&rows->key);
	return -1;
}

void admission_end(struct worker *worker, const struct http_head *head, struct admission *admission,
	struct admission_rows *rows, int result, const struct err *err)
{
	int allowed;

	secret_wipe(rows->hash, sizeof(rows->hash));
	if (result < 0) {
		log_error(worker->log,
			rows->kind == ROWS_KEY ? "key_lookup_failed" : "session_lookup_failed",
			"error", err->text);
		problem_from_err(&admission->problem, err);
		return;
	}
	allowed = rows->kind == ROWS_KEY ? check_key(worker, admission, rows)
					 : check_user(worker, head, admission, rows);
	admission->takes_slot = allowed == 0;
	if (allowed == 0)
		check_request(head, admission);
	release_refused(admission);
}

bool admission_has_room(struct worker *worker, struct admission *admission)
{
	struct budget *budget = worker->shared->budget;
	const struct admission_limits *limits = &admission->limits;
	const char *whose = admission_whose(admission);

	if (admission->problem.kind != PROBLEM_NONE)
		return true;
	if ((!admission->takes_slot || slots_take(&budget->requests, limits->requests, whose, 1,
					       &admission->share.requests) == SLOTS_TAKEN) &&
		budget_reserve_body(budget, limits->memory, whose, admission->body_bytes,
			&admission->share) == BUDGET_TAKEN)
		return true;
	/* Nothing accounts for the row while the request waits. */
	drop_row(admission);
	return false;
}

void admission_insist_on_room(struct worker *worker, struct admission *admission)
{
	struct problem *problem = &admission->problem;

	if (!admission->takes_slot || admission_take_slots(worker, admission, 1, problem) == 0)
		(void)admission_reserve_body(worker, admission, admission->body_bytes, problem);
	release_refused(admission);
}

int64_t admission_recipients(const struct admission *admission, int64_t own)
{
	return admission->limits.recipients ? admission->limits.recipients : own;
}

void admission_clear(struct admission *admission)
{
	drop_row(admission);
	budget_give_back(&admission->share);
	store_key_clear(&admission->key);
	store_session_clear(&admission->session);
}
