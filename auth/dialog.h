/*
 * dialog: one connection of Postfix's smtpd(8) in Dovecot's authentication
 * protocol, version 1.2: bytes in, bytes out.
 *
 * Lines end with LF, and their words are divided by tabs:
 *
 *	server, at once	VERSION, MECH, SPID, CUID, COOKIE, DONE
 *	smtpd		VERSION 1 0, CPID pid
 *	smtpd		AUTH id PLAIN|LOGIN service=smtp rip=ADDRESS [secured] [resp=BASE64]
 *	server		CONT id BASE64		asks for more
 *	smtpd		CONT id BASE64
 *	server		OK id user=KEY		the id of the key, whatever login was given
 *	server		FAIL id			535 for the client
 *
 * Of FAIL with `temp` smtpd makes 535 as well. A connection that ends while it waits for
 * an answer is 454 to the client; smtpd makes another one for the next login.
 *
 * No I/O but by the check. Threads: one at a time.
 */
#ifndef POSTERN_AUTH_DIALOG_H
#define POSTERN_AUTH_DIALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/id.h"
#include "core/base/mem.h"

enum auth_answer {
	AUTH_OK,
	AUTH_FAIL, /* for good: 535 */
	AUTH_TEMP, /* nobody can tell now: 454 */
};

/* What a client wants to log in with. */
struct auth_attempt {
	const char *client;   /* its address as smtpd tells it; "" when it does not */
	const char *password; /* ended by a NUL that is not counted; wiped later */
	size_t len;
};

/* Decides about an attempt; key_id is set for AUTH_OK. */
typedef enum auth_answer auth_check(
	void *arg, const struct auth_attempt *attempt, char key_id[static ID_SIZE]);

enum {
	DIALOG_LINE_MAX = 16 * 1024, /* smtpd's own lines are shorter */
	DIALOG_OPEN_MAX = 8,         /* logins that wait for more; smtpd has one */
};

struct dialog;

/* A connection that begins: out gets what the server says first. number tells
 * connections apart. */
struct dialog *dialog_new(auth_check *check, void *arg, unsigned number, struct buf *out);
void dialog_free(struct dialog *dialog);
DEFINE_CLEANUP(dialog, dialog_free)

/* Takes what has come, and adds what is to be said to out. The connection is to be
 * closed after 1, when nobody can tell now whether a login is good, and after -1, when
 * the other side does not speak this protocol. */
int dialog_input(struct dialog *dialog, const char *data, size_t len, struct buf *out);

#endif
