/*
 * form_email: the email of a form, in the order of checks of the dialect: from,
 * to, addresses, body; options come after it (form_options).
 */
#ifndef POSTERN_HTTPD_FORM_EMAIL_H
#define POSTERN_HTTPD_FORM_EMAIL_H

#include "httpd/form/form_text.h"
#include "httpd/send/outgoing.h"

/* What is taken of a form. */
struct form_email_rules {
	const char *domain; /* of the path, whose the sender must be */
	int64_t recipients; /* at most, at most FORM_TEXT_ADDRS_MAX */
};

/* Reads POST /v3/{domain}/messages. No side effects; outgoing_r may hold a part
 * of the email on failure. Files are moved out of the form. */
int form_email_parse(struct form *form,
	const struct form_email_rules *rules, struct outgoing *outgoing_r,
	struct problem *problem);

/* Reads POST /v3/{domain}/messages.mime. */
int form_email_parse_mime(struct form *form,
	const struct form_email_rules *rules, struct outgoing *outgoing_r,
	struct problem *problem);

/* Checks the sender's domain against that of the path. */
int form_email_check_domain(
	const struct addr *from, const char *domain, struct problem *problem);

/* Checks how many recipients there are. */
int form_email_check_recipients(size_t n, const struct form_email_rules *rules,
	struct problem *problem);

#endif
