/*
 * target: which addresses postern-webhook connects to. Companies choose their endpoints, so a name
 * may lead anywhere, and elsewhere a moment later: what counts is the address that is about to be
 * connected to.
 */
#ifndef POSTERN_WEBHOOK_TARGET_H
#define POSTERN_WEBHOOK_TARGET_H

#include <stdbool.h>
#include <sys/socket.h>

#include "core/base/cidr.h"
#include "core/base/err.h"

struct target_rules {
	struct cidr_list special; /* no public addresses */
	struct cidr_list allowed; /* of these, by webhook.allowed */
};

/* Reads the setting. 0 or -1. The caller clears the rules. */
int target_rules_init(struct target_rules *rules, const char *allowed, struct err *err);
void target_rules_clear(struct target_rules *rules);

/* Whether it may be connected to: an IP address that is public, or allowed. */
bool target_is_allowed(const struct target_rules *rules, const struct sockaddr *address);

#endif
