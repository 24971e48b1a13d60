/*
 * api_form: the routes below /v3 of the form dialect.
 */
#ifndef POSTERN_HTTPD_FORM_API_FORM_H
#define POSTERN_HTTPD_FORM_API_FORM_H

struct request;

/* POST /v3/{domain}/messages and /v3/{domain}/messages.mime: {"id","message"},
 * the id being the message id. */
void api_form_send(struct request *request);
void api_form_send_mime(struct request *request);

#endif
