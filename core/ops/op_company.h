/*
 * op_company: companies.
 */
#ifndef POSTERN_OPS_OP_COMPANY_H
#define POSTERN_OPS_OP_COMPANY_H

#include "core/ops/op.h"

struct op_company {
	const char *name;
};

/* Gives the company. */
extern const struct operation op_company_add;
/* Gives companies by name, with how many domains and valid keys each has, as far as they are
 * counted; members see their own. */
extern const struct operation op_company_list;
/* Gives the one that it is about, with the same counts. */
extern const struct operation op_company_get;
/* Removes a company with its domains, keys and users; its emails stay on record. Gives it, and how
 * many domains and keys it had. */
extern const struct operation op_company_remove;

#endif
