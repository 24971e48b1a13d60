/*
 * domain_dns: the records that a sending domain needs, and what the DNS has.
 *
 * The proof of who asked for it, SPF, the keys by which its mail is signed (DKIM), DMARC and the
 * MX of the return path are the domain's; PTR and HELO those of the host that sends.
 */
#ifndef POSTERN_DNS_DOMAIN_DNS_H
#define POSTERN_DNS_DOMAIN_DNS_H

#include "core/dns/dkim.h"
#include "core/dns/dns.h"

enum dns_status {
	DNS_STATUS_VERIFIED,
	DNS_STATUS_MISSING,
	DNS_STATUS_WRONG,
	DNS_STATUS_UNKNOWN, /* it cannot be told: offline, or not known what to expect */
};
/* As `verified`. */
const char *dns_status_name(enum dns_status status);

struct dns_record {
	const char *kind; /* PROOF, SPF, DKIM, DMARC, MX, PTR, HELO */
	const char *type; /* TXT, MX, PTR, A */
	char *name;
	char *value; /* to be set; NULL: it is not known, or is another's to say */
	enum dns_status status;
	char *text; /* what was found, or what that means, for people */
};

struct dns_records {
	struct dns_record *items;
	size_t n;
};
void dns_records_clear(struct dns_records *records);
#define _cleanup_dns_records_ __attribute__((cleanup(dns_records_clear)))

/* The host that sends. */
struct dns_host {
	const char *helo;       /* the name that it says */
	struct strv *addresses; /* from which mail goes out; none: not known */
};

/* What of a domain is looked at. */
struct dns_domain {
	const char *name;
	const char *proof; /* NULL: nothing is to be proven */
	const struct dkim_key_public *keys;
	size_t keys_n;
};

/* The TXT record of `_postern.DOMAIN` that proves who asked for the domain, by the id of what was
 * asked: nobody else has that id, so the record says nothing for another company. A new string. */
char *domain_dns_proof(const char *id);

/* Adds the records of the domain; without dns those to be set, of which nothing can be told. */
void domain_dns_check(struct dns *dns, const struct dns_domain *domain, const struct dns_host *host,
	struct dns_records *records);
/* Adds those of the host. */
void host_dns_check(struct dns *dns, const struct dns_host *host, struct dns_records *records);

#endif
