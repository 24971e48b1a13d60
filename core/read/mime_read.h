/*
 * mime_read: what a finished message says (RFC 5322, MIME).
 *
 * The bytes come from anyone, with any line ends. What cannot be read is left
 * out; nothing fails. Time is linear in the length of the message; depth,
 * number of parts and number of addresses are bounded.
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
	/* The value of every From field, unfolded but not decoded; of more than
	 * MIME_READ_FROM_MAX the first ones. Who checks the sender checks that
	 * there is one, and all that it says. */
	struct strv from_fields;
	/* UTF-8, "" when there is none. html and text are the first parts of
	 * these types that are no attachments; their lines end in LF. */
	char *subject;
	char *html;
	char *text;
	/* `<left@right>`, ASCII without blanks; NULL when the field is missing
	 * or is not of that form. */
	char *message_id;
	/* Malformed mailboxes are left out. */
	struct addr_list to;
	struct addr_list cc;
	struct addr_list reply_to;
	bool has_date;
};

/* The caller clears summary_r. */
void mime_read(const char *data, size_t len, struct mime_summary *summary_r);

void mime_summary_clear(struct mime_summary *summary);
#define _cleanup_mime_summary_ __attribute__((cleanup(mime_summary_clear)))

/* A part of a message that is a file; what the message does not say is NULL. */
struct mime_file {
	char *name;       /* UTF-8 without control characters */
	char *type;       /* as `image/png` */
	char *content_id; /* likewise */
	bool is_inline;
	char *encoding;
	struct span content; /* encoded; of the message */
};
struct mime_files {
	struct mime_file *items;
	size_t n;
};
/* All parts but the texts of mime_read(). The caller frees them. */
void mime_read_files(const char *data, size_t len, struct mime_files *files_r);
/* Appends what the file has. */
void mime_file_content(const struct mime_file *file, struct buf *out);
void mime_files_free(struct mime_files *files);
#define _cleanup_mime_files_ __attribute__((cleanup(mime_files_free)))

#endif
