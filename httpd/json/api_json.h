/*
 * api_json: the routes of the JSON dialect. The table in routes.c calls the
 * handlers; parsers and renderers are declared for tests.
 */
#ifndef POSTERN_HTTPD_JSON_API_JSON_H
#define POSTERN_HTTPD_JSON_API_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/id.h"
#include "core/store/company/store_domain.h"
#include "core/store/company/store_key.h"
#include "httpd/http/problem.h"
#include "httpd/send/draft.h"
#include "httpd/send/send_request.h"

struct admission_rows;
struct manage;
struct request;

/* /emails. Bodies and answers are in email_json.h. */

/* POST /emails: {"id"}. */
void api_email_send(struct request *request);

/* GET /emails/{id}: a sent email that the key may see. With ?state=any also one
 * that waits or was refused. */
void api_email_get(struct request *request);
/* Read it along with the key, and free what was read (struct route). */
int api_email_read(struct db *db, struct admission_rows *rows, struct err *err);
void api_email_announce(struct db *db, const struct admission_rows *rows);
void api_email_row_free(void *row);

/* GET /emails/{id}/events: its events, in the order in which they were
 * recorded. */
void api_email_events(struct request *request);
/* api_attachment.c: the attachments of emails whose messages are kept. */
void api_attachment_list(struct request *request);
void api_attachment_get(struct request *request);
void api_attachment_download(struct request *request);

/* api_unsubscribe.c: the unsubscribe link, for recipients. */
void api_unsubscribe_ask(struct request *request);
void api_unsubscribe(struct request *request);

/* PATCH /emails/{id}: reschedules an email that is scheduled. */
extern const struct manage api_email_update;

/* POST /emails/{id}/cancel: cancels an email that waits. */
extern const struct manage api_email_cancel;

/* GET /emails: the sent emails that the key may see, filtered, in pages. */
void api_email_list(struct request *request);

/* POST /emails/batch: {"data":[{"id"}...]} of the accepted emails, in their
 * order, and "errors":[{"index","message"}...] of the others, if any. */
void api_batch_send(struct request *request);

enum { BATCH_MAX = 100 }; /* emails */

/* emails and problems have n elements. An email with a problem must not be
 * used. Starts zeroed, except for permissive. */
struct batch {
	bool permissive; /* problems are shown with the index of their email; otherwise their fields
			    are named like `[3].to` */
	struct draft *emails;
	struct problem *problems;
	size_t n;
};

/* Parses the body of POST /emails/batch. Returns 0, or -1 with a problem of the
 * whole. */
int batch_json_parse(const char *body, size_t len, int64_t max_recipients, struct batch *batch_r,
	struct problem *problem);
void batch_json_clear(struct batch *batch);
#define _cleanup_batch_ __attribute__((cleanup(batch_json_clear)))

/* Copies the problem of the email at the index, for an answer about the whole
 * batch. If it names no field, it names the email instead. */
void batch_json_name(size_t index, const struct problem *problem, struct problem *named_r);

/* The answer: the ids of accepted emails, and why the others were not; a new
 * reference. */
json_t *batch_json_render(const struct send_outcome *outcome);

/*
 * /domains: a company sees and changes only its own domains, and a key that is
 * bound to a domain only that one. All others do not exist for it.
 */

/* GET and POST /domains. POST asks for a domain. */
extern const struct manage api_domain_list, api_domain_create;
/* GET, PATCH, DELETE /domains/{id}, and POST /domains/{id}/verify. PATCH checks
 * its body and changes nothing. */
extern const struct manage api_domain_get, api_domain_update, api_domain_remove, api_domain_verify;

/* Parses the body of POST /domains into a struct op_domain. Returns 0, or -1
 * with a problem that names the field. */
int domain_json_parse_new(const json_t *body, void *input, struct problem *problem);

/* The domain as shown by GET /domains/{id}, with its records from more, and as
 * an item of GET /domains; new references. */
json_t *domain_json_render(const struct domain *domain, const json_t *more);
json_t *domain_json_render_item(const struct domain *domain);

/*
 * /api-keys: a company manages only its own keys. A key that is bound to a
 * domain manages only keys bound to the same one, so that it cannot get more
 * rights than it has.
 */

/* GET and POST /api-keys. GET lists the valid keys; only the answer to POST
 * shows a token. */
extern const struct manage api_key_list, api_key_create;
/* PATCH and DELETE /api-keys/{id} rename and revoke a key, also the one that
 * makes the request. */
extern const struct manage api_key_update, api_key_remove;

enum { KEY_NAME_MAX = 50 }; /* characters */

/* Parse the bodies of POST /api-keys and of PATCH /api-keys/{id} (the new name)
 * into a struct op_key. Return 0, or -1 with a problem that names the field. */
int key_json_parse(const json_t *body, void *input, struct problem *problem);
int key_json_parse_name(const json_t *body, void *input, struct problem *problem);

/* The key as an item of GET /api-keys; a new reference. */
json_t *key_json_render(const struct key *key);

/*
 * /webhooks: a company sees only its own webhooks, and a key that is bound to a
 * domain only those of that domain. Webhooks of the form API are not included.
 */

/* POST, GET, PATCH and DELETE, and POST /webhooks/{id}/signing-secret/rotate. */
extern const struct manage api_webhook_create, api_webhook_get, api_webhook_update,
	api_webhook_remove, api_webhook_rotate;
/* GET /webhooks, /webhooks/{id}/events and /webhooks/{id}/events/{event_id}/attempts. */
extern const struct manage api_webhook_list, api_webhook_events, api_webhook_attempts;
/* GET /webhooks/{id}/events/{event_id}. */
extern const struct manage api_webhook_event;
/* POST /webhooks/{id}/events/{event_id}/replay. */
extern const struct manage api_webhook_replay;

/*
 * /suppressions: the addresses to which the company's emails are not sent. The
 * path has an id or an address.
 */

/* GET /suppressions; POST; GET and DELETE /suppressions/{id}; POST /suppressions/batch/add and
 * batch/remove. */
void api_suppression_list(struct request *request);
extern const struct manage api_suppression_add, api_suppression_get, api_suppression_remove;
extern const struct manage api_suppression_add_all, api_suppression_remove_all;

#endif
