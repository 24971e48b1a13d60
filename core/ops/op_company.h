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
/* Gives companies by name, each with the number of its domains and valid keys, see
 * store_company_count(); members see only their own. */
extern const struct operation op_company_list;
/* Gives one company, with the same counts. */
extern const struct operation op_company_get;
/* Removes a company with its domains, keys and users, and cancels its emails that wait; its emails
 * stay. Gives it, with the numbers of domains and keys that it had. */
extern const struct operation op_company_remove;

#endif
