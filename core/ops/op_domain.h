/*
 * op_domain: sending domains.
 *
 * The command names a domain, and with a company one that this company may only have asked for;
 * over HTTP it is the id. A domain that is not its own is not there for a company, nor is another
 * than its own for a key that is restricted to one.
 */
#ifndef POSTERN_OPS_OP_DOMAIN_H
#define POSTERN_OPS_OP_DOMAIN_H

#include "core/ops/op.h"

struct op_domain {
	const char *company_id;
	const char *name;
	enum op_flag active;
	const char *policy;
	const char *subdomains;
	const char *return_path; /* a domain, or `off` */
	const char *unsubscribe; /* `on` or `off` */
};

/* Registers a domain, active unless it is said. A company asks for one, and says its name alone.
 * Gives the domain; over HTTP with its `records`. */
extern const struct operation op_domain_add;
/* Gives domains, by name; and for keys the newest first. */
extern const struct operation op_domain_list;
extern const struct operation op_domain_list_newest;
extern const struct operation op_domain_get;
/* The domain with `records`, what it needs in the DNS and what was found there at `checked_at`, as
 * the last look has it: op_domain_dns.h. Asks Postfix for its name: blocks. */
extern const struct operation op_domain_show;
/* Sets what is given; one that a company asked for can only be activated. Gives the domain. */
extern const struct operation op_domain_update;
/* Looks for the records of a domain, once a minute at most; and has one that the company asked for
 * activated, where the settings let it: `company`, or `dns` and its proof is in the DNS. What
 * cannot be activated stays as it is, and nobody is told why. Gives the domain. */
extern const struct operation op_domain_verify;
/* The same; gives the domain as op_domain_show does. */
extern const struct operation op_domain_verify_shown;
/* Removes a domain with the keys that are restricted to it. Gives it, and how many these were. */
extern const struct operation op_domain_remove;

/* Whether nobody but who asks can say the policy of the domain, since it is one of Postfix's own:
 * 1 and why, as a question, in a new string; 0; or -1. Runs programs of Postfix. */
int op_domain_question(const struct op *op, const char *name, char **question_r, struct err *err);
/* The answers. */
enum { OP_DOMAIN_ANSWERS = 3 };
extern const char *const op_domain_answers[OP_DOMAIN_ANSWERS];

#endif
