/*
 * form: parses a form that an HTTP client sends into fields, and their values
 * as text and as lists of addresses.
 *
 * Two encodings, one result: multipart/form-data (RFC 7578, HTML 4.10.22) and
 * application/x-www-form-urlencoded. Fields keep their order, and a name may
 * occur several times.
 *
 * Multipart bodies are split by mime_scan instead of GMime's parser, which is
 * made for mail: it descends into files that are messages or multiparts
 * themselves, cannot return their original bytes, and takes more than a
 * kilobyte of memory for each part, without a bound.
 */
#ifndef POSTERN_HTTPD_FORM_FORM_H
#define POSTERN_HTTPD_FORM_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/address/addr.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "httpd/http/problem.h"

enum {
	FORM_FIELDS_MAX = 4000,
	FORM_PART_HEADER_MAX = 16 * 1024, /* bytes of a part before its content */
};

struct form_field {
	/* The field's name without one trailing `[...]`. May contain CR and LF, but no NUL. */
	char *name;
	/* NULL if it is not a file; "" for a file without a name. Only the base
	 * name. May contain CR and LF, but no NUL. UTF-8 if the client sends
	 * that. */
	char *filename;
	/* The part's Content-Type with its parameters; NULL if it has none. */
	char *content_type;
	/* The exact bytes; may contain NUL and any line breaks. */
	struct buf value;
};

struct form {
	struct form_field *fields;
	size_t n;
};

#define FORM_INIT ((struct form){0})

/* Parses a multipart/form-data body; content_type is the whole value of the
 * request's field. Content in base64 and quoted-printable is decoded, text in
 * another charset is converted to UTF-8, and the parts of a multipart/mixed
 * become fields with its name.
 *
 * ERR_INVALID with one of these texts: "malformed multipart/form-data request",
 * "unable to parse request: unexpected EOF" for a body that ends early, "too
 * many form fields, max is 4000". The caller clears form_r. */
int form_parse_multipart(const char *content_type, const char *body, size_t len,
	struct form *form_r, struct err *err);

/* Parses an application/x-www-form-urlencoded body. ERR_INVALID with "unable to
 * parse request: invalid URL escape" (also for %00 in a name), or with "too
 * many form fields, max is 4000". The caller clears form_r. */
int form_parse_urlencoded(const char *body, size_t len, struct form *form_r, struct err *err);

/* An upper bound of the number of fields, from the separators in the body. */
size_t form_fields_max(const char *body, size_t len, bool is_multipart);

/* The next field with the name after `after` (NULL for the first), or NULL.
 * Names are compared byte for byte. */
const struct form_field *form_next(
	const struct form *form, const char *name, const struct form_field *after);

void form_clear(struct form *form);
#define _cleanup_form_ __attribute__((cleanup(form_clear)))

/* The first value of the name, checked to be UTF-8 without NUL. *value_r is
 * NULL if it is not given or empty, and borrowed from form. Returns 0, or -1
 * with the problem, like the functions below. */
int form_text(
	const struct form *form, const char *name, const char **value_r, struct problem *problem);

/* Reads the value of a header field: a text without control characters. */
int form_text_line(
	const struct form *form, const char *name, const char **value_r, struct problem *problem);

/* Checks one value, as form_text() does. */
int form_text_check(const struct form_field *field, struct problem *problem);

/* True if any value of the name is not blank. */
bool form_text_given(const struct form *form, const char *name);

/* Adds angle brackets to a client's Message-ID if there are none, and checks
 * it. Returns 0, or -1 with the problem. */
int form_text_message_id(char **id, struct problem *problem);

/* The maximum length of a list of addresses. */
enum { FORM_TEXT_ADDRS_MAX = 1000 };

/* Appends the mailboxes of all fields with the name, each a comma-separated
 * list, without duplicates. Stops at FORM_TEXT_ADDRS_MAX + 1, which the caller
 * must refuse. */
int form_text_addrs(
	const struct form *form, const char *name, struct addr_list *list, struct problem *problem);

/* Splits one comma-separated list. name is for the text of the problem. */
int form_text_split(
	const char *value, const char *name, struct addr_list *list, struct problem *problem);

#endif
