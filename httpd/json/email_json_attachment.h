/*
 * email_json_attachment: `attachments` of the JSON dialect.
 */
#ifndef POSTERN_HTTPD_EMAIL_JSON_ATTACHMENT_H
#define POSTERN_HTTPD_EMAIL_JSON_ATTACHMENT_H

#include <jansson.h>

#include "core/mail/mime_message.h"
#include "httpd/http/problem.h"

/* Reads the attachments of the email into message. */
int email_json_attachments(const json_t *email, struct mime_message *message,
	struct problem *problem);

#endif
