/*
 * api_json: the routes of the JSON dialect. Handlers are called by the table in
 * routes.c; what they parse and render is declared for their tests.
 */
#ifndef POSTERN_HTTPD_JSON_API_JSON_H
#define POSTERN_HTTPD_JSON_API_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/id.h"
#include "core/store/store_domain.h"
#include "core/store/store_key.h"
#include "httpd/http/problem.h"
#include "httpd/send/draft.h"
#include "httpd/send/send_request.h"

struct manage;
struct request;

/* /emails: see email_json.h for bodies and answers. */

/* POST /emails: {"id"}. */
void api_email_send(struct request *request);

/* GET /emails/{id}: one email of the sent folder that the key may see; with
 * ?state=any also one that waits or was refused. */
void api_email_get(struct request *request);

/* GET /emails/{id}/events: what became of it, in the order in which it was
 * recorded. */
void api_email_events(struct request *request);
/* api_attachment.c: what emails had with them, while their messages are kept. */
void api_attachment_list(struct request *request);
void api_attachment_get(struct request *request);
void api_attachment_download(struct request *request);

/* api_unsubscribe.c: for recipients. */
void api_unsubscribe_ask(struct request *request);
void api_unsubscribe(struct request *request);

/* PATCH /emails/{id}: another time for one that is scheduled. */
extern const struct manage api_email_update;

/* POST /emails/{id}/cancel: one that waits will not be sent. */
extern const struct manage api_email_cancel;

/* GET /emails: the sent folder in pages, as far as the key may see it, and what
 * a filter picks of it. */
void api_email_list(struct request *request);

/* POST /emails/batch: {"data":[{"id"}...]} of those that are sent, in their
 * order, and "errors":[{"index","message"}...] of the others, if any. */
void api_batch_send(struct request *request);

enum { BATCH_MAX = 100 }; /* emails */

/* Both have n elements. An email that cannot be read has a problem, and is not
 * to be looked at. Starts zeroed but for the first member. */
struct batch {
	bool permissive; /* each problem is told beside the index of its email;
			  * else its fields are named as `[3].to` */
	struct draft *emails;
	struct problem *problems;
	size_t n;
};

/* Reads the body of POST /emails/batch. 0, or -1 with a problem of the whole. */
int batch_json_parse(const char *body, size_t len, int64_t max_recipients, struct batch *batch_r,
	struct problem *problem);
void batch_json_clear(struct batch *batch);
#define _cleanup_batch_ __attribute__((cleanup(batch_json_clear)))

/* Copies the problem of the email at the index, for an answer about the whole
 * batch: one that does not name a field then names the email. */
void batch_json_name(size_t index, const struct problem *problem, struct problem *named_r);

/* What was sent, and why the others were not; a new reference. */
json_t *batch_json_render(const struct send_outcome *outcome);

/*
 * /domains: a company sees and changes its own domains only, a key that is
 * restricted to a domain only that one; anything else is not there.
 */

/* GET and POST /domains; a company asks for one. */
extern const struct manage api_domain_list, api_domain_create;
/* GET, PATCH, DELETE /domains/{id}, and POST /domains/{id}/verify. PATCH checks
 * what it asks for, and changes nothing. */
extern const struct manage api_domain_get, api_domain_update, api_domain_remove, api_domain_verify;

/* Reads the body of POST /domains into a struct op_domain. 0, or -1 with a
 * problem that names the field. */
int domain_json_parse_new(const json_t *body, void *input, struct problem *problem);

/* The domain as GET /domains/{id} shows it, as an item of GET /domains, and in
 * an answer that only names it; new references. */
json_t *domain_json_render(const struct domain *domain, const json_t *more);
json_t *domain_json_render_item(const struct domain *domain);

/*
 * /api-keys: a company manages its own keys only. A key that is restricted to a
 * domain manages only those that are restricted to it as well, so that it
 * cannot get itself more than it has.
 */

/* GET and POST /api-keys: the valid ones; and the only answer that shows a token. */
extern const struct manage api_key_list, api_key_create;
/* PATCH and DELETE /api-keys/{id}: rename it, and revoke it; the key of the
 * request, too. */
extern const struct manage api_key_update, api_key_remove;

enum { KEY_NAME_MAX = 50 }; /* characters */

/* Reads the body of POST /api-keys, or of PATCH /api-keys/{id}, which has the
 * new name, into a struct op_key. 0, or -1 with a problem that names the field. */
int key_json_parse(const json_t *body, void *input, struct problem *problem);
int key_json_parse_name(const json_t *body, void *input, struct problem *problem);

/* The key as an item of GET /api-keys; a new reference. */
json_t *key_json_render(const struct key *key);

/*
 * /webhooks: a company sees its own only, a key that is restricted to a domain those of this
 * domain. Those of the form API are not among them.
 */

/* POST, GET, PATCH and DELETE, and POST /webhooks/{id}/signing-secret/rotate. */
extern const struct manage api_webhook_create, api_webhook_get, api_webhook_update,
	api_webhook_remove, api_webhook_rotate;
/* GET /webhooks, /webhooks/{id}/events and /webhooks/{id}/events/{event_id}/attempts. */
extern const struct manage api_webhook_list, api_webhook_events, api_webhook_attempts;
void api_webhook_page(struct request *request);
/* GET /webhooks/{id}/events/{event_id}. */
extern const struct manage api_webhook_event;
void api_webhook_show_event(struct request *request);
/* POST /webhooks/{id}/events/{event_id}/replay. */
extern const struct manage api_webhook_replay;
void api_webhook_send_again(struct request *request);

/* Reads the body of POST /webhooks into a struct op_webhook. 0, or -1 with a problem that names
 * the field. */
int webhook_json_parse(const json_t *body, void *input, struct problem *problem);

/*
 * /suppressions: whom the company sends nothing to. What the path names is an id or an address.
 */

/* GET /suppressions; POST; GET and DELETE /suppressions/{id}; POST /suppressions/batch/add and
 * batch/remove. */
void api_suppression_list(struct request *request);
extern const struct manage api_suppression_add, api_suppression_get, api_suppression_remove;
extern const struct manage api_suppression_add_all, api_suppression_remove_all;

#endif
