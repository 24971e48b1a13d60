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

/* POST /v3/{domain}/messages and /v3/{domain}/messages.mime: {"id","message"};
 * the id is the Message-ID. */
void api_form_send(struct request *request);
void api_form_send_mime(struct request *request);

/* GET /v3/{domain}/events: the events of the domain's emails, and a page of
 * them, whose token ends the path. */
void api_form_events(struct request *request);
void api_form_events_page(struct request *request);

/* GET /v3/{domain}/stats/total, and /v3/stats/total for all domains that the
 * key may see. */
void api_form_stats(struct request *request);

/* DELETE /v3/{domain}/envelopes: cancels all emails of the domain that are
 * scheduled or wait. Clients use it to clear the queue of a domain. */
void api_form_cancel(struct request *request);

/* GET, POST /v3/domains; GET, DELETE /v3/domains/{name}; PUT
 * /v3/domains/{name}/verify: domains, with the DNS records that each needs. All
 * except DELETE are also below /v4. */
void api_form_domain(struct request *request);
void api_form_domain_list(struct request *request);
void api_form_domain_add(struct request *request);
void api_form_domain_verify(struct request *request);
void api_form_domain_remove(struct request *request);

/* GET, POST and DELETE /v3/{domain}/bounces, complaints, unsubscribes and
 * whitelists, with or without an address at the end of the path, and POST of a
 * file to import. */
void api_form_suppression_list(struct request *request);
void api_form_suppression_add(struct request *request);
void api_form_suppression_clear(struct request *request);
void api_form_suppression_import(struct request *request);
void api_form_suppression_get(struct request *request);
void api_form_suppression_remove(struct request *request);

/* Parses the form in the body of a request, on the worker's thread: only for
 * small bodies (BODY_FORM_SMALL) or rare requests. The caller clears form_r.
 * Returns 0, or -1 with the problem. */
int api_form_read(struct request *request, struct form *form_r, struct problem *problem);

/* A time in the format of RFC 1123, with UTC, as clients in JavaScript and Go
 * parse it. */
json_t *form_time_json(int64_t time_us);

/* /v3/domains/{domain}/webhooks: the URLs that are notified of events, by name
 * of event. */
void api_form_webhooks(struct request *request);
void api_form_webhook_change(struct request *request);

/* Parses a time of a query, in seconds since 1970 or as a date. Returns 1, 0 if
 * it is not given, or -1 with a problem that names the parameter. */
int form_query_time(
	const char *query, const char *name, int64_t *time_us_r, struct problem *problem);

/* The events that clients know. Those without a constant never occur here. */
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
