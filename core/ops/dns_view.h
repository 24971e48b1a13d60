/*
 * dns_view: who this host is to those who look at its mail: the name in HELO, and the addresses
 * from which mail goes out; and whom it asks for what the DNS has.
 */
#ifndef POSTERN_OPS_DNS_VIEW_H
#define POSTERN_OPS_DNS_VIEW_H

#include "core/dns/domain_dns.h"

struct conf;

/* Who this host is to others. */
struct dns_view {
	char *helo;
	struct strv addresses;
	struct dns_host host;
};

/* The resolver of the settings; NULL: there is none. */
struct dns *dns_view_resolver(const struct conf *conf);

/* Runs postconf(1): blocks. */
void dns_view_open(const struct conf *conf, struct dns_view *view_r);
void dns_view_close(struct dns_view *view);
/* The same on the heap; NULL is fine. */
struct dns_view *dns_view_new(const struct conf *conf);
void dns_view_free(struct dns_view *view);

#endif
