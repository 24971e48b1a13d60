/*
 * op_domain: sending domains.
 *
 * The command gives a domain by name, with a company also a pending one of this company; over HTTP
 * it is given by id. A company sees only its own domains, and a key that is restricted to a domain
 * only this one.
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

/* Registers a domain, active by default. A company can only request one, by its name alone. Gives
 * the domain; over HTTP with its `records`. */
extern const struct operation op_domain_add;
/* Gives domains, by name; for keys newest first. */
extern const struct operation op_domain_list;
extern const struct operation op_domain_list_newest;
extern const struct operation op_domain_get;
/* Gives the domain with `records`, the DNS records that it needs and the result of the last check
 * at `checked_at`, see op_domain_dns.h. Asks Postfix for its name, so it blocks. */
extern const struct operation op_domain_show;
/* Sets the given members; a pending domain can only be activated. Gives the domain. */
extern const struct operation op_domain_update;
/* Looks up the records of a domain, at most once a minute. Activates a pending domain if the
 * settings allow it: `company`, or `dns` and the proof is in the DNS. A domain that cannot be
 * activated stays as it is, and the answer does not say why. Gives the domain. */
extern const struct operation op_domain_verify;
/* Verifies as op_domain_verify does, and returns the domain as op_domain_show does. */
extern const struct operation op_domain_verify_shown;
/* Removes a domain with the keys restricted to it. Gives it, and the number of these keys. */
extern const struct operation op_domain_remove;

/* Returns 1 if the user must choose the policy, because the domain is one of Postfix's own, with a
 * question that says why; the caller frees it. 0 if not, -1 on error. Runs programs of Postfix. */
int op_domain_question(const struct op *op, const char *name, char **question_r, struct err *err);
/* The answers to the question. */
enum { OP_DOMAIN_ANSWERS = 3 };
extern const char *const op_domain_answers[OP_DOMAIN_ANSWERS];

#endif
