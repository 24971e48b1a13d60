/*
 * op_exemption: who may send as an exclusive domain without a key.
 */
#ifndef POSTERN_OPS_OP_EXEMPTION_H
#define POSTERN_OPS_OP_EXEMPTION_H

#include "core/ops/op.h"

struct op_exemption {
	const char *company_id; /* for a list */
	const char *domain;
	const char *kind; /* login, client or sender */
	const char *value;
	enum op_flag local;
	struct op_items exemptions; /* several for `domain`; each has no domain of its own */
};

/* Gives the exemption. */
extern const struct operation op_exemption_add;
/* Adds all or none of several. Gives those that did not exist yet. */
extern const struct operation op_exemption_add_all;
/* Gives exemptions, newest first, of the domain if one is given. */
extern const struct operation op_exemption_list;
/* Removes one, by its id or, for the command, by its domain, kind and value. Gives its id. */
extern const struct operation op_exemption_remove;
/* Gives the exemptions that recorded mail of a domain would need, most frequent first, each as an
 * input of op_exemption_add; and as `hopeless` the number of messages that no exemption helps. */
extern const struct operation op_exemption_suggest;

#endif
