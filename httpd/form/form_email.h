/*
 * form_email: parses the email of a form. The dialect checks in this order:
 * from, to, addresses, body, options (form_options).
 */
#ifndef POSTERN_HTTPD_FORM_FORM_EMAIL_H
#define POSTERN_HTTPD_FORM_FORM_EMAIL_H

#include "httpd/form/form.h"
#include "httpd/send/draft.h"

struct mime_message;

/* What a form is checked against. */
struct form_email_rules {
	const char *domain; /* the domain in the path, which From must have */
	int64_t recipients; /* the maximum; no more than FORM_TEXT_ADDRS_MAX */
	int64_t now_us;
};

/* Parses POST /v3/{domain}/messages, without side effects. On failure draft_r
 * may hold a part of the email. Files are moved out of the form. Returns 0, or
 * -1 with the problem. */
int form_email_parse(struct form *form, const struct form_email_rules *rules, struct draft *draft_r,
	struct problem *problem);

/* Reads the form of POST /v3/{domain}/messages.mime. */
int form_email_parse_mime(struct form *form, const struct form_email_rules *rules,
	struct draft *draft_r, struct problem *problem);

/* Makes content ids for inline files, and replaces them in the html.
 *
 * The form dialect refers to an inline file by its file name, `cid:NAME`. A
 * name with blanks or non-ASCII characters cannot be a Content-ID, and mail
 * programs differ in how they read an escaped one (RFC 2392). So such a file
 * gets a plain id, which replaces NAME in the html wherever it has `cid:NAME`,
 * plain or percent-encoded. */
void form_cid_apply(struct mime_message *message);

#endif
