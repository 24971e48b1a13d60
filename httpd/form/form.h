/*
 * form: a form, as HTTP clients send it: its body taken apart into fields, and
 * their values as text and as lists of addresses.
 *
 * Two encodings, one result: multipart/form-data (RFC 7578, HTML 4.10.22) and
 * application/x-www-form-urlencoded. Fields keep their order, names may stand
 * several times.
 *
 * Multipart bodies are cut into parts by mime_scan, not by GMime's parser,
 * which is made for mail: it goes into files that are messages or multiparts
 * themselves and cannot give their bytes back, and it takes more than a
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
	FORM_PART_HEADER_MAX = 16 * 1024, /* bytes in front of a content */
};

struct form_field {
	/* Without one trailing `[...]`; may hold CR and LF, no NUL. */
	char *name;
	/* NULL: no file. "": a file whose client did not name it. The base
	 * name only. May hold CR and LF, no NUL; UTF-8 if the client's is. */
	char *filename;
	/* As it was given, with its parameters; NULL when not given. */
	char *content_type;
	/* Exactly the bytes; NUL and line breaks of any kind are possible. */
	struct buf value;
};

struct form {
	struct form_field *fields;
	size_t n;
};

#define FORM_INIT ((struct form){0})

/* Reads a body of multipart/form-data; content_type is the whole value of the
 * request's field. Contents in base64 and quoted-printable are decoded, text in
 * another charset becomes UTF-8, the parts of a multipart/mixed become fields
 * of the name that it has.
 *
 * ERR_INVALID with one of these texts: "malformed multipart/form-data request",
 * "unable to parse request: unexpected EOF" for a body that ends early, "too
 * many form fields, max is 4000". The caller clears form_r. */
int form_parse_multipart(const char *content_type, const char *body, size_t len,
	struct form *form_r, struct err *err);

/* Reads a body of application/x-www-form-urlencoded. ERR_INVALID with "unable
 * to parse request: invalid URL escape" (or %00 in a name), or with "too many
 * form fields, max is 4000". The caller clears form_r. */
int form_parse_urlencoded(const char *body, size_t len, struct form *form_r, struct err *err);

/* How many fields the body has at most, told from what stands between them. */
size_t form_fields_max(const char *body, size_t len, bool is_multipart);

/* The next field of the name behind `after` (NULL: the first); NULL when there
 * is none. Names are compared byte for byte. */
const struct form_field *form_next(
	const struct form *form, const char *name, const struct form_field *after);

void form_clear(struct form *form);
#define _cleanup_form_ __attribute__((cleanup(form_clear)))

/* The first value of the name: UTF-8 without NUL. *value_r is NULL when it is
 * not given, and borrowed from form. */
int form_text(
	const struct form *form, const char *name, const char **value_r, struct problem *problem);

/* The same for what stands in a header field: no control characters. */
int form_text_line(
	const struct form *form, const char *name, const char **value_r, struct problem *problem);

/* Checks one value, as form_text() does. */
int form_text_check(const struct form_field *field, struct problem *problem);

/* Whether there is a value that is not blank. */
bool form_text_given(const struct form *form, const char *name);

/* A Message-ID that a client chose: puts brackets around it when there are
 * none. -1 with the problem when it is not valid. */
int form_text_message_id(char **id, struct problem *problem);

/* What a list of addresses may have. */
enum { FORM_TEXT_ADDRS_MAX = 1000 };

/* Appends all mailboxes of all fields of the name, comma lists and repeats,
 * each address once. Ends with one more than FORM_TEXT_ADDRS_MAX when there are
 * more, which the caller must refuse. */
int form_text_addrs(
	const struct form *form, const char *name, struct addr_list *list, struct problem *problem);

/* The same for one comma list; name is for the problem. */
int form_text_split(
	const char *value, const char *name, struct addr_list *list, struct problem *problem);

#endif
