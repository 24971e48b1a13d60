/*
 * api_email: the routes /emails of the JSON dialect.
 */
#ifndef POSTERN_HTTPD_API_EMAIL_H
#define POSTERN_HTTPD_API_EMAIL_H

struct request;

/* POST /emails: {"id"}. */
void api_email_send(struct request *request);

/* GET /emails/{id}: one email of the sent folder that the key may see. */
void api_email_get(struct request *request);

/* GET /emails: the sent folder in pages, as far as the key may see it. */
void api_email_list(struct request *request);

#endif
