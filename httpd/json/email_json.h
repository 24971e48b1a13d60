/*
 * email_json: parses emails in the JSON dialect, and prints them with their content.
 */
#ifndef POSTERN_HTTPD_JSON_EMAIL_JSON_H
#define POSTERN_HTTPD_JSON_EMAIL_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "core/store/email/store_email.h"
#include "httpd/send/draft.h"
#include "httpd/http/problem.h"

/* The maximum number of recipients, unless the settings have another one. */
enum { EMAIL_JSON_RECIPIENTS = 50 };

/* Parses the body of POST /emails, without side effects. Returns 0, or -1 with
 * a problem that names the field; draft_r may then hold a part of the email.
 * The caller clears it in both cases. */
int email_json_parse(const char *body, size_t len, int64_t max_recipients, struct draft *draft_r,
	struct problem *problem);

/* Reads an email that is a part of a larger body, as email_json_parse() does. */
int email_json_read(const json_t *email, int64_t max_recipients, struct draft *draft_r,
	struct problem *problem);

/* Parses `scheduled_at`, a time within SCHEDULE_MAX_DAYS; 0 if it is not given.
 * place is the prefix of the object in problems, such as `[3].`. Returns 0, or
 * -1 with the problem. */
enum { SCHEDULE_MAX_DAYS = 30 };
int email_json_schedule(
	const json_t *object, const char *place, int64_t *time_us_r, struct problem *problem);

/* Prints the object with html and text of the email. Takes ownership of the
 * object. NULL if it cannot be printed. */
char *email_json_print(json_t *object, const struct email *email);
/* The size of the content in bytes. */
size_t email_json_content_size(const struct email *email);

#endif
