/*
 * domain_dns: the records that a sending domain needs, and what the DNS has.
 *
 * SPF, DMARC and the MX of the return path are the domain's; PTR and HELO those of
 * the host that sends. Whether mail is signed (DKIM), and with which key, is not known
 * here.
 */
#ifndef POSTERN_DNS_DOMAIN_DNS_H
#define POSTERN_DNS_DOMAIN_DNS_H

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
	const char *kind; /* SPF, DMARC, MX, PTR, HELO */
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

/* Adds the records of the domain. */
void domain_dns_check(struct dns *dns, const char *domain, const struct dns_host *host,
	struct dns_records *records);
/* Adds those of the host. */
void host_dns_check(struct dns *dns, const struct dns_host *host, struct dns_records *records);

#endif
