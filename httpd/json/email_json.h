/*
 * email_json: parses and renders emails in the JSON dialect.
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

/* The maximum number of recipients, unless the settings have another one. */
enum { EMAIL_JSON_RECIPIENTS = 50 };

/* Parses the body of POST /emails, without side effects. Returns 0, or -1 with
 * a problem that names the field; draft_r may then hold a part of the email.
 * The caller clears it in both cases. */
int email_json_parse(const char *body, size_t len, int64_t max_recipients, struct draft *draft_r,
	struct problem *problem);

/* The same for an email within a larger body. */
int email_json_read(const json_t *email, int64_t max_recipients, struct draft *draft_r,
	struct problem *problem);

/* Parses `scheduled_at`, a time within SCHEDULE_MAX_DAYS; 0 if it is not given.
 * place is the prefix of the object in problems, such as `[3].`. Returns 0, or
 * -1 with the problem. */
enum { SCHEDULE_MAX_DAYS = 30 };
int email_json_schedule(
	const json_t *object, const char *place, int64_t *time_us_r, struct problem *problem);

/* An email as GET /emails/{id} shows it, without its content; NULL if it cannot
 * be rendered. with_state adds its state, for emails that wait or were refused.
 * A new reference. */
json_t *email_json_render(const struct email *email, bool with_state);
/* Prints the object with html and text of the email. Takes ownership of the
 * object. NULL if it cannot be printed. */
char *email_json_print(json_t *object, const struct email *email);
/* The size of the content in bytes. */
size_t email_json_content_size(const struct email *email);
/* An event of an email, as GET /emails/{id}/events shows it. */
json_t *email_json_render_event(const struct email_event *event);
/* The email as an item of GET /emails: without html, text, tags and recipients. */
json_t *email_json_render_item(const struct email *email);

/* The parameter `status` of a search, or NULL if it is not given: the last
 * event of an email; for admins also the states of emails that wait or were
 * refused. Returns 0, or -1 with the problem. */
int email_json_status(const struct json_query *query, bool for_admins, const char **status_r,
	struct problem *problem);

#endif
