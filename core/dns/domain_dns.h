/*
 * domain_dns: the DNS records that a sending domain and a host need, compared with what DNS
 * has.
 *
 * Records of a domain: the proof of ownership, SPF, the keys of its signer (DKIM), DMARC, and
 * MX for bounces. Records of the host: PTR and HELO.
 */
#ifndef POSTERN_DNS_DOMAIN_DNS_H
#define POSTERN_DNS_DOMAIN_DNS_H

#include "core/dns/dkim.h"
#include "core/dns/dns.h"

enum dns_status {
	DNS_STATUS_VERIFIED,
	DNS_STATUS_MISSING,
	DNS_STATUS_WRONG,
	DNS_STATUS_UNKNOWN, /* DNS gives no answer, or the expected value is unknown */
};
/* Such as `verified`. */
const char *dns_status_name(enum dns_status status);

struct dns_record {
	const char *kind; /* PROOF, SPF, DKIM, DMARC, MX, PTR, HELO */
	const char *type; /* TXT, MX, PTR, A */
	char *name;
	char *value; /* the value to publish; NULL: unknown */
	enum dns_status status;
	char *text; /* what was found or what it means, for people */
};

struct dns_records {
	struct dns_record *items;
	size_t n;
};
void dns_records_clear(struct dns_records *records);
#define _cleanup_dns_records_ __attribute__((cleanup(dns_records_clear)))

/* The sending host. */
struct dns_host {
	const char *helo;       /* the name that it gives in HELO */
	struct strv *addresses; /* its outgoing addresses; empty: unknown */
};

/* What to check of a domain. */
struct dns_domain {
	const char *name;
	const char *proof; /* NULL: no proof is needed */
	const struct dkim_key_public *keys;
	size_t keys_n;
};

/* Returns the TXT record of `_postern.DOMAIN` that proves who has requested the domain. It
 * contains the id of the request, which is unique, so it proves nothing for another company.
 * The caller frees it. */
char *domain_dns_proof(const char *id);

/* Adds the records of the domain. With dns NULL their status is unknown, except for the values
 * to publish. */
void domain_dns_check(struct dns *dns, const struct dns_domain *domain, const struct dns_host *host,
	struct dns_records *records);
/* Adds the records of the host. */
void host_dns_check(struct dns *dns, const struct dns_host *host, struct dns_records *records);

#endif
