/*
 * sender: sends the webhook events that are due.
 *
 * Each endpoint has a queue of its own and at most webhook.connections attempts under way.
 * Endpoints take turns. So that none delays the others:
 *
 *   - A company has at most a quarter of webhook.max_connections once half of them are taken.
 *   - An endpoint is failing if it did not answer its last attempt, or answered that it cannot. It
 *     has one attempt at a time, with growing pauses between them. All failing endpoints together
 *     have half of webhook.max_connections.
 *
 * A queue holds numbers of events only. The body of an event is read when its attempt starts, so
 * memory is bounded by the number of attempts, not by what waits. An event that was read stays out
 * of its queue until its outcome is written. Outcomes are written together, since each transaction
 * makes other writers wait.
 */
#include "webhook/sender.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/store/webhook/store_webhook_event.h"
#include "webhook/http_client.h"
#include "webhook/leases.h"
#include "webhook/signature.h"

enum {
	QUEUE_MAX = 256,     /* events of an endpoint that are read from the store at once */
	QUEUE_LOW = 64,      /* fewer than this: read more */
	OUTCOMES_MANY = 128, /* are written without waiting for more */
	OUTCOMES_MAX = 1024, /* while the store cannot be written: no attempt starts then */
	OUTCOME_WAIT_MS = 20,
	FAILURES_FREE = 3, /* failures in a row that cause no pause: one alone says little */
	PAUSE_MAX_S = 60,
	NOTE_US = 1000 * 1000, /* between two notes that an endpoint still works, or still fails */
};

/* The pause after each failed attempt; three days in all. */
static const int64_t pauses_s[] = {
	5, 300, 1800, 7200, 5 * 3600, 10 * 3600, 10 * 3600, 20 * 3600, 24 * 3600};
#define LONGEST_PAUSE_US DAY_US

struct company {
	char id[ID_SIZE];
	size_t endpoints; /* of it that are known here */
	size_t under_way;
	struct company *next;
};

struct endpoint {
	struct webhook webhook;
	struct company *company;
	int64_t queue[QUEUE_MAX]; /* seq of events that are due, from `first` to `end` */
	size_t first, end;
	size_t under_way;
	bool has_more;     /* the store may have more that is due */
	unsigned failures; /* attempts in a row that count against the endpoint */
	int64_t paused_until_us;
	bool is_due; /* the last look at the store found something */
	struct endpoint *next;
};

/* An attempt that is under way, or that is over and not yet recorded. */
struct attempt {
	struct sender *sender;
	struct endpoint *endpoint;
	struct webhook_event event;
	int64_t was_due_us;
	struct buf form_body; /* of the form API, where each attempt has its own; else empty */
	bool to_failing;      /* the endpoint was failing when it started */
	bool has_failed;
	struct webhook_attempt row;
	struct attempt *next;
};

struct sender {
	struct db *db;
	struct leases *leases;
	struct log *log;
	const struct conf *conf;
	struct http_client *client;
	struct company *companies;
	struct endpoint *endpoints; /* the next one to be served first */
	struct attempt *under_way;
	size_t under_way_n;
	size_t to_failing_n;   /* of these, to failing endpoints */
	struct attempt *ended; /* to be recorded, the newest first */
	size_t ended_n;
	int64_t ended_since_us;
	int64_t offset_us; /* of clock_put_back_us(); 0 before the first look */
	struct sender_counts counts;
};

static size_t queue_len(const struct endpoint *endpoint)
{
	return endpoint->end - endpoint->first;
}

/* Companies and endpoints. */

static struct company *join_company(struct sender *sender, const char *id)
{
	struct company *company = sender->companies;

	while (company && !str_eq(company->id, id))
		company = company->next;
	if (company == NULL) {
		company = mem_new(struct company);
		*company = (struct company){.next = sender->companies};
		memcpy(company->id, id, ID_SIZE);
		sender->companies = company;
	}
	company->endpoints++;
	return company;
}

static void free_endpoint(struct sender *sender, struct endpoint *endpoint)
{
	struct company **link = &sender->companies, *company = endpoint->company;

	if (--company->endpoints == 0) {
		while (*link != company)
			link = &(*link)->next;
		*link = company->next;
		free(company);
	}
	store_webhook_clear(&endpoint->webhook);
	free(endpoint);
}

/* Starting attempts. */

static bool may_start(const struct sender *sender, const struct endpoint *endpoint)
{
	const struct conf_webhook *conf = &sender->conf->webhook;
	size_t most = (size_t)conf->max_connections;

	if (sender->under_way_n >= most || sender->ended_n >= OUTCOMES_MAX)
		return false;
	if (sender->under_way_n >= most / 2 && endpoint->company->under_way >= (most + 3) / 4)
		return false;
	if (endpoint->failures == 0)
		return endpoint->under_way < (size_t)conf->connections;
	return endpoint->under_way == 0 && sender->to_failing_n < most / 2 &&
	       clock_monotonic_us() >= endpoint->paused_until_us;
}

/* Signs the event as of now: the fields of the header, and for the form API the body. Receivers
 * know one set of names or the other, so both are sent. */
static void sign(struct attempt *attempt, struct strv *fields)
{
	static const char *const prefixes[] = {"svix", "webhook"};
	const struct webhook *webhook = &attempt->endpoint->webhook;
	const struct webhook_event *event = &attempt->event;
	int64_t now_us = clock_now_us(&clock_system);
	_cleanup_free_ char *time = mem_printf("%lld", (long long)(now_us / SECOND_US));
	_cleanup_buf_ struct buf signature = BUF_INIT;

	attempt->row.sent_us = now_us;
	strv_add(fields, "Content-Type: application/json");
	if (webhook->dialect == WEBHOOK_FORM) {
		signature_form(webhook, event->body, now_us, &attempt->form_body);
		return;
	}
	signature_standard(
		webhook, event->id, event->body, strlen(event->body), now_us, &signature);
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		strv_take(fields, mem_printf("%s-id: %s", prefixes[i], event->id));
		strv_take(fields, mem_printf("%s-timestamp: %s", prefixes[i], time));
		strv_take(fields, mem_printf("%s-signature: %s", prefixes[i], buf_str(&signature)));
	}
}

static void on_attempt_ended(void *arg, const struct http_answer *answer);

/* Starts an attempt for the first event of the queue. Returns 0, or -1 with the event still in the
 * queue. */
static int start_attempt(struct sender *sender, struct endpoint *endpoint, struct err *err)
{
	_cleanup_strv_ struct strv fields = STRV_INIT;
	struct webhook_event event;
	struct attempt *attempt;
	int found = store_webhook_event_get(
		sender->db, endpoint->queue[endpoint->first], &event, err);

	if (found < 0)
		return -1;
	endpoint->first++;
	if (found == 0)
		return 0; /* it was removed meanwhile */
	attempt = mem_new(struct attempt);
	*attempt = (struct attempt){
		.sender = sender,
		.endpoint = endpoint,
		.event = event,
		.was_due_us = event.due_us,
		.to_failing = endpoint->failures > 0,
		.next = sender->under_way,
	};
	sender->under_way = attempt;
	sender->under_way_n++;
	sender->to_failing_n += attempt->to_failing;
	endpoint->under_way++;
	endpoint->company->under_way++;
	sign(attempt, &fields);
	if (attempt->form_body.len > 0)
		http_client_post(sender->client, endpoint->webhook.endpoint, &fields,
			attempt->form_body.data, attempt->form_body.len, on_attempt_ended, attempt);
	else
		http_client_post(sender->client, endpoint->webhook.endpoint, &fields,
			attempt->event.body, strlen(attempt->event.body), on_attempt_ended,
			attempt);
	return 0;
}

/* Starts what may start, one attempt for each endpoint in turn: an endpoint that was served goes to
 * the end of the list. Returns 0 or -1. */
static int start_attempts(struct sender *sender, struct err *err)
{
	bool served_any = true;
	int result = 0;

	while (served_any && result == 0) {
		struct endpoint **link = &sender->endpoints, *endpoint;
		struct endpoint *served = NULL, **served_end = &served;

		while ((endpoint = *link) != NULL) {
			if (result < 0 || queue_len(endpoint) == 0 ||
				!may_start(sender, endpoint)) {
				link = &endpoint->next;
				continue;
			}
			result = start_attempt(sender, endpoint, err);
			*link = endpoint->next;
			endpoint->next = NULL;
			*served_end = endpoint;
			served_end = &endpoint->next;
		}
		served_any = served != NULL;
		*link = served;
	}
	return result;
}

/* Ending attempts. */

/* Sets the new status of the event, and when it is due again. */
static void decide_retry(struct attempt *attempt)
{
	const enum webhook_dialect dialect = attempt->endpoint->webhook.dialect;
	struct webhook_event *event = &attempt->event;
	int64_t attempts = event->attempts++;

	if (!attempt->has_failed) {
		event->status = WEBHOOK_SUCCESS;
		event->due_us = 0;
	} else if (attempt->was_due_us == WEBHOOK_REPLAY_DUE) {
		event->due_us = event->then_us;
	} else if (attempts >= (int64_t)ARRAY_SIZE(pauses_s) ||
		   (dialect == WEBHOOK_FORM && attempt->row.http_status == 406)) {
		event->status = WEBHOOK_FAILED;
		event->due_us = 0;
	} else {
		event->status = WEBHOOK_ATTEMPTING;
		event->due_us = clock_now_us(&clock_system) + pauses_s[attempts] * SECOND_US;
	}
}

/* Pauses an endpoint that did not answer, or answered that it cannot. One that refuses an event
 * works, so the event alone is tried again later. */
static void pause_failing(struct sender *sender, struct endpoint *endpoint, int64_t status)
{
	unsigned paused;

	if (status != 0 && status != 429 && status < 500) {
		endpoint->failures = 0;
		return;
	}
	if (endpoint->failures == 0)
		log_info(sender->log, "endpoint_failing", "webhook", endpoint->webhook.id);
	endpoint->failures++;
	endpoint->paused_until_us = clock_monotonic_us();
	if (endpoint->failures <= FAILURES_FREE)
		return;
	paused = endpoint->failures - FAILURES_FREE - 1; /* 1 s, 2 s, 4 s ... */
	endpoint->paused_until_us += (paused < 6 ? INT64_C(1) << paused : (int64_t)PAUSE_MAX_S) *
				     SECOND_US;
}

static void on_attempt_ended(void *arg, const struct http_answer *answer)
{
	struct attempt *attempt = arg, **link;
	struct webhook_attempt *row = &attempt->row;
	struct sender *sender = attempt->sender;
	struct endpoint *endpoint = attempt->endpoint;
	struct err err = ERR_INIT;

	for (link = &sender->under_way; *link != attempt; link = &(*link)->next)
		;
	*link = attempt->next;
	sender->under_way_n--;
	sender->to_failing_n -= attempt->to_failing;
	endpoint->under_way--;
	endpoint->company->under_way--;

	attempt->has_failed = answer->status < 200 || answer->status > 299;
	++*(attempt->has_failed ? &sender->counts.failed : &sender->counts.succeeded);
	row->http_status = answer->status;
	row->took_us = answer->took_us;
	row->error = answer->error ? mem_strdup(answer->error) : NULL;
	row->response = mem_dup(answer->body, answer->body_len);
	for (size_t i = 0; i < answer->body_len; i++)
		if (row->response[i] == '\0') /* it would end the text */
			row->response[i] = ' ';
	str_utf8_mend(row->response);
	decide_retry(attempt);
	pause_failing(sender, endpoint, answer->status);

	/* The outcome waits without the body. */
	buf_free(&attempt->form_body);
	free(attempt->event.body);
	attempt->event.body = NULL;
	if (sender->ended_n == 0)
		sender->ended_since_us = clock_monotonic_us();
	attempt->next = sender->ended;
	sender->ended = attempt;
	sender->ended_n++;
	/* The next round meets the same error, and reports it. */
	(void)start_attempts(sender, &err);
}

static void free_attempts(struct attempt **list)
{
	struct attempt *attempt;

	while ((attempt = *list) != NULL) {
		*list = attempt->next;
		buf_free(&attempt->form_body);
		free(attempt->row.response);
		free(attempt->row.error);
		store_webhook_event_clear(&attempt->event);
		free(attempt);
	}
}

/* Recording outcomes. */

/* Records that the endpoint works, or why it fails: when that changes, and once a second. Returns 0
 * or -1. */
static int note_endpoint(struct sender *sender, const struct attempt *attempt, struct err *err)
{
	struct webhook *webhook = &attempt->endpoint->webhook;
	int64_t *noted_us = attempt->has_failed ? &webhook->failed_us : &webhook->succeeded_us;
	const struct webhook_attempt *row = &attempt->row;
	_cleanup_free_ char *failure = NULL;

	if (attempt->has_failed == (webhook->failing_us > 0) && row->sent_us >= *noted_us &&
		row->sent_us - *noted_us < NOTE_US)
		return 0;
	if (attempt->has_failed)
		failure = row->error ? mem_strdup(row->error)
				     : mem_printf("it answered %lld", (long long)row->http_status);
	if (store_webhook_note(sender->db, webhook->id, failure, row->sent_us, err) < 0)
		return -1;
	*noted_us = row->sent_us;
	return 0;
}

static int write_outcomes(struct sender *sender, struct err *err)
{
	int64_t disable_after_us = sender->conf->webhook.disable_after_ms * 1000;

	if (db_begin(sender->db, err) < 0)
		return -1;
	for (struct attempt *attempt = sender->ended; attempt; attempt = attempt->next) {
		struct endpoint *endpoint = attempt->endpoint;
		struct webhook *webhook = &endpoint->webhook;
		int64_t sent_us = attempt->row.sent_us;
		/* The endpoint has failed for too long. */
		bool disabled = attempt->has_failed && webhook->failing_us > 0 &&
				sent_us - webhook->failing_us >= disable_after_us;

		if (store_webhook_event_settle(sender->db, &attempt->event, attempt->was_due_us,
			    &attempt->row, err) < 0 ||
			note_endpoint(sender, attempt, err) < 0 ||
			(disabled &&
				store_webhook_disable(sender->db, webhook->id, sent_us, err) < 0)) {
			db_rollback(sender->db);
			return -1;
		}
		if (attempt->has_failed != (webhook->failing_us > 0))
			webhook->failing_us = attempt->has_failed ? sent_us : 0;
		if (disabled && webhook->enabled) {
			webhook->enabled = false;
			endpoint->first = endpoint->end;
			sender->counts.disabled++;
			log_warn(sender->log, "webhook_disabled", "webhook", webhook->id, "company",
				webhook->company_id, "error", attempt->row.error, "status",
				LOG_INT(attempt->row.http_status));
		}
	}
	if (db_commit_lazy(sender->db, err) < 0)
		return -1;
	free_attempts(&sender->ended);
	sender->ended_n = 0;
	return 0;
}

/* Reading what is due. */

static bool is_held(
	const struct sender *sender, const struct endpoint *endpoint, size_t queued, int64_t seq)
{
	const struct attempt *attempt;

	for (size_t i = 0; i < queued; i++)
		if (endpoint->queue[i] == seq)
			return true;
	for (attempt = endpoint->under_way ? sender->under_way : NULL; attempt;
		attempt = attempt->next)
		if (attempt->event.seq == seq)
			return true;
	return false;
}

static bool wants_more(const struct sender *sender, const struct endpoint *endpoint)
{
	return endpoint->has_more && queue_len(endpoint) < QUEUE_LOW && may_start(sender, endpoint);
}

/* Fills the queue from the store. All outcomes have been written, so what is due there is queued,
 * under way, or new. */
static int fill_queue(struct sender *sender, struct endpoint *endpoint, struct err *err)
{
	size_t queued = queue_len(endpoint), held = queued + endpoint->under_way;
	size_t limit = QUEUE_MAX - queued + held, n;
	_cleanup_free_ int64_t *due = NULL;

	if (store_webhook_event_due(sender->db, endpoint->webhook.id, clock_now_us(&clock_system),
		    limit, &due, &n, err) < 0)
		return -1;
	endpoint->has_more = n == limit;
	memmove(endpoint->queue, endpoint->queue + endpoint->first,
		queued * sizeof(*endpoint->queue));
	endpoint->first = 0;
	endpoint->end = queued;
	for (size_t i = 0; i < n && endpoint->end < QUEUE_MAX; i++)
		if (!is_held(sender, endpoint, queued, due[i]))
			endpoint->queue[endpoint->end++] = due[i];
	return 0;
}

static int compare_webhooks(const void *left, const void *right)
{
	const struct webhook *a = left, *b = right;

	return strcmp(a->id, b->id);
}

/* Takes over what the store knows of endpoints that are known here. The rest of the list is new. */
static void update_endpoints(struct sender *sender, struct webhook_list *list)
{
	for (struct endpoint *endpoint = sender->endpoints; endpoint; endpoint = endpoint->next) {
		struct webhook *webhook = list->n ? bsearch(&endpoint->webhook, list->items,
							    list->n, sizeof(*list->items),
							    compare_webhooks)
						  : NULL;

		endpoint->is_due = webhook != NULL;
		if (webhook == NULL)
			continue;
		if (!str_eq(endpoint->webhook.endpoint, webhook->endpoint))
			endpoint->failures = 0;
		store_webhook_clear(&endpoint->webhook);
		endpoint->webhook = *webhook;
		endpoint->has_more = true;
		/* The id stays, by which the list is sorted. */
		*webhook = (struct webhook){0};
		memcpy(webhook->id, endpoint->webhook.id, ID_SIZE);
	}
}

/* An endpoint that has nothing due, or is disabled or removed, is forgotten once nothing of it is
 * under way. A failing one is remembered for an hour, so that it does not start anew. */
static void forget_endpoints(struct sender *sender)
{
	struct endpoint **link = &sender->endpoints, *endpoint;

	while ((endpoint = *link) != NULL) {
		bool is_remembered = endpoint->failures > 0 &&
				     clock_monotonic_us() < endpoint->paused_until_us + HOUR_US;

		if (!endpoint->is_due)
			endpoint->first = endpoint->end;
		if (endpoint->is_due || endpoint->under_way > 0 || is_remembered) {
			link = &endpoint->next;
			continue;
		}
		*link = endpoint->next;
		free_endpoint(sender, endpoint);
	}
}

/* Makes events due at once whose time is of a clock that was put back since, while this program ran
 * or before it started. All outcomes have been written. Returns 0 or -1. */
static int look_at_clock(struct sender *sender, struct err *err)
{
	bool starts = sender->offset_us == 0;
	int64_t now_us = clock_now_us(&clock_system), offset_us = sender->offset_us;
	int64_t back_us = clock_put_back_us(&offset_us, now_us);
	int64_t latest_us = starts ? now_us + LONGEST_PAUSE_US : now_us;

	if (starts || back_us > 0) {
		int changed;

		do
			changed = store_webhook_event_hurry(sender->db, latest_us, now_us, err);
		while (changed == WEBHOOK_EVENT_HURRY_MAX);
		if (changed < 0)
			return -1;
		for (struct attempt *attempt = sender->under_way; attempt;
			attempt = attempt->next) {
			if (attempt->was_due_us > latest_us)
				attempt->was_due_us = now_us;
			if (attempt->event.then_us > latest_us)
				attempt->event.then_us = now_us;
		}
	}
	if (back_us > 0)
		log_warn(sender->log, "clock_put_back", "seconds", LOG_INT(back_us / SECOND_US));
	sender->offset_us = offset_us;
	return 0;
}

static int look_for_due(struct sender *sender, struct err *err)
{
	struct webhook_list list;

	if (look_at_clock(sender, err) < 0)
		return -1;
	if (store_webhook_waiting(sender->db, clock_now_us(&clock_system), &list, err) < 0)
		return -1;
	if (leases_claim(sender->leases, &list, err) < 0) {
		store_webhook_list_free(&list);
		return -1;
	}
	update_endpoints(sender, &list);
	forget_endpoints(sender);
	for (size_t i = 0; i < list.n; i++) {
		struct webhook *webhook = &list.items[i];
		struct endpoint *endpoint;

		if (webhook->endpoint == NULL)
			continue;
		endpoint = mem_new(struct endpoint);
		*endpoint = (struct endpoint){
			.webhook = *webhook,
			.company = join_company(sender, webhook->company_id),
			.has_more = true,
			.is_due = true,
			.next = sender->endpoints,
		};
		sender->endpoints = endpoint;
		*webhook = (struct webhook){0};
	}
	store_webhook_list_free(&list);
	return 0;
}

int sender_round(struct sender *sender, bool look, struct err *err)
{
	int64_t waited_us = clock_monotonic_us() - sender->ended_since_us;
	struct endpoint *endpoint;
	bool write = look || sender->ended_n >= OUTCOMES_MANY ||
		     waited_us >= OUTCOME_WAIT_MS * INT64_C(1000);

	for (endpoint = sender->endpoints; endpoint && !write; endpoint = endpoint->next)
		write = wants_more(sender, endpoint);
	if (write && sender->ended_n > 0 && write_outcomes(sender, err) < 0)
		return -1;
	if (look && look_for_due(sender, err) < 0)
		return -1;
	for (endpoint = sender->endpoints; endpoint && sender->ended_n == 0;
		endpoint = endpoint->next)
		if (wants_more(sender, endpoint) && fill_queue(sender, endpoint, err) < 0)
			return -1;
	return start_attempts(sender, err);
}

int sender_reload(struct sender *sender, const struct conf *next, struct err *err)
{
	return http_client_reload(sender->client, next, err);
}

int sender_new(struct event_base *base, struct db *db, struct leases *leases, struct log *log,
	const struct conf *conf, struct sender **sender_r, struct err *err)
{
	struct sender *sender = mem_new(struct sender);

	*sender = (struct sender){.db = db, .leases = leases, .log = log, .conf = conf};
	if (http_client_new(base, conf, &sender->client, err) < 0) {
		free(sender);
		return -1;
	}
	*sender_r = sender;
	return 0;
}

void sender_free(struct sender *sender)
{
	struct endpoint *endpoint;

	if (sender == NULL)
		return;
	http_client_free(sender->client);
	free_attempts(&sender->under_way);
	free_attempts(&sender->ended);
	while ((endpoint = sender->endpoints) != NULL) {
		sender->endpoints = endpoint->next;
		free_endpoint(sender, endpoint);
	}
	free(sender);
}

size_t sender_under_way(const struct sender *sender)
{
	return sender->under_way_n;
}

bool sender_is_busy(const struct sender *sender)
{
	return sender->under_way_n > 0 || sender->ended_n > 0;
}

const struct sender_counts *sender_counts(const struct sender *sender)
{
	return &sender->counts;
}
