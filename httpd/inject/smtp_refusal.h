/*
 * smtp_refusal: what a reply that is not the wished one means.
 */
#ifndef POSTERN_HTTPD_SMTP_REFUSAL_H
#define POSTERN_HTTPD_SMTP_REFUSAL_H

#include "core/base/err.h"
#include "httpd/inject/inject.h"
#include "httpd/inject/smtp_reply.h"

/* INJECT_REJECTED for 5xx, else INJECT_TEMPORARY; err says of what it was the
 * answer, and what Postfix said. */
enum inject_result smtp_refusal(
	const struct smtp_reply *reply, const char *about, struct err *err);

#endif
