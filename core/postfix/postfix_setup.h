/*
 * postfix_setup: what main.cf and master.cf say about mail and postern-milter:
 * which mail it is not asked about, and what happens to mail while it is away.
 *
 * What a message shows by itself is not looked for here; nor what
 * postfix-conf/check alone can tell, which has root's rights.
 */
#ifndef POSTERN_POSTFIX_POSTFIX_SETUP_H
#define POSTERN_POSTFIX_POSTFIX_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/mem.h"

/* What is compared with Postfix's settings. */
struct postfix_setup_ours {
	const char *config_dir;     /* as for postconf_read() */
	const char *socket;         /* of the milter; a path */
	const char *internal_hosts; /* milter.internal_hosts */
	const char *ticket;         /* the address of any */
};

struct postfix_setup {
	char *folder; /* of main.cf */
	char *host;
	char *queue;
	bool changes;          /* a rule may add a recipient, or hold mail */
	bool rewrites;         /* it may put another address into From */
	bool lacks_smtpd;      /* smtpd_milters lacks the milter; */
	bool lacks_local;      /* non_smtpd_milters does */
	char *unchecked;       /* mail that passes the milter by, in words; or NULL */
	char *unguarded;       /* why mail is lost while it is away; or NULL */
	char *order;           /* the list in which another milter comes first; or NULL */
	int64_t message_bytes; /* how large a message may be; 0: no bound */
};

/* Runs programs of Postfix, and blocks; the errors of postconf_read(). What a
 * table would say that cannot be asked is taken to be right. */
int postfix_setup_read(
	const struct postfix_setup_ours *ours, struct postfix_setup *setup_r, struct err *err);
void postfix_setup_clear(struct postfix_setup *setup);

#endif
