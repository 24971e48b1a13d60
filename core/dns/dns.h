/*
 * dns: DNS look-ups through this host's resolver.
 *
 * Each look-up returns 1 and the records found, 0 if there certainly are none, or -1 if that is
 * unknown: offline, a failing server, or a timeout. After a timeout all further look-ups fail
 * at once, so that being offline costs only one timeout. Blocks.
 */
#ifndef POSTERN_DNS_DNS_H
#define POSTERN_DNS_DNS_H

#include <stdint.h>

#include "core/base/mem.h"
#include "core/base/strv.h"

struct dns;

/* server: `ADDRESS` or `ADDRESS@PORT`; "": those of /etc/resolv.conf. Returns NULL if there is
 * no resolver; look-ups with NULL return -1. A handle is used by one thread at a time. */
struct dns *dns_new(const char *server);
void dns_free(struct dns *dns);
DEFINE_CLEANUP(dns, dns_free)

/* Limits the total time of all look-ups from now on. Later ones return -1. */
void dns_limit(struct dns *dns, int64_t time_ms);

/* The strings of each TXT record are joined (RFC 7208 3.3). */
int dns_txt(struct dns *dns, const char *name, struct strv *texts_r);
/* IPv4 and IPv6 addresses as text. */
int dns_addresses(struct dns *dns, const char *name, struct strv *addresses_r);
/* Names of mail servers; "" is a null MX (RFC 7505). */
int dns_mx(struct dns *dns, const char *name, struct strv *hosts_r);
/* The names of an address (PTR). */
int dns_names(struct dns *dns, const char *address, struct strv *names_r);

#endif
