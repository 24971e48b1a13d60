/*
 * target: which addresses postern-webhook may connect to. Companies choose their endpoints, so a
 * name may resolve to anything, and to something else a moment later. What is checked is the
 * address of the connection that is about to be opened.
 */
#ifndef POSTERN_WEBHOOK_TARGET_H
#define POSTERN_WEBHOOK_TARGET_H

#include <stdbool.h>
#include <sys/socket.h>

#include "core/base/cidr.h"
#include "core/base/err.h"

struct target_rules {
	struct cidr_list special; /* addresses that are not public */
	struct cidr_list allowed; /* those of them that webhook.allowed names */
};

/* Reads the setting. Returns 0 or -1; the caller clears the rules in both cases. */
int target_rules_init(struct target_rules *rules, const char *allowed, struct err *err);
void target_rules_clear(struct target_rules *rules);

/* True for an IP address that is public or allowed. */
bool target_is_allowed(const struct target_rules *rules, const struct sockaddr *address);

#endif
