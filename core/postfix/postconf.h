/*
 * postconf: what the local Postfix is configured to.
 */
#ifndef POSTERN_POSTFIX_POSTCONF_H
#define POSTERN_POSTFIX_POSTCONF_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/* The values of n parameters of Postfix, with what they refer to put in
 * (postconf -x), asked of postconf(1) for the configuration folder ("" or NULL:
 * Postfix's default). Those that Postfix does not know are "". The caller frees
 * each value. Blocks while it runs, for seconds at most. ERR_CONFIG when there
 * is no Postfix, or no such configuration. */
int postconf_read(const char *config_dir, const char *const *names, size_t n,
	char **values_r, struct err *err);

/* The parameters that list the domains which Postfix has as its own. */
enum { POSTCONF_OWN_DOMAINS = 5 };
extern const char *const postconf_own_domains[POSTCONF_OWN_DOMAINS];

/* Whether the table, as `hash:/etc/postfix/virtual`, has the key: postmap -q.
 * 1, 0, or -1 when it cannot be asked. Blocks, for seconds at most. */
int postconf_look_up(const char *config_dir, const char *table, const char *key,
	struct err *err);

#endif
