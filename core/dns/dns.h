/*
 * dns: questions to the domain name system, by way of the resolver of this host.
 *
 * Each look-up gives 1 and what was found, 0 when there is surely nothing, or -1
 * when that cannot be told: offline, a server that fails or gives no answer in
 * time. After one that nobody answered in time no other is tried, so that being
 * offline costs a single timeout. Blocks.
 */
#ifndef POSTERN_DNS_DNS_H
#define POSTERN_DNS_DNS_H

#include <stdint.h>

#include "core/base/mem.h"
#include "core/base/strv.h"

struct dns;

/* server: `ADDRESS` or `ADDRESS@PORT`; "": those of /etc/resolv.conf. NULL when
 * there is no resolver to ask. A handle is used by one thread at a time. */
struct dns *dns_new(const char *server);
void dns_free(struct dns *dns);
DEFINE_CLEANUP(dns, dns_free)

/* From now on all look-ups together take no longer: what is asked later cannot be told. */
void dns_limit(struct dns *dns, int64_t time_ms);

/* The strings of each TXT record, joined (RFC 7208 3.3). */
int dns_txt(struct dns *dns, const char *name, struct strv *texts_r);
/* Addresses, of IPv4 and IPv6, as text. */
int dns_addresses(struct dns *dns, const char *name, struct strv *addresses_r);
/* Names of mail servers; "" is that of a null MX (RFC 7505). */
int dns_mx(struct dns *dns, const char *name, struct strv *hosts_r);
/* Names of an address. */
int dns_names(struct dns *dns, const char *address, struct strv *names_r);

#endif
