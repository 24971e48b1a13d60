/*
 * op_exemption: who sends as an exclusive domain without a key.
 */
#ifndef POSTERN_OPS_OP_EXEMPTION_H
#define POSTERN_OPS_OP_EXEMPTION_H

#include "core/ops/op.h"

struct op_exemption {
	const char *company_id; /* of a list */
	const char *domain;
	const char *kind; /* login, client or sender */
	const char *value;
	enum op_flag local;
	struct op_items exemptions; /* several, for the domain: each without one */
};

/* Gives the exemption. */
extern const struct operation op_exemption_add;
/* Adds several, or none. Gives them, but for those that are there already. */
extern const struct operation op_exemption_add_all;
/* Gives exemptions, the newest first, of the domain if one is given. */
extern const struct operation op_exemption_list;
/* Removes one, by its id or, for the command, by its domain and what it was added with. Gives its
 * id. */
extern const struct operation op_exemption_remove;
/* Gives what recorded mail of a domain would need, the most frequent first, each an input of
 * op_exemption_add; and how many messages no exemption helps, as `hopeless`. */
extern const struct operation op_exemption_suggest;

#endif
