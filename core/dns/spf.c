/*
 * spf: evaluates records within the limits of RFC 7208 4.6.4.
 *
 * Macros need facts of a message, and `ptr` is slow: a result that depends on them is
 * SPF_UNKNOWN.
 */
#include "core/dns/spf.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/cidr.h"
#include "core/base/str.h"

enum { LOOK_UPS_MAX = 10, VOID_MAX = 2, MX_MAX = 10 };

struct evaluation {
	struct dns *dns;
	const char *address;
	int look_ups;
	int voids;
};

const char *spf_result_name(enum spf_result result)
{
	static const char *const names[] = {
		[SPF_NONE] = "none",
		[SPF_NEUTRAL] = "neutral",
		[SPF_PASS] = "pass",
		[SPF_FAIL] = "fail",
		[SPF_SOFTFAIL] = "softfail",
		[SPF_PERMERROR] = "permerror",
		[SPF_UNKNOWN] = "unknown",
	};

	return names[result];
}

/* True if the address is in the network that the other address and the prefix length give; -1: all
 * bits. */
static bool is_within(const struct evaluation *all, const char *other, int64_t bits)
{
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;
	struct cidr *net;
	unsigned most;

	if (cidr_list_parse(other, &list, NULL) < 0 || list.n != 1)
		return false;
	net = &list.items[0];
	most = net->family == AF_INET ? 32 : 128;
	net->bits = bits < 0 || bits > most ? most : (unsigned)bits;
	for (unsigned bit = net->bits; bit < most; bit++)
		net->address[bit / 8] &= (uint8_t) ~(0x80U >> bit % 8);
	return cidr_list_has_text(&list, all->address);
}

/* Reads a prefix length such as `/24`; -1 if the text is empty. */
static bool read_prefix(const char *text, int64_t max, int64_t *bits_r)
{
	*bits_r = -1;
	return *text == '\0' || str_int(text + 1, 0, max, bits_r) == 0;
}

/* Matches the address with a network such as `192.0.2.0/24` or `2001:db8::/32`; returns as
 * match_mechanism(). */
static enum spf_result match_network(
	const struct evaluation *all, const char *network, bool is_ipv6)
{
	const char *prefix = strchrnul(network, '/');
	_cleanup_free_ char *address = mem_dup(network, (size_t)(prefix - network));
	struct in6_addr of_either;
	int64_t bits;

	/* RFC 7208 5.6 */
	if (inet_pton(is_ipv6 ? AF_INET6 : AF_INET, address, &of_either) != 1 ||
		!read_prefix(prefix, is_ipv6 ? 128 : 32, &bits))
		return SPF_PERMERROR;
	return is_within(all, address, bits) ? SPF_PASS : SPF_NEUTRAL;
}

/* Evaluates the SPF record of the domain. *record_r gets it if there is exactly one. */
static enum spf_result evaluate_domain(
	struct evaluation *all, const char *domain, char **record_r, int depth);

/* Matches the address with the hosts of `a` or `mx`, whose target is `:DOMAIN/BITS//BITS6` or a
 * part of it; returns as match_mechanism(). */
static enum spf_result match_hosts(
	struct evaluation *all, const char *target, const char *domain, bool mx)
{
	_cleanup_strv_ struct strv hosts = STRV_INIT, addresses = STRV_INIT;
	const char *prefix = strchrnul(target, '/'), *ipv6 = strstr(prefix, "//");
	_cleanup_free_ char *ipv4 = mem_dup(
		prefix, ipv6 ? (size_t)(ipv6 - prefix) : strlen(prefix));
	_cleanup_free_ char *name = *target == ':'
					    ? mem_dup(target + 1, (size_t)(prefix - target) - 1)
					    : mem_strdup(domain);
	int64_t ipv4_bits, ipv6_bits;

	/* RFC 7208 5.3 */
	if (!read_prefix(ipv4, 32, &ipv4_bits) ||
		!read_prefix(ipv6 ? ipv6 + 1 : "", 128, &ipv6_bits))
		return SPF_PERMERROR;
	if (!mx)
		strv_add(&hosts, name);
	else if (dns_mx(all->dns, name, &hosts) < 0)
		return SPF_UNKNOWN;
	for (size_t i = 0; i < hosts.n && i < MX_MAX; i++)
		if (*hosts.items[i] && dns_addresses(all->dns, hosts.items[i], &addresses) < 0)
			return SPF_UNKNOWN;
	for (size_t i = 0; i < addresses.n; i++)
		if (is_within(all, addresses.items[i],
			    strchr(addresses.items[i], ':') ? ipv6_bits : ipv4_bits))
			return SPF_PASS;
	return addresses.n == 0 && ++all->voids > VOID_MAX ? SPF_PERMERROR : SPF_NEUTRAL;
}

static bool is_name(const char *term, const char *name)
{
	size_t len = strlen(name);

	return str_starts_nocase(term, name) &&
	       (term[len] == '\0' || term[len] == ':' || term[len] == '/');
}

/* Evaluates one mechanism. Returns SPF_PASS if it matches, SPF_NEUTRAL if not; SPF_PERMERROR and
 * SPF_UNKNOWN end the evaluation. */
static enum spf_result match_mechanism(
	struct evaluation *all, const char *term, const char *domain, int depth)
{
	if (is_name(term, "all"))
		return SPF_PASS;
	if (is_name(term, "ip4") || is_name(term, "ip6"))
		return term[3] == ':' ? match_network(all, term + 4, term[2] == '6')
				      : SPF_PERMERROR;
	if (strchr(term, '%'))
		return SPF_UNKNOWN;
	if (!is_name(term, "a") && !is_name(term, "mx") && !is_name(term, "include") &&
		!is_name(term, "ptr") && !is_name(term, "exists"))
		return SPF_PERMERROR;
	if (++all->look_ups > LOOK_UPS_MAX)
		return SPF_PERMERROR;
	if (is_name(term, "include")) {
		_cleanup_free_ char *record = NULL;
		enum spf_result result;

		/* RFC 7208 5.2 */
		if (term[strlen("include")] != ':')
			return SPF_PERMERROR;
		result = evaluate_domain(all, term + strlen("include:"), &record, depth + 1);
		if (result == SPF_FAIL || result == SPF_SOFTFAIL)
			return SPF_NEUTRAL;
		return result == SPF_NONE ? SPF_PERMERROR : result;
	}
	if (is_name(term, "a"))
		return match_hosts(all, term + 1, domain, false);
	if (is_name(term, "mx"))
		return match_hosts(all, term + 2, domain, true);
	return SPF_UNKNOWN;
}

static enum spf_result evaluate_domain(
	struct evaluation *all, const char *domain, char **record_r, int depth)
{
	static const char qualifiers[] = "+-~?";
	static const enum spf_result results[] = {SPF_PASS, SPF_FAIL, SPF_SOFTFAIL, SPF_NEUTRAL};
	_cleanup_strv_ struct strv texts = STRV_INIT, terms = STRV_INIT;
	const char *record = NULL, *redirect = NULL;

	if (dns_txt(all->dns, domain, &texts) < 0)
		return SPF_UNKNOWN;
	for (size_t i = 0; i < texts.n; i++) {
		const char *text = texts.items[i];

		if (!str_starts_nocase(text, "v=spf1") || (text[6] != ' ' && text[6] != '\0'))
			continue;
		if (record)
			return SPF_PERMERROR;
		record = text;
	}
	if (record == NULL)
		return SPF_NONE;
	*record_r = mem_strdup(record);
	if (depth > LOOK_UPS_MAX)
		return SPF_PERMERROR;
	strv_split(&terms, record, ' ');
	for (size_t i = 1; i < terms.n; i++) {
		const char *term = terms.items[i], *qualifier = strchr(qualifiers, *term);
		enum spf_result match;

		if (str_starts_nocase(term, "redirect="))
			redirect = term + strlen("redirect=");
		if (*term == '\0' || strchr(term, '='))
			continue;
		match = match_mechanism(all, term + (qualifier != NULL), domain, depth);
		if (match == SPF_PASS)
			return qualifier ? results[qualifier - qualifiers] : SPF_PASS;
		if (match != SPF_NEUTRAL)
			return match;
	}
	if (redirect) {
		_cleanup_free_ char *other = NULL;
		enum spf_result result;

		if (strchr(redirect, '%'))
			return SPF_UNKNOWN;
		if (++all->look_ups > LOOK_UPS_MAX)
			return SPF_PERMERROR;
		result = evaluate_domain(all, redirect, &other, depth + 1);
		return result == SPF_NONE ? SPF_PERMERROR : result;
	}
	return SPF_NEUTRAL;
}

enum spf_result spf_check(struct dns *dns, const char *domain, const char *address, char **record_r)
{
	struct evaluation all = {.dns = dns, .address = address};

	*record_r = NULL;
	return evaluate_domain(&all, domain, record_r, 0);
}
