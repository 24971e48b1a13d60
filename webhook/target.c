/*
 * target: which addresses postern-webhook may connect to.
 */
#include "webhook/target.h"

/* Special-purpose addresses (RFC 6890 and its registries), and the prefixes that embed another
 * address: 6to4, Teredo, NAT64. An IPv4-mapped IPv6 address counts as its IPv4 address. */
static const char special[] =
	"0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 "
	"192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 "
	"203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ::/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 "
	"2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8";

int target_rules_init(struct target_rules *rules, const char *allowed, struct err *err)
{
	*rules = (struct target_rules){0};
	if (cidr_list_parse(special, &rules->special, err) < 0)
		return -1;
	return cidr_list_parse_excepting(allowed, &rules->allowed, err);
}

void target_rules_clear(struct target_rules *rules)
{
	cidr_list_clear(&rules->special);
	cidr_list_clear(&rules->allowed);
}

bool target_is_allowed(const struct target_rules *rules, const struct sockaddr *address)
{
	if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
		return false;
	return !cidr_list_has(&rules->special, address) || cidr_list_has(&rules->allowed, address);
}
