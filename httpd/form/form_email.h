/*
 * form_email: the email of a form, in the order of checks of the dialect: from,
 * to, addresses, body, options (form_options).
 */
#ifndef POSTERN_HTTPD_FORM_FORM_EMAIL_H
#define POSTERN_HTTPD_FORM_FORM_EMAIL_H

#include "httpd/form/form.h"
#include "httpd/send/draft.h"

struct mime_message;

/* What is taken of a form. */
struct form_email_rules {
	const char *domain; /* of the path, whose the sender must be */
	int64_t recipients; /* at most, at most FORM_TEXT_ADDRS_MAX */
	int64_t now_us;
};

/* Reads POST /v3/{domain}/messages. No side effects; draft_r may hold a part
 * of the email on failure. Files are moved out of the form. */
int form_email_parse(struct form *form, const struct form_email_rules *rules, struct draft *draft_r,
	struct problem *problem);

/* Reads POST /v3/{domain}/messages.mime. */
int form_email_parse_mime(struct form *form, const struct form_email_rules *rules,
	struct draft *draft_r, struct problem *problem);

/* The content ids of inline files, and the html that speaks of them.
 *
 * The form dialect names an inline file by its file name, `cid:NAME`. A name
 * with blanks or other characters than ASCII cannot be a Content-ID, and mail
 * programs differ in how they read an escaped one (RFC 2392). So such a file
 * gets an id that all read alike, and the html, which is not seen, speaks of
 * that, where it has `cid:NAME`, plain or with percent-encoding. */
void form_cid_apply(struct mime_message *message);

#endif
