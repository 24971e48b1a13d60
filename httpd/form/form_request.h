/*
 * form_request: the body of a form request, unpacked and taken apart.
 */
#ifndef POSTERN_HTTPD_FORM_REQUEST_H
#define POSTERN_HTTPD_FORM_REQUEST_H

#include "core/mail/form.h"
#include "httpd/http/problem.h"

struct send_body;

/* Reads the body by its Content-Type, after Content-Encoding gzip; both kinds
 * of form, or multipart alone. Other media types are refused; no type and no
 * body is a form without fields. Drops the body. */
int form_request_read(struct send_body *body, bool multipart_only,
	struct form *form_r, struct problem *problem);

#endif
