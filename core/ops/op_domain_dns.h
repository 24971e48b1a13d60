/*
 * op_domain_dns: what a domain needs in the DNS, and what was found there.
 *
 * A record is an object with `record` (PROOF, SPF, DKIM, DMARC, MX), `type`, `name`, `value`,
 * `status` (verified, missing, wrong, unknown) and `text`, which says for people what was found;
 * null: nobody has looked. PROOF is asked for where it activates the domain
 * (http.domain_activation). MX is told once somebody has looked: a domain that receives its mail
 * elsewhere has one, which is not to be replaced by ours.
 */
#ifndef POSTERN_OPS_OP_DOMAIN_DNS_H
#define POSTERN_OPS_OP_DOMAIN_DNS_H

#include "core/ops/dns_view.h"
#include "core/ops/op.h"
#include "core/store/store_domain.h"

/* The records of a domain, looked for now if dns is not NULL; a new array, or NULL with
 * err. */
json_t *op_domain_dns_look(struct db *db, const struct conf *conf, const struct dns_view *view,
	struct dns *dns, const struct domain *domain, struct err *err);
/* Records as such an array. Without a look there is nothing to tell of them, and MX is left out. */
json_t *op_domain_dns_json(const struct dns_records *records, bool looked);

/* Whether the proof of the domain is among them, and was found. */
bool op_domain_dns_proves(const json_t *records, const struct domain *domain);

/* Writes down what was found. 0 or -1. */
int op_domain_dns_keep(struct db *db, const struct domain *domain, const json_t *records,
	int64_t now_us, struct err *err);
/* When that was last; 0: never. 0 or -1. */
int op_domain_dns_when(
	struct db *db, const struct domain *domain, int64_t *checked_us_r, struct err *err);

/* Adds `records`, by what was found last, and `checked_at` to what the operation gives. 0 or -1. */
int op_domain_dns_add(struct op *op, const struct domain *domain, struct err *err);

#endif
