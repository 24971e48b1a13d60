/*
 * dialog: one connection of Postfix's smtpd(8) in Dovecot's authentication protocol, version
 * 1.2: bytes in, bytes out.
 *
 * Lines end with LF, fields are separated by tabs:
 *
 *	server, at once	VERSION, MECH, SPID, CUID, COOKIE, DONE
 *	smtpd		VERSION 1 0, CPID pid
 *	smtpd		AUTH id PLAIN|LOGIN service=smtp rip=ADDRESS [secured] [resp=BASE64]
 *	server		CONT id BASE64		asks for more
 *	smtpd		CONT id BASE64
 *	server		OK id user=KEY		the id of the key, whatever login was given
 *	server		FAIL id			535 for the client
 *
 * smtpd answers 535 to a FAIL with `temp` as well. Closing the connection instead of answering
 * gives the client 454; smtpd reconnects for the next login.
 *
 * No I/O, except by the check. Threads: one at a time.
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
	AUTH_FAIL, /* permanent: 535 */
	AUTH_TEMP, /* cannot be decided now: 454 */
};

/* The credentials of a client. */
struct auth_attempt {
	const char *client;   /* its address from smtpd; "" if smtpd sends none */
	const char *password; /* followed by a NUL that len does not count; wiped after the
			       * check */
	size_t len;
};

/* Decides about an attempt. Sets key_id for AUTH_OK. */
typedef enum auth_answer auth_check(
	void *arg, const struct auth_attempt *attempt, char key_id[static ID_SIZE]);

enum {
	DIALOG_LINE_MAX = 16 * 1024, /* smtpd's own lines are shorter */
	DIALOG_OPEN_MAX = 8,         /* logins that wait for a response; smtpd has one at a
				      * time */
};

struct dialog;

/* Starts a connection and appends the server's greeting to out. number must be unique per
 * connection (CUID). */
struct dialog *dialog_new(auth_check *check, void *arg, unsigned number, struct buf *out);
void dialog_free(struct dialog *dialog);
DEFINE_CLEANUP(dialog, dialog_free)

/* Handles received bytes and appends the replies to out. Returns 0 to go on. The caller closes
 * the connection on 1, when a login cannot be decided now, and on -1, when the peer does not
 * speak this protocol. */
int dialog_input(struct dialog *dialog, const char *data, size_t len, struct buf *out);

#endif
