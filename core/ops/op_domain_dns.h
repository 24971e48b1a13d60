/*
 * op_domain_dns: the DNS records that a domain needs, and what was found in the DNS.
 *
 * A record is an object with `record` (PROOF, SPF, DKIM, DMARC, MX), `type`, `name`, `value`,
 * `status` (verified, missing, wrong, unknown) and `text`, which describes the result for people;
 * null: not checked yet. PROOF is only listed if it activates the domain (http.domain_activation).
 * MX is only listed after a check: a domain that receives its mail elsewhere has an MX already,
 * which ours must not replace.
 */
#ifndef POSTERN_OPS_OP_DOMAIN_DNS_H
#define POSTERN_OPS_OP_DOMAIN_DNS_H

#include "core/ops/dns_view.h"
#include "core/ops/op.h"
#include "core/store/company/store_domain.h"

/* Returns the records of a domain as a new array, looked up now if dns is not NULL; or NULL with
 * err. */
json_t *op_domain_dns_look(struct db *db, const struct conf *conf, const struct dns_view *view,
	struct dns *dns, const struct domain *domain, struct err *err);
/* Converts records to such an array. If they were not looked up, the array has no results and no
 * MX. */
json_t *op_domain_dns_json(const struct dns_records *records, bool looked);

/* True if the records contain the proof of the domain, and it was found. */
bool op_domain_dns_proves(const json_t *records, const struct domain *domain);

/* Stores the results. Returns 0 or -1. */
int op_domain_dns_keep(struct db *db, const struct domain *domain, const json_t *records,
	int64_t now_us, struct err *err);
/* Reads the time of the last check; 0: never. Returns 0 or -1. */
int op_domain_dns_when(
	struct db *db, const struct domain *domain, int64_t *checked_us_r, struct err *err);

/* Adds `records`, with the results of the last check, and `checked_at` to the answer. Returns 0 or
 * -1. */
int op_domain_dns_add(struct op *op, const struct domain *domain, struct err *err);

#endif
