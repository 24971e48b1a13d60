/*
 * postfix_setup: what main.cf and master.cf say about postern-milter: which mail it is not
 * asked about, and what happens to mail while it is unavailable.
 *
 * What a probe message shows is not checked here, nor what needs root's permissions, which
 * postfix-conf/check has.
 */
#ifndef POSTERN_POSTFIX_POSTFIX_SETUP_H
#define POSTERN_POSTFIX_POSTFIX_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/mem.h"

/* Our side of the comparison. */
struct postfix_setup_ours {
	const char *config_dir;     /* as in postconf_read() */
	const char *socket;         /* path of the milter's socket */
	const char *internal_hosts; /* milter.internal_hosts */
	const char *ticket;         /* the address of any ticket */
};

struct postfix_setup {
	char *folder; /* directory of main.cf */
	char *host;
	char *queue;
	bool changes;          /* a rule may add recipients or hold mail */
	bool rewrites;         /* a rule may rewrite From */
	bool lacks_smtpd;      /* smtpd_milters does not have the milter */
	bool lacks_local;      /* non_smtpd_milters does not have the milter */
	char *unchecked;       /* the mail that bypasses the milter, for people; NULL if none */
	char *unguarded;       /* why mail is lost or unchecked while it is unavailable; NULL
				* if not */
	bool tickets_leave;    /* mail to tickets does not wait in the queue if the milter is not
				* asked */
	char *order;           /* the list that has another milter before ours; NULL if none */
	int64_t message_bytes; /* maximum message size; 0: unlimited */
};

/* Runs programs of Postfix and blocks; errors as postconf_read(). Tables that cannot be queried
 * are assumed to be correct. */
int postfix_setup_read(
	const struct postfix_setup_ours *ours, struct postfix_setup *setup_r, struct err *err);
void postfix_setup_clear(struct postfix_setup *setup);

#endif
