/*
 * smtp_proto: SMTP as its client reads and writes it, without I/O: replies, the
 * commands of an envelope, the message (RFC 5321).
 */
#ifndef POSTERN_HTTPD_INJECT_SMTP_PROTO_H
#define POSTERN_HTTPD_INJECT_SMTP_PROTO_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "httpd/inject/inject.h"

enum {
	SMTP_REPLY_MAX = 8192,       /* bytes of a whole reply */
	SMTP_REPLY_TEXT_MAX = 2048,  /* of its text; the rest is cut */
	SMTP_REPLY_STATUS_SIZE = 12, /* as 5.7.1, with the NUL */
};

/* RFC 5321 4.2. */
struct smtp_reply {
	int code;                            /* 200 to 599 */
	char status[SMTP_REPLY_STATUS_SIZE]; /* RFC 2034, of the last line; ""
					      * without */
	/* UTF-8 without control characters but the LF between its lines;
	 * statuses are left out. */
	char text[SMTP_REPLY_TEXT_MAX];
};

/* Reads the reply that the bytes begin with: 1 and how many bytes it has; 0
 * when it is not there to its end; -1 when this is no SMTP, or too long. */
int smtp_reply_read(const char *data, size_t len, struct smtp_reply *reply_r, size_t *used_r);

/* What a server offers in its reply to EHLO (RFC 5321 4.1.1.1). */
struct smtp_extensions {
	bool pipelining; /* RFC 2920 */
	bool size;       /* RFC 1870 */
	bool eight_bit;  /* 8BITMIME, RFC 6152 */
	bool utf8;       /* SMTPUTF8, RFC 6531 */
	bool chunking;   /* CHUNKING, RFC 3030 */
};

/* text: of the reply, its lines separated by LF; the first one is a greeting. */
struct smtp_extensions smtp_ehlo_read(const char *text);

/* The commands of a message (RFC 5321 4.1). The recipient is said twice: of one
 * alone, smtpd would write the address into the field Received. */
enum smtp_command { SMTP_MAIL, SMTP_RCPT, SMTP_RCPT_AGAIN, SMTP_CONTENT, SMTP_COMMANDS };

/* Whether the content goes out with the commands, all at once, as a chunk; else
 * it is asked for. */
bool smtp_is_chunked(const struct smtp_extensions *extensions);

/* Appends the command. MAIL tells what of the message the server offers to
 * hear; SMTP_CONTENT is BDAT or DATA. */
void smtp_command_add(const struct submission *submission, enum smtp_command command,
	const struct smtp_extensions *extensions, struct buf *out);

/* What the command was about, for people: `the sender <a@example.com>`; a new
 * string. */
char *smtp_command_about(const struct submission *submission, enum smtp_command command);

/* Whether a refusal of the command is about the email. One of the recipient is
 * about Postfix, which does not know where it belongs. */
bool smtp_command_is_email(enum smtp_command command);

/*
 * A message in the form in which SMTP transfers it.
 *
 * Lines end in CRLF instead of LF. Unless it goes as a chunk, a dot at the
 * beginning of a line is doubled (RFC 5321 4.5.2), and a line with a single dot
 * ends it all. A piece at a time, so that a large message is not there twice.
 */

/* Where the transfer of a message stands. */
struct smtp_data {
	const char *at;
	const char *end;
	bool chunked;
	bool in_line; /* what comes next is not the beginning of a line */
	bool ended;   /* all of it was handed out */
};

enum { SMTP_DATA_MIN = 8 }; /* room that a piece needs */

/* The message must last, unchanged, until the end. */
void smtp_data_init(struct smtp_data *data, const struct buf *message, bool chunked);

/* Writes the next piece, of at most size bytes (at least SMTP_DATA_MIN);
 * returns its length, 0 after the end. */
size_t smtp_data_next(struct smtp_data *data, char *out, size_t size);

/* What a reply that is not the wished one means: INJECT_REJECTED for 5xx, else
 * INJECT_TEMPORARY; err says of what it was the answer, and what Postfix said. */
enum inject_result smtp_refusal(const struct smtp_reply *reply, const char *about, struct err *err);

#endif
