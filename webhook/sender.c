/*
 * sender: sends what is due.
 *
 * An endpoint has at most webhook.connections attempts under way; one that did not answer lately
 * has one, after a pause that grows, and all such together have half of webhook.max_connections.
 * Endpoints take turns, and a company has no more than a quarter once half of all are taken. So one
 * that hangs delays no other.
 *
 * Rows that were read are held in memory, some of each endpoint, until their outcome is written;
 * a read leaves out those. Outcomes are written together, since each transaction costs others.
 */
#include "webhook/sender.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/version.h"
#include "core/store/store_webhook_event.h"
#include "webhook/signature.h"
#include "webhook/target.h"

enum {
	LOAD = 256,             /* deliveries of an endpoint in memory */
	SETTLE_MAX = 128,       /* outcomes that are written at once */
	SETTLE_MS = 20,         /* how long one may wait for others */
	ANSWER_MAX = 64 * 1024, /* bytes of an answer that are read, and of its head */
	CONNECT_MS = 5000,
	IDLE_MAX = 64, /* connections that are kept open */
	PAUSE_MAX_S = 60,
	FAILURES_MAX = 30,
	NOTE_US = 1000 * 1000, /* between notes that an endpoint works, or fails, still */
};

/* After each failed attempt; with the attempts themselves three days. */
static const int64_t pauses_s[] = {
	5, 300, 1800, 7200, 5 * 3600, 10 * 3600, 10 * 3600, 20 * 3600, 24 * 3600};

struct endpoint {
	struct webhook webhook;
	struct webhook_event *queue; /* read, and not begun */
	size_t next, n;
	size_t under_way;
	bool more;         /* the store may have more that is due */
	unsigned failures; /* in a row, without an answer that says that it works */
	int64_t paused_until_us;
	bool looked; /* by the look that is being made */
	struct endpoint *after;
};

/* An attempt that is under way, or over and not written down. */
struct transfer {
	struct sender *sender;
	struct endpoint *endpoint; /* NULL: it was removed */
	struct webhook_event event;
	int64_t was_due_us;
	CURL *easy;
	struct curl_slist *fields;
	struct buf body;     /* of the form API; else empty */
	struct buf response; /* what is kept of it */
	size_t received, head_received;
	bool refused; /* the address may not be connected to */
	int64_t began_us;
	struct webhook_attempt attempt;
	bool failed;
	bool endpoint_failed; /* it did not answer, or said that it cannot */
	char error[CURL_ERROR_SIZE];
	struct transfer *after;
};

struct sender {
	struct event_base *base;
	struct db *db;
	struct log *log;
	const struct conf *conf;
	struct target_rules rules;
	CURLM *multi;
	struct event *timer;
	struct endpoint *endpoints;
	struct transfer *under_way;
	size_t under_way_n;
	size_t failing_n;      /* of these, to endpoints that did not answer */
	struct transfer *over; /* to be written down, the newest first */
	size_t over_n;
	int64_t over_since_us;
	struct sender_counts counts;
};

static bool endpoint_is_slow(const struct endpoint *endpoint)
{
	return endpoint->failures > 0;
}

/* libcurl on libevent. */

static void check_multi(struct sender *sender);

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
	struct sender *sender = arg;
	int running;

	curl_multi_socket_action(sender->multi, fd,
		((what & EV_READ) ? CURL_CSELECT_IN : 0) |
			((what & EV_WRITE) ? CURL_CSELECT_OUT : 0),
		&running);
	check_multi(sender);
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socketp)
{
	struct sender *sender = arg;
	struct event *event = socketp;

	(void)easy;
	if (event)
		event_free(event);
	event = NULL;
	if (what != CURL_POLL_REMOVE) {
		event = event_new(sender->base, fd,
			(short)(EV_PERSIST | ((what & CURL_POLL_IN) ? EV_READ : 0) |
				((what & CURL_POLL_OUT) ? EV_WRITE : 0)),
			on_socket, sender);
		event_add(event, NULL);
	}
	curl_multi_assign(sender->multi, fd, event);
	return 0;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct sender *sender = arg;
	int running;

	(void)fd;
	(void)what;
	curl_multi_socket_action(sender->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	check_multi(sender);
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct sender *sender = arg;
	const struct timeval time = {timeout_ms / 1000, timeout_ms % 1000 * 1000};

	(void)multi;
	if (timeout_ms < 0)
		evtimer_del(sender->timer);
	else
		evtimer_add(sender->timer, &time);
	return 0;
}

/* The address is checked here, as it is connected to: whatever a name led to before. */
static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct transfer *transfer = arg;

	if (purpose != CURLSOCKTYPE_IPCXN ||
		!target_is_allowed(&transfer->sender->rules, &address->addr)) {
		transfer->refused = true;
		return CURL_SOCKET_BAD;
	}
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t on_answer(char *data, size_t size, size_t n, void *arg)
{
	struct transfer *transfer = arg;
	size_t len = size * n, room = WEBHOOK_RESPONSE_MAX - transfer->response.len;

	buf_add(&transfer->response, data, len < room ? len : room);
	transfer->received += len;
	return transfer->received > ANSWER_MAX ? 0 : len;
}

static size_t on_head(char *data, size_t size, size_t n, void *arg)
{
	struct transfer *transfer = arg;
	size_t len = size * n;

	(void)data;
	transfer->head_received += len;
	return transfer->head_received > ANSWER_MAX ? 0 : len;
}

/* Attempts. */

static void transfer_free(struct transfer *transfer)
{
	if (transfer->easy)
		curl_easy_cleanup(transfer->easy);
	curl_slist_free_all(transfer->fields);
	buf_free(&transfer->body);
	buf_free(&transfer->response);
	free(transfer->attempt.response);
	free(transfer->attempt.error);
	store_webhook_event_clear(&transfer->event);
	free(transfer);
}

static void add_field(struct transfer *transfer, const char *format, const char *value)
{
	_cleanup_free_ char *field = mem_printf("%s%s", format, value);

	transfer->fields = curl_slist_append(transfer->fields, field);
}

/* The same values under both sets of names: receivers know one or the other. */
static void sign(struct transfer *transfer, const struct webhook *webhook)
{
	const struct webhook_event *event = &transfer->event;
	_cleanup_free_ char *time = NULL;
	_cleanup_buf_ struct buf signature = BUF_INIT;
	int64_t now_us = clock_now_us(&clock_system);

	add_field(transfer, "Content-Type: ", "application/json");
	add_field(transfer, "Expect:", "");
	transfer->attempt.sent_us = now_us;
	if (webhook->dialect == WEBHOOK_FORM) {
		signature_form(webhook, event->body, now_us, &transfer->body);
		return;
	}
	time = mem_printf("%lld", (long long)(now_us / SECOND_US));
	signature_standard(
		webhook, event->id, event->body, strlen(event->body), now_us, &signature);
	add_field(transfer, "svix-id: ", event->id);
	add_field(transfer, "svix-timestamp: ", time);
	add_field(transfer, "svix-signature: ", buf_str(&signature));
	add_field(transfer, "webhook-id: ", event->id);
	add_field(transfer, "webhook-timestamp: ", time);
	add_field(transfer, "webhook-signature: ", buf_str(&signature));
}

static void set_options(struct transfer *transfer, const char *url)
{
	const struct conf_webhook *conf = &transfer->sender->conf->webhook;
	const char *body = transfer->body.len ? transfer->body.data : transfer->event.body;
	CURL *easy = transfer->easy;

	curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR,
		conf->schemes == WEBHOOK_HTTP_TOO ? "http,https" : "https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_HTTP09_ALLOWED, 0L);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "Postern/" POSTERN_VERSION);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)conf->timeout_ms);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
		(long)(conf->timeout_ms < CONNECT_MS ? conf->timeout_ms : CONNECT_MS));
	curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 30L);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->fields);
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
}

/* Begins the next one of the queue. */
static void begin_transfer(struct sender *sender, struct endpoint *endpoint)
{
	struct transfer *transfer = mem_new(struct transfer);

	transfer->sender = sender;
	transfer->endpoint = endpoint;
	transfer->event = endpoint->queue[endpoint->next];
	endpoint->queue[endpoint->next++] = (struct webhook_event){0};
	transfer->was_due_us = transfer->event.due_us;
	transfer->began_us = clock_monotonic_us();
	transfer->easy = curl_easy_init();
	sign(transfer, &endpoint->webhook);
	set_options(transfer, endpoint->webhook.endpoint);
	transfer->after = sender->under_way;
	sender->under_way = transfer;
	sender->under_way_n++;
	endpoint->under_way++;
	transfer->endpoint_failed = endpoint_is_slow(endpoint);
	sender->failing_n += transfer->endpoint_failed;
	curl_multi_add_handle(sender->multi, transfer->easy);
}

static size_t company_under_way(const struct sender *sender, const char *company_id)
{
	size_t n = 0;

	for (const struct transfer *transfer = sender->under_way; transfer;
		transfer = transfer->after)
		n += str_eq(transfer->endpoint->webhook.company_id, company_id);
	return n;
}

static bool may_begin(const struct sender *sender, const struct endpoint *endpoint)
{
	const struct conf_webhook *conf = &sender->conf->webhook;
	size_t most = (size_t)conf->max_connections;

	if (sender->under_way_n >= most)
		return false;
	if (sender->under_way_n >= most / 2 &&
		company_under_way(sender, endpoint->webhook.company_id) >= (most + 3) / 4)
		return false;
	if (!endpoint_is_slow(endpoint))
		return endpoint->under_way < (size_t)conf->connections;
	return endpoint->under_way == 0 && sender->failing_n < most / 2 &&
	       clock_monotonic_us() >= endpoint->paused_until_us;
}

/* One each in turns: who had one goes to the end of the list. */
static void begin_transfers(struct sender *sender)
{
	bool began = true;

	while (began) {
		struct endpoint **link = &sender->endpoints, *endpoint;
		struct endpoint *served = NULL, **end = &served;

		while ((endpoint = *link) != NULL) {
			if (endpoint->next == endpoint->n || !may_begin(sender, endpoint)) {
				link = &endpoint->after;
				continue;
			}
			begin_transfer(sender, endpoint);
			*link = endpoint->after;
			endpoint->after = NULL;
			*end = endpoint;
			end = &endpoint->after;
		}
		began = served != NULL;
		*link = served;
	}
}

/* What the endpoint says by its answer, of itself and of the delivery. */
static void judge(struct transfer *transfer, CURLcode code)
{
	struct webhook_attempt *attempt = &transfer->attempt;
	long status = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	/* An answer that is too long says enough by its status; one that is cut off does not. */
	if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && transfer->received > ANSWER_MAX))
		status = 0;
	attempt->http_status = status;
	attempt->took_us = clock_monotonic_us() - transfer->began_us;
	attempt->response = status ? mem_dup(buf_str(&transfer->response), transfer->response.len)
				   : mem_strdup("");
	for (char *p = attempt->response; p < attempt->response + transfer->response.len && status;
		p++)
		if (*p == '\0')
			*p = ' ';
	str_utf8_mend(attempt->response);
	if (status == 0)
		attempt->error = mem_strdup(
			transfer->refused  ? "the address of the endpoint is not a public one"
			: *transfer->error ? transfer->error
					   : curl_easy_strerror(code));
	transfer->failed = status < 200 || status > 299;
	transfer->endpoint_failed = status == 0 || status == 429 || status >= 500;
}

/* What becomes of the event. */
static void decide(struct transfer *transfer, enum webhook_dialect dialect)
{
	struct webhook_event *event = &transfer->event;
	int64_t attempts = event->attempts++;

	if (!transfer->failed) {
		event->status = WEBHOOK_SUCCESS;
		event->due_us = 0;
	} else if (transfer->was_due_us == WEBHOOK_REPLAY_DUE) {
		event->due_us = event->then_us;
	} else if (attempts >= (int64_t)ARRAY_SIZE(pauses_s) ||
		   (dialect == WEBHOOK_FORM && transfer->attempt.http_status == 406)) {
		event->status = WEBHOOK_FAILED;
		event->due_us = 0;
	} else {
		event->status = WEBHOOK_ATTEMPTING;
		event->due_us = clock_now_us(&clock_system) + pauses_s[attempts] * SECOND_US;
	}
}

static void note_endpoint(struct sender *sender, struct endpoint *endpoint, bool failed)
{
	unsigned shift;

	if (!failed) {
		endpoint->failures = 0;
		return;
	}
	if (endpoint->failures == 0)
		log_info(sender->log, "endpoint_failing", "webhook", endpoint->webhook.id);
	if (endpoint->failures < FAILURES_MAX)
		endpoint->failures++;
	/* A pause after some: one answer that is missing says little. */
	shift = endpoint->failures > 3 ? endpoint->failures - 4 : 0;
	endpoint->paused_until_us = clock_monotonic_us();
	if (endpoint->failures > 3)
		endpoint->paused_until_us += (shift < 6 ? INT64_C(1) << shift : PAUSE_MAX_S) *
					     SECOND_US;
}

static void on_over(struct sender *sender, CURL *easy, CURLcode code)
{
	struct transfer *transfer, **link;
	struct endpoint *endpoint;
	char *private = NULL;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
	transfer = (struct transfer *)(void *)private;
	endpoint = transfer->endpoint;
	sender->failing_n -= transfer->endpoint_failed;
	judge(transfer, code);
	curl_multi_remove_handle(sender->multi, easy);
	curl_easy_cleanup(easy);
	transfer->easy = NULL;
	for (link = &sender->under_way; *link != transfer; link = &(*link)->after)
		;
	*link = transfer->after;
	sender->under_way_n--;
	if (transfer->failed)
		sender->counts.failed++;
	else
		sender->counts.succeeded++;
	endpoint->under_way--;
	decide(transfer, endpoint->webhook.dialect);
	note_endpoint(sender, endpoint, transfer->endpoint_failed);
	if (sender->over_n == 0)
		sender->over_since_us = clock_monotonic_us();
	transfer->after = sender->over;
	sender->over = transfer;
	sender->over_n++;
}

static void check_multi(struct sender *sender)
{
	CURLMsg *message;
	bool ended = false;
	int left;

	while ((message = curl_multi_info_read(sender->multi, &left)) != NULL)
		if (message->msg == CURLMSG_DONE) {
			on_over(sender, message->easy_handle, message->data.result);
			ended = true;
		}
	if (ended)
		begin_transfers(sender);
}

/* What is read and written. */

static void clear_queue(struct endpoint *endpoint)
{
	for (size_t i = endpoint->next; i < endpoint->n; i++)
		store_webhook_event_clear(&endpoint->queue[i]);
	free(endpoint->queue);
	endpoint->queue = NULL;
	endpoint->next = endpoint->n = 0;
}

/* Why it failed, as people are shown it; a new string. */
static char *print_failure(const struct transfer *transfer)
{
	const struct webhook_attempt *attempt = &transfer->attempt;

	return attempt->error ? mem_strdup(attempt->error)
			      : mem_printf("it answered %lld", (long long)attempt->http_status);
}

/* Writes one down, and whether its endpoint works: that is said when it changes, and once a second.
 * *disabled_r: it has failed for so long that it is disabled. */
static int write_outcome(
	struct sender *sender, const struct transfer *transfer, bool *disabled_r, struct err *err)
{
	struct webhook *webhook = &transfer->endpoint->webhook;
	int64_t *noted_us = transfer->failed ? &webhook->failed_us : &webhook->succeeded_us;
	int64_t after_us = sender->conf->webhook.disable_after_ms * 1000;
	int64_t sent_us = transfer->attempt.sent_us;

	*disabled_r = false;
	if (store_webhook_event_settle(sender->db, &transfer->event, transfer->was_due_us,
		    &transfer->attempt, err) < 0)
		return -1;
	if (transfer->failed != (webhook->failing_us > 0) || sent_us < *noted_us ||
		sent_us - *noted_us >= NOTE_US) {
		_cleanup_free_ char *failure = transfer->failed ? print_failure(transfer) : NULL;

		if (store_webhook_note(sender->db, webhook->id, failure, sent_us, err) < 0)
			return -1;
		*noted_us = sent_us;
	}
	if (!transfer->failed || webhook->failing_us == 0 ||
		sent_us - webhook->failing_us < after_us)
		return 0;
	*disabled_r = true;
	return store_webhook_disable(sender->db, webhook->id, sent_us, err) < 0 ? -1 : 0;
}

static int write_outcomes(struct sender *sender, struct err *err)
{
	struct transfer *transfer;
	bool disabled;

	if (db_begin(sender->db, err) < 0)
		return -1;
	for (transfer = sender->over; transfer; transfer = transfer->after) {
		struct webhook *webhook = &transfer->endpoint->webhook;

		if (write_outcome(sender, transfer, &disabled, err) < 0) {
			db_rollback(sender->db);
			return -1;
		}
		if (transfer->failed != (webhook->failing_us > 0))
			webhook->failing_us = transfer->failed ? transfer->attempt.sent_us : 0;
		if (disabled && webhook->enabled) {
			webhook->enabled = false;
			sender->counts.disabled++;
			log_warn(sender->log, "webhook_disabled", "webhook", webhook->id, "company",
				webhook->company_id, "error", transfer->attempt.error, "status",
				LOG_INT(transfer->attempt.http_status));
			clear_queue(transfer->endpoint);
		}
	}
	if (db_commit_lazy(sender->db, err) < 0)
		return -1;
	while ((transfer = sender->over) != NULL) {
		sender->over = transfer->after;
		transfer_free(transfer);
	}
	sender->over_n = 0;
	return 0;
}

static bool is_held(const struct sender *sender, const struct endpoint *endpoint,
	const struct webhook_event *event)
{
	const struct transfer *transfer;

	for (size_t i = endpoint->next; i < endpoint->n; i++)
		if (endpoint->queue[i].seq == event->seq)
			return true;
	for (transfer = sender->under_way; endpoint->under_way && transfer;
		transfer = transfer->after)
		if (transfer->event.seq == event->seq)
			return true;
	return false;
}

/* Reads more of what is due into the queue, which is short. All outcomes are written. */
static int load_queue(struct sender *sender, struct endpoint *endpoint, struct err *err)
{
	size_t held = endpoint->n - endpoint->next, limit = LOAD + held + endpoint->under_way;
	struct webhook_event_list list;
	struct webhook_event *queue;
	size_t n = 0;

	if (store_webhook_event_due(sender->db, endpoint->webhook.id, clock_now_us(&clock_system),
		    (int)limit, &list, err) < 0)
		return -1;
	endpoint->more = list.n == limit;
	queue = mem_alloc(held + list.n + 1, sizeof(*queue));
	for (size_t i = 0; i < list.n; i++)
		if (!is_held(sender, endpoint, &list.items[i])) {
			queue[held + n++] = list.items[i];
			list.items[i] = (struct webhook_event){0};
		}
	if (held > 0)
		memcpy(queue, endpoint->queue + endpoint->next, held * sizeof(*queue));
	free(endpoint->queue);
	endpoint->queue = queue;
	endpoint->next = 0;
	endpoint->n = held + n;
	store_webhook_event_list_free(&list);
	return 0;
}

static struct endpoint *find_endpoint(struct sender *sender, const char *id)
{
	struct endpoint *endpoint = sender->endpoints;

	while (endpoint && !str_eq(endpoint->webhook.id, id))
		endpoint = endpoint->after;
	return endpoint;
}

/* One that has nothing due, or is disabled or removed, is forgotten when nothing of it is under
 * way, but for one that did not answer. */
static void forget_endpoints(struct sender *sender)
{
	struct endpoint **link = &sender->endpoints, *endpoint;

	while ((endpoint = *link) != NULL) {
		if (!endpoint->looked)
			clear_queue(endpoint);
		if (endpoint->looked || endpoint->under_way > 0 ||
			(endpoint_is_slow(endpoint) &&
				clock_monotonic_us() < endpoint->paused_until_us + HOUR_US)) {
			link = &endpoint->after;
			continue;
		}
		*link = endpoint->after;
		store_webhook_clear(&endpoint->webhook);
		free(endpoint);
	}
}

static int look_for_due(struct sender *sender, struct err *err)
{
	struct webhook_list list;
	struct endpoint *endpoint;

	if (store_webhook_waiting(sender->db, clock_now_us(&clock_system), &list, err) < 0)
		return -1;
	for (endpoint = sender->endpoints; endpoint; endpoint = endpoint->after)
		endpoint->looked = false;
	for (size_t i = 0; i < list.n; i++) {
		endpoint = find_endpoint(sender, list.items[i].id);
		if (endpoint == NULL) {
			endpoint = mem_new(struct endpoint);
			endpoint->after = sender->endpoints;
			sender->endpoints = endpoint;
		} else if (!str_eq(endpoint->webhook.endpoint, list.items[i].endpoint)) {
			endpoint->failures = 0;
		}
		store_webhook_clear(&endpoint->webhook);
		endpoint->webhook = list.items[i];
		list.items[i] = (struct webhook){0};
		endpoint->looked = endpoint->more = true;
	}
	store_webhook_list_free(&list);
	forget_endpoints(sender);
	return 0;
}

int sender_round(struct sender *sender, bool look, struct err *err)
{
	int64_t waited_us = clock_monotonic_us() - sender->over_since_us;
	bool hungry = false;

	for (struct endpoint *endpoint = sender->endpoints; endpoint; endpoint = endpoint->after)
		hungry |= endpoint->more && endpoint->n - endpoint->next < LOAD / 4 &&
			  may_begin(sender, endpoint);
	if (sender->over_n > 0 &&
		(look || hungry || sender->over_n >= SETTLE_MAX ||
			waited_us >= SETTLE_MS * INT64_C(1000)) &&
		write_outcomes(sender, err) < 0)
		return -1;
	if (look && look_for_due(sender, err) < 0)
		return -1;
	for (struct endpoint *endpoint = sender->endpoints; endpoint; endpoint = endpoint->after) {
		if (endpoint->more && sender->over_n == 0 &&
			endpoint->n - endpoint->next < LOAD / 4 && may_begin(sender, endpoint) &&
			load_queue(sender, endpoint, err) < 0)
			return -1;
	}
	begin_transfers(sender);
	return 0;
}

int sender_reload(struct sender *sender, struct err *err)
{
	struct target_rules rules;

	if (target_rules_init(&rules, sender->conf->webhook.allowed, err) < 0) {
		target_rules_clear(&rules);
		return -1;
	}
	target_rules_clear(&sender->rules);
	sender->rules = rules;
	return 0;
}

int sender_new(struct event_base *base, struct db *db, struct log *log, const struct conf *conf,
	struct sender **sender_r, struct err *err)
{
	struct sender *sender = mem_new(struct sender);

	*sender = (struct sender){.base = base, .db = db, .log = log, .conf = conf};
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
		(sender->multi = curl_multi_init()) == NULL) {
		free(sender);
		return err_set(err, ERR_INTERNAL, "cannot begin to use libcurl");
	}
	sender->timer = evtimer_new(base, on_timer, sender);
	curl_multi_setopt(sender->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
	curl_multi_setopt(sender->multi, CURLMOPT_SOCKETDATA, sender);
	curl_multi_setopt(sender->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
	curl_multi_setopt(sender->multi, CURLMOPT_TIMERDATA, sender);
	curl_multi_setopt(sender->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_MAX);
	curl_multi_setopt(sender->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
	*sender_r = sender;
	return sender_reload(sender, err);
}

void sender_free(struct sender *sender)
{
	struct transfer *transfer;
	struct endpoint *endpoint;

	if (sender == NULL)
		return;
	while ((transfer = sender->under_way) != NULL) {
		sender->under_way = transfer->after;
		curl_multi_remove_handle(sender->multi, transfer->easy);
		transfer_free(transfer);
	}
	while ((transfer = sender->over) != NULL) {
		sender->over = transfer->after;
		transfer_free(transfer);
	}
	while ((endpoint = sender->endpoints) != NULL) {
		sender->endpoints = endpoint->after;
		clear_queue(endpoint);
		store_webhook_clear(&endpoint->webhook);
		free(endpoint);
	}
	curl_multi_cleanup(sender->multi);
	curl_global_cleanup();
	event_free(sender->timer);
	target_rules_clear(&sender->rules);
	free(sender);
}

size_t sender_under_way(const struct sender *sender)
{
	return sender->under_way_n;
}

bool sender_is_busy(const struct sender *sender)
{
	return sender->under_way_n > 0 || sender->over_n > 0;
}

const struct sender_counts *sender_counts(const struct sender *sender)
{
	return &sender->counts;
}
