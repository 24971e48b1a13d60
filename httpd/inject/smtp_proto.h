/*
 * smtp_proto: the client side of SMTP (RFC 5321) without I/O: parses replies,
 * formats the commands of an envelope and the message.
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
	SMTP_REPLY_TEXT_MAX = 2048,  /* bytes of a reply's text, with the NUL; the rest is cut */
	SMTP_REPLY_STATUS_SIZE = 12, /* such as 5.7.1, with the NUL */
};

/* RFC 5321 4.2. */
struct smtp_reply {
	int code;                            /* 200 to 599 */
	char status[SMTP_REPLY_STATUS_SIZE]; /* enhanced status code (RFC 2034) of the last line, or
						"" */
	/* UTF-8. The only control character is LF, between lines. Enhanced
	 * status codes are left out. */
	char text[SMTP_REPLY_TEXT_MAX];
};

/* Parses the reply at the beginning of the bytes. Returns 1 and its length, 0
 * if it is incomplete, -1 if it is not SMTP or too long. */
int smtp_reply_read(const char *data, size_t len, struct smtp_reply *reply_r, size_t *used_r);

/* The extensions in a server's reply to EHLO (RFC 5321 4.1.1.1). */
struct smtp_extensions {
	bool pipelining; /* RFC 2920 */
	bool size;       /* RFC 1870 */
	bool eight_bit;  /* 8BITMIME, RFC 6152 */
	bool utf8;       /* SMTPUTF8, RFC 6531 */
	bool chunking;   /* CHUNKING, RFC 3030 */
};

/* text is that of the reply, its lines separated by LF; the first one is a
 * greeting. */
struct smtp_extensions smtp_ehlo_read(const char *text);

/* The commands of a message (RFC 5321 4.1). RCPT is sent twice: with a single
 * recipient smtpd would write the address into the Received field. */
enum smtp_command { SMTP_MAIL, SMTP_RCPT, SMTP_RCPT_AGAIN, SMTP_CONTENT, SMTP_COMMANDS };

/* True if the content is sent with the commands, as one BDAT chunk; otherwise
 * DATA asks for it. */
bool smtp_is_chunked(const struct smtp_extensions *extensions);

/* What MAIL and BDAT say about a message, whose lines end in LF. To find it out is to read the
 * whole message. */
struct smtp_shape {
	size_t size;      /* with CRLF, as RFC 1870 counts */
	bool eight_bit;   /* has bytes above 127 */
	bool utf8_header; /* has such bytes in its header */
	bool unfinished;  /* the last line has no end; CRLF is added */
};

void smtp_shape_read(const struct buf *message, struct smtp_shape *shape_r);

/* Appends the command. MAIL gets the parameters that the server offers; SMTP_CONTENT is BDAT or
 * DATA. shape is that of the submission's message. */
void smtp_command_add(const struct submission *submission, const struct smtp_shape *shape,
	enum smtp_command command, const struct smtp_extensions *extensions, struct buf *out);

/* The subject of the command for an error text, such as `the sender
 * <a@example.com>`; a new string. */
char *smtp_command_about(const struct submission *submission, enum smtp_command command);

/* True if a refusal of the command is about the email. A refused RCPT is about
 * Postfix, which does not know how to route the ticket. */
bool smtp_command_is_email(enum smtp_command command);

/*
 * A message in the form in which SMTP transfers it.
 *
 * Lines end in CRLF instead of LF. Without chunking a dot at the start of a
 * line is doubled (RFC 5321 4.5.2), and a line with a single dot ends the
 * message. It is encoded piece by piece, so that a large message is not in
 * memory twice.
 */

/* The state of the transfer of a message. */
struct smtp_data {
	const char *at;
	const char *end;
	bool chunked;
	bool in_line; /* at is within a line */
	bool ended;   /* all pieces were returned */
};

enum { SMTP_DATA_MIN = 8 }; /* minimum size of a piece */

/* The message must stay unchanged until the end. */
void smtp_data_init(struct smtp_data *data, const struct buf *message, bool chunked);

/* Writes the next piece, of at most size bytes (at least SMTP_DATA_MIN);
 * returns its length, 0 after the end. */
size_t smtp_data_next(struct smtp_data *data, char *out, size_t size);

/* The result of an unwanted reply: INJECT_REJECTED for 5xx, else
 * INJECT_TEMPORARY. err says what Postfix refused (about), and its reply. */
enum inject_result smtp_refusal(const struct smtp_reply *reply, const char *about, struct err *err);

#endif
