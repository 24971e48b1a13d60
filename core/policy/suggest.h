/*
 * suggest: finds the exemptions that would let pass the mail that a domain refused, or would
 * refuse under another policy.
 *
 * It suggests the narrowest exemption: the login if there is one; the client if it is another
 * host; otherwise the addresses used, for this host only, because any local program can be the
 * client. What is already exempt is left out.
 */
#ifndef POSTERN_POLICY_SUGGEST_H
#define POSTERN_POLICY_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/store/company/store_domain.h"
#include "core/store/company/store_exemption.h"

struct suggestion {
	char *domain;
	enum exemption_kind kind;
	char *value;
	bool local;    /* for this host only */
	int64_t count; /* number of messages */
	int64_t last_us;
};

extern const struct row_type suggestion_type;

struct suggest_list {
	struct suggestion *items; /* most frequent first */
	size_t n;
	int64_t hopeless; /* number of messages that no exemption would let pass */
};

/* Reads the recorded mail of a registered domain. Returns 0, or -1 on error. The caller frees
 * the items. */
int suggest_read(
	struct db *db, const struct domain *domain, struct suggest_list *list_r, struct err *err);

#endif
