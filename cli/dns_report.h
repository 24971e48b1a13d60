/*
 * dns_report: the records of domains and of this host, for the verbs that show
 * them.
 */
#ifndef POSTERN_CLI_DNS_REPORT_H
#define POSTERN_CLI_DNS_REPORT_H

#include "core/dns/domain_dns.h"

struct conf;

/* What is asked, and in whose name. */
struct dns_view {
	struct dns *dns; /* NULL: there is no resolver */
	char *helo;
	struct strv addresses;
	struct dns_host host;
};

void dns_view_open(const struct conf *conf, struct dns_view *view_r);
void dns_view_close(struct dns_view *view);

#endif
