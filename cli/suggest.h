/*
 * suggest: the exemptions that mail would have needed which a domain refused,
 * or let pass because it only learns.
 */
#ifndef POSTERN_CLI_SUGGEST_H
#define POSTERN_CLI_SUGGEST_H

#include "core/store/store_domain.h"
#include "core/store/store_exemption.h"

struct suggestion {
	enum exemption_kind kind;
	char *value;
	bool local;    /* for this host alone */
	int64_t count; /* of messages */
	int64_t last_us;
};

struct suggest_list {
	struct suggestion *items; /* the most frequent first */
	size_t n;
	int64_t hopeless; /* messages that no exemption helps */
};

/* The caller frees the list. 0 or -1. */
int suggest_read(struct db *db, const struct domain *domain,
	struct suggest_list *list_r, struct err *err);
void suggest_list_free(struct suggest_list *list);

/* The command that makes the exemption, quoted for a shell; a new string. */
char *suggest_command(
	const struct domain *domain, const struct suggestion *suggestion);

#endif
