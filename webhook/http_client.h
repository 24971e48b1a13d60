/*
 * http_client: sends POST requests to endpoints that companies chose, with libcurl on libevent.
 *
 * It connects to public addresses only, and to those that webhook.allowed names. The address is
 * checked when the socket is opened, whatever the name led to before, so DNS rebinding gains
 * nothing. It follows no redirect, uses no proxy from the environment, and reads at most 64 KiB of
 * an answer. A request takes webhook.timeout at most.
 *
 * Threads: the one that runs the event loop.
 */
#ifndef POSTERN_WEBHOOK_HTTP_CLIENT_H
#define POSTERN_WEBHOOK_HTTP_CLIENT_H

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/strv.h"
#include "core/conf/conf.h"

struct http_client;

enum { HTTP_CLIENT_BODY_MAX = 1024 }; /* bytes of an answer's body that are kept */

struct http_answer {
	int64_t status;    /* 0: no complete answer came */
	const char *body;  /* its first bytes */
	size_t body_len;   /* HTTP_CLIENT_BODY_MAX at most */
	const char *error; /* why there is no answer; NULL when there is one */
	int64_t took_us;
};
/* Called once for each request, from the event loop, and never by http_client_post() itself. The
 * answer is valid until it returns. */
typedef void http_client_done(void *arg, const struct http_answer *answer);

/* The caller frees the client; base and conf must outlive it. Returns 0 or -1. */
int http_client_new(struct event_base *base, const struct conf *conf, struct http_client **client_r,
	struct err *err);
/* Drops requests that are under way without calling done. */
void http_client_free(struct http_client *client);
/* Applies the new webhook.allowed. Returns 0, or -1 with everything unchanged. */
int http_client_reload(struct http_client *client, const struct conf *next, struct err *err);

/* The fields of the header are copied. The body must stay valid until done is called. */
void http_client_post(struct http_client *client, const char *url, const struct strv *fields,
	const char *body, size_t body_len, http_client_done *done, void *arg);

#endif
