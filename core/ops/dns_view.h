/*
 * dns_view: how other hosts see this one: its name in HELO and the addresses from which it sends
 * mail; and the DNS resolver that it uses.
 */
#ifndef POSTERN_OPS_DNS_VIEW_H
#define POSTERN_OPS_DNS_VIEW_H

#include "core/dns/domain_dns.h"

struct conf;

/* This host as others see it. */
struct dns_view {
	char *helo;
	struct strv addresses;
	struct dns_host host;
};

/* Returns the resolver of the settings; NULL if there is none. */
struct dns *dns_view_resolver(const struct conf *conf);

/* Fills *view_r. Runs postconf(1), so it blocks. */
void dns_view_open(const struct conf *conf, struct dns_view *view_r);
void dns_view_close(struct dns_view *view);
/* Allocates one. dns_view_free() accepts NULL. */
struct dns_view *dns_view_new(const struct conf *conf);
void dns_view_free(struct dns_view *view);

#endif
