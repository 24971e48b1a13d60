/*
 * email_json: emails in the JSON dialect, in and out.
 */
#ifndef POSTERN_HTTPD_JSON_EMAIL_JSON_H
#define POSTERN_HTTPD_JSON_EMAIL_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "core/store/store_email.h"
#include "core/store/store_event.h"
#include "httpd/send/draft.h"
#include "httpd/http/problem.h"

struct json_query;

/* How many recipients an email may have, unless the settings say otherwise. */
enum { EMAIL_JSON_RECIPIENTS = 50 };

/* Reads the body of POST /emails. No side effects. 0, or -1 with a problem that
 * names the field; draft_r may hold a part of the email then. */
int email_json_parse(const char *body, size_t len, int64_t max_recipients, struct draft *draft_r,
	struct problem *problem);

/* The same for an email that stands in a larger body. */
int email_json_read(const json_t *email, int64_t max_recipients, struct draft *draft_r,
	struct problem *problem);

/* The field `scheduled_at`, a time within SCHEDULE_MAX_DAYS; 0 when it is not given.
 * place is that of the object, as `[3].`. 0, or -1 with the problem. */
enum { SCHEDULE_MAX_DAYS = 30 };
int email_json_schedule(
	const json_t *object, const char *place, int64_t *time_us_r, struct problem *problem);

/* An email as GET /emails/{id} shows it, but for its content; NULL when it
 * cannot be shown. with_state: also one that waits or was refused. A new
 * reference. */
json_t *email_json_render(const struct email *email, bool with_state);
/* The object, which is given away, with the content of the email: html and
 * text. NULL when it cannot be printed. */
char *email_json_print(json_t *object, const struct email *email);
/* How many bytes the content has. */
size_t email_json_content_size(const struct email *email);
/* An event of an email, as GET /emails/{id}/events shows it. */
json_t *email_json_render_event(const struct email_event *event);
/* The email as an item of GET /emails: without html, text and tags. */
json_t *email_json_render_item(const struct email *email);

/* The parameter `status` of a search, NULL when it is not given: the last event
 * of an email, or for admins that it waits or was refused. 0, or -1 with the
 * problem. */
int email_json_status(const struct json_query *query, bool for_admins, const char **status_r,
	struct problem *problem);

#endif
