/*
 * domain_rules: what holds for mail that uses a domain without a key, as the
 * options of `postern domain` say it.
 *
 * A domain that Postfix treats as its own may be in use by many here, who must
 * not be cut off by the way: its policy has to be said.
 */
#ifndef POSTERN_CLI_DOMAIN_RULES_H
#define POSTERN_CLI_DOMAIN_RULES_H

#include "cli/call.h"
#include "core/store/store_domain.h"

/* Before a domain is added: asks for the policy where it has to be said, or
 * fails with ERR_INVALID when there is nobody to ask. */
int domain_rules_prepare(
	struct arguments *arguments, const struct conf *conf, struct err *err);

/* The same for one that a company asked for and that begins to count now;
 * nobody is asked. */
int domain_rules_check(
	const struct call *call, const struct domain *domain, struct err *err);

/* Sets what the options say, in the store and in the domain. 0 or -1. */
int domain_rules_set(
	const struct call *call, struct domain *domain, struct err *err);

#endif
