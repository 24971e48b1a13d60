/*
 * http_client: sends POST requests to endpoints that companies chose.
 */
#include "webhook/http_client.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/version.h"
#include "webhook/target.h"

enum {
	READ_MAX = 64 * 1024, /* bytes of an answer's header, and of its body */
	CONNECT_MS = 5000,
	IDLE_MAX = 64, /* connections that are kept open for the next request */
	DNS_CACHE_S = 30,
};

struct http_request {
	struct http_client *client;
	http_client_done *done;
	void *arg;
	CURL *easy;
	struct curl_slist *fields;
	struct buf kept; /* of the answer's body */
	size_t head_read, body_read;
	bool is_refused; /* the address is not one to connect to */
	int64_t started_us;
	char error[CURL_ERROR_SIZE];
	struct http_request *next, *previous;
};

struct http_client {
	struct event_base *base;
	const struct conf *conf;
	struct target_rules rules;
	CURLM *multi;
	struct event *timer;
	struct http_request *requests;
};

static void request_free(struct http_request *request)
{
	struct http_client *client = request->client;

	if (request->previous)
		request->previous->next = request->next;
	else
		client->requests = request->next;
	if (request->next)
		request->next->previous = request->previous;
	curl_multi_remove_handle(client->multi, request->easy);
	curl_easy_cleanup(request->easy);
	curl_slist_free_all(request->fields);
	buf_free(&request->kept);
	free(request);
}

/* Hands each outcome to whoever asked. */
static void finish_requests(struct http_client *client)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
		CURLcode code = message->data.result;
		struct http_request *request;
		struct http_answer answer = {0};
		char *private = NULL;
		long status = 0;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
		request = (struct http_request *)(void *)private;
		/* The status of an answer that is too long still counts; an answer that was cut off
		 * by the other side does not. */
		if (code == CURLE_OK ||
			(code == CURLE_WRITE_ERROR && request->body_read > READ_MAX))
			curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
		answer.took_us = clock_monotonic_us() - request->started_us;
		answer.status = status;
		answer.body = status ? buf_str(&request->kept) : "";
		answer.body_len = status ? request->kept.len : 0;
		if (request->is_refused && status == 0)
			answer.error = "the address of the endpoint is not a public one";
		else if (status == 0)
			answer.error = *request->error ? request->error : curl_easy_strerror(code);
		request->done(request->arg, &answer);
		request_free(request);
	}
}

/* libcurl on libevent: libcurl says which sockets and which timeout it waits for. */

static void on_socket_ready(evutil_socket_t fd, short what, void *arg)
{
	struct http_client *client = arg;
	int running;

	curl_multi_socket_action(client->multi, fd,
		((what & EV_READ) ? CURL_CSELECT_IN : 0) |
			((what & EV_WRITE) ? CURL_CSELECT_OUT : 0),
		&running);
	finish_requests(client);
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct http_client *client = arg;
	struct event *event = socket_arg;

	(void)easy;
	if (event)
		event_free(event);
	event = NULL;
	if (what != CURL_POLL_REMOVE) {
		event = event_new(client->base, fd,
			(short)(EV_PERSIST | ((what & CURL_POLL_IN) ? EV_READ : 0) |
				((what & CURL_POLL_OUT) ? EV_WRITE : 0)),
			on_socket_ready, client);
		event_add(event, NULL);
	}
	curl_multi_assign(client->multi, fd, event);
	return 0;
}

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct http_client *client = arg;
	int running;

	(void)fd;
	(void)what;
	curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	finish_requests(client);
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct http_client *client = arg;
	const struct timeval time = {timeout_ms / 1000, timeout_ms % 1000 * 1000};

	(void)multi;
	if (timeout_ms < 0)
		evtimer_del(client->timer);
	else
		evtimer_add(client->timer, &time);
	return 0;
}

static curl_socket_t on_curl_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct http_request *request = arg;

	if (purpose != CURLSOCKTYPE_IPCXN ||
		!target_is_allowed(&request->client->rules, &address->addr)) {
		request->is_refused = true;
		return CURL_SOCKET_BAD;
	}
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* libcurl ends a request whose callback takes less than it was given. */

static size_t on_curl_body(char *data, size_t size, size_t n, void *arg)
{
	struct http_request *request = arg;
	size_t len = size * n, room = HTTP_CLIENT_BODY_MAX - request->kept.len;

	buf_add(&request->kept, data, len < room ? len : room);
	request->body_read += len;
	return request->body_read > READ_MAX ? 0 : len;
}

static size_t on_curl_head(char *data, size_t size, size_t n, void *arg)
{
	struct http_request *request = arg;
	size_t len = size * n;

	(void)data;
	request->head_read += len;
	return request->head_read > READ_MAX ? 0 : len;
}

void http_client_post(struct http_client *client, const char *url, const struct strv *fields,
	const char *body, size_t body_len, http_client_done *done, void *arg)
{
	const struct conf_webhook *conf = &client->conf->webhook;
	struct http_request *request = mem_new(struct http_request);
	CURL *easy = curl_easy_init();

	*request = (struct http_request){.client = client, .done = done, .arg = arg, .easy = easy};
	request->started_us = clock_monotonic_us();
	for (size_t i = 0; i < fields->n; i++)
		request->fields = curl_slist_append(request->fields, fields->items[i]);
	/* A body over 1 KiB is sent at once, not after a "100 Continue". */
	request->fields = curl_slist_append(request->fields, "Expect:");
	curl_easy_setopt(easy, CURLOPT_PRIVATE, request);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->error);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR,
		conf->schemes == WEBHOOK_HTTP_TOO ? "http,https" : "https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_curl_open);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, request);
	curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, (long)DNS_CACHE_S);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* Do not wait for a thread that still looks a name up. */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)conf->timeout_ms);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
		(long)(conf->timeout_ms < CONNECT_MS ? conf->timeout_ms : CONNECT_MS));
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_HTTP09_ALLOWED, 0L);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "Postern/" POSTERN_VERSION);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->fields);
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)body_len);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_curl_head);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, request);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_curl_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
	request->next = client->requests;
	if (request->next)
		request->next->previous = request;
	client->requests = request;
	curl_multi_add_handle(client->multi, easy);
}

int http_client_reload(struct http_client *client, const struct conf *next, struct err *err)
{
	struct target_rules rules;

	if (target_rules_init(&rules, next->webhook.allowed, err) < 0) {
		target_rules_clear(&rules);
		return -1;
	}
	target_rules_clear(&client->rules);
	client->rules = rules;
	return 0;
}

int http_client_new(struct event_base *base, const struct conf *conf, struct http_client **client_r,
	struct err *err)
{
	struct http_client *client = mem_new(struct http_client);

	*client = (struct http_client){.base = base, .conf = conf};
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
		(client->multi = curl_multi_init()) == NULL) {
		free(client);
		return err_set(err, ERR_INTERNAL, "cannot start libcurl");
	}
	client->timer = evtimer_new(base, on_timeout, client);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_MAX);
	curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
	if (http_client_reload(client, conf, err) < 0) {
		http_client_free(client);
		return -1;
	}
	*client_r = client;
	return 0;
}

void http_client_free(struct http_client *client)
{
	if (client == NULL)
		return;
	while (client->requests)
		request_free(client->requests);
	curl_multi_cleanup(client->multi);
	curl_global_cleanup();
	event_free(client->timer);
	target_rules_clear(&client->rules);
	free(client);
}
