/*
 * api_form: the routes below /v3 of the form dialect.
 */
#ifndef POSTERN_HTTPD_FORM_API_FORM_H
#define POSTERN_HTTPD_FORM_API_FORM_H

#include <jansson.h>
#include <stdint.h>

#include "httpd/http/problem.h"

struct form;
struct request;

/* POST /v3/{domain}/messages and /v3/{domain}/messages.mime: {"id","message"},
 * the id being the message id. */
void api_form_send(struct request *request);
void api_form_send_mime(struct request *request);

/* GET /v3/{domain}/events: what became of the domain's emails, and the page of
 * it whose token ends the path. */
void api_form_events(struct request *request);
void api_form_events_page(struct request *request);

/* GET /v3/{domain}/stats/total, and of all domains that the key may see. */
void api_form_stats(struct request *request);

/* DELETE /v3/{domain}/envelopes: cancels what is scheduled or waits, as clients drop the queue of
 * a domain. */
void api_form_cancel(struct request *request);

/* GET, POST /v3/domains; GET, DELETE /v3/domains/{name}; PUT /v3/domains/{name}/verify: a domain
 * with the records that its DNS is to have. All but DELETE below /v4 as well. */
void api_form_domain(struct request *request);
void api_form_domain_list(struct request *request);
void api_form_domain_add(struct request *request);
void api_form_domain_verify(struct request *request);
void api_form_domain_remove(struct request *request);

/* GET, POST and DELETE /v3/{domain}/bounces, complaints, unsubscribes and whitelists, with the
 * address that ends the path or without, and POST of a file to import. */
void api_form_suppression_list(struct request *request);
void api_form_suppression_add(struct request *request);
void api_form_suppression_clear(struct request *request);
void api_form_suppression_import(struct request *request);
void api_form_suppression_get(struct request *request);
void api_form_suppression_remove(struct request *request);

/* What the client calls this server; a new string. */
char *form_own_url(const struct request *request);

/* Reads the form in the body of a request; for the worker's thread, so of one that is small
 * (BODY_FORM_SMALL), or seldom. The caller clears form_r. 0, or -1 with the problem. */
int api_form_read(struct request *request, struct form *form_r, struct problem *problem);

/* A time as JavaScript and Go read it (RFC 1123). */
json_t *form_time_json(int64_t time_us);

/* /v3/domains/{domain}/webhooks: the URLs that are told of events, by the names of these. */
void api_form_webhooks(struct request *request);
void api_form_webhook_change(struct request *request);

/* A time of a query, as seconds since 1970 or as a date: 1, 0 when it is not
 * given, -1 with a problem that names the parameter. */
int form_query_time(
	const char *query, const char *name, int64_t *time_us_r, struct problem *problem);

/* Events as clients name them. The last ones never occur here. */
enum form_event {
	FORM_ACCEPTED,
	FORM_DELIVERED,
	FORM_FAILED,
	FORM_COMPLAINED,
	FORM_REJECTED,
	FORM_UNSUBSCRIBED = 7,
	FORM_EVENTS = 9
};
extern const char *const form_event_names[FORM_EVENTS];
/* The event of the name, or -1 with the problem. */
int form_event_find(const char *name, struct problem *problem);

#endif
