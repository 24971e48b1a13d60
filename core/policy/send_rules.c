/*
 * send_rules: may this key send as this domain?
 */
#include "core/policy/send_rules.h"

#include "core/base/mem.h"
#include "core/base/str.h"

enum send_decision send_rules_check(const struct send_facts *facts)
{
	if (facts->status != DOMAIN_INACTIVE && facts->status != DOMAIN_ACTIVE)
		return RULES_NOT_OWN;
	if (!facts->key_may_send)
		return RULES_NO_SCOPE;
	/* Both domains are in their stored form (A-labels, lower case), so they can be compared
	 * as strings. */
	if (facts->key_domain && !str_eq(facts->key_domain, facts->from_domain))
		return RULES_KEY_RESTRICTED;
	if (facts->status != DOMAIN_ACTIVE)
		return RULES_INACTIVE;
	return RULES_ALLOWED;
}

char *send_rules_text(enum send_decision decision, const char *domain)
{
	static const char *const texts[][2] = {
		[RULES_ALLOWED] = {"", ""},
		[RULES_NOT_OWN] = {"The ",
			" domain is not verified. Please, add and verify your domain."},
		[RULES_INACTIVE] = {"The ", " domain is not active for sending."},
		[RULES_KEY_RESTRICTED] = {"This API key is not authorized to send emails from ",
			""},
		[RULES_NO_SCOPE] = {NULL, "This API key is not allowed to send emails."},
	};
	const char *before = texts[decision][0], *after = texts[decision][1];

	return before ? mem_printf("%s%s%s", before, domain, after) : mem_strdup(after);
}
