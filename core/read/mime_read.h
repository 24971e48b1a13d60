/*
 * mime_read: reads what a finished message says (RFC 5322, MIME).
 *
 * The bytes are untrusted and may have any line ends. What cannot be read is left out; nothing
 * fails. Time is linear in the length of the message. Depth, number of parts and number of
 * addresses are limited.
 */
#ifndef POSTERN_READ_MIME_READ_H
#define POSTERN_READ_MIME_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "core/address/addr.h"
#include "core/base/buf.h"
#include "core/base/span.h"
#include "core/base/strv.h"

enum { MIME_READ_FROM_MAX = 16 };

struct mime_summary {
	/* The values of all From fields, unfolded but not decoded; at most the first
	 * MIME_READ_FROM_MAX. A caller that checks the sender must check that there is only
	 * one, and its whole value. */
	struct strv from_fields;
	/* UTF-8, "" if there is none. html and text are the first parts of these types that are
	 * not attachments, with LF line ends. */
	char *subject;
	char *html;
	char *text;
	/* `<left@right>`, ASCII without blanks; NULL if the field is missing or has another
	 * form. */
	char *message_id;
	/* Malformed mailboxes are left out. */
	struct addr_list to;
	struct addr_list cc;
	struct addr_list reply_to;
	bool has_date;
};

/* The caller calls mime_summary_clear(). */
void mime_read(const char *data, size_t len, struct mime_summary *summary_r);

/* Reads html and text alone, without the header fields of the message. The caller frees both. */
void mime_read_texts(const char *data, size_t len, char **html_r, char **text_r);

void mime_summary_clear(struct mime_summary *summary);
#define _cleanup_mime_summary_ __attribute__((cleanup(mime_summary_clear)))

/* A part of a message that is a file. Members that the message does not give are NULL. */
struct mime_file {
	char *name;       /* UTF-8 without control characters */
	char *type;       /* such as `image/png` */
	char *content_id; /* without <>, no control characters */
	bool is_inline;
	char *encoding;
	struct span content; /* still encoded; points into the message */
};
struct mime_files {
	struct mime_file *items;
	size_t n;
};
/* Lists all parts except the texts of mime_read(). The caller calls mime_files_free(). */
void mime_read_files(const char *data, size_t len, struct mime_files *files_r);
/* Appends the decoded content of the file. */
void mime_file_content(const struct mime_file *file, struct buf *out);
void mime_files_free(struct mime_files *files);
#define _cleanup_mime_files_ __attribute__((cleanup(mime_files_free)))

#endif
