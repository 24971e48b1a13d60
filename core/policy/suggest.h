/*
 * suggest: which exemptions the mail would need that a domain refused, or would
 * have under another policy.
 *
 * The narrowest exemption that fits: the login, where there is one; the client,
 * where it is another host; else the addresses that were used, because a client
 * on this host is anybody here, and these for this host alone. What is exempt
 * by now is left out.
 */
#ifndef POSTERN_POLICY_SUGGEST_H
#define POSTERN_POLICY_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/store/store_domain.h"
#include "core/store/store_exemption.h"

struct suggestion {
	char *domain;
	enum exemption_kind kind;
	char *value;
	bool local;    /* for this host alone */
	int64_t count; /* of messages */
	int64_t last_us;
};

extern const struct row_type suggestion_type;

struct suggest_list {
	struct suggestion *items; /* the most frequent first */
	size_t n;
	int64_t hopeless; /* messages that no exemption helps */
};

/* From what is recorded of the registered domain; the caller frees the items. 0
 * or -1. */
int suggest_read(
	struct db *db, const struct domain *domain, struct suggest_list *list_r, struct err *err);

#endif
