/*
 * spf: evaluates if a domain lets an address send its mail (RFC 7208).
 */
#ifndef POSTERN_DNS_SPF_H
#define POSTERN_DNS_SPF_H

#include "core/dns/dns.h"

enum spf_result {
	SPF_NONE,
	SPF_NEUTRAL,
	SPF_PASS,
	SPF_FAIL,
	SPF_SOFTFAIL,
	SPF_PERMERROR,
	SPF_UNKNOWN, /* DNS gives no answer, or the record has macros or ptr */
};
/* Such as `pass` or `permerror`. */
const char *spf_result_name(enum spf_result result);

/* Evaluates SPF for mail from the address with this domain in the envelope sender. *record_r
 * gets the domain's own record, or NULL; the caller frees it. */
enum spf_result spf_check(
	struct dns *dns, const char *domain, const char *address, char **record_r);

#endif
