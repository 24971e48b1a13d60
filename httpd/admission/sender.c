/* sender: decides whether a key may send as a domain. */
#include "httpd/admission/sender.h"

#include "core/base/mem.h"
#include "core/policy/send_rules.h"
#include "core/store/company/store_domain.h"

/* The text for a domain in a path is before, the domain, after. For an email it
 * is send_rules_text(). */
struct refusal {
	enum problem_kind kinds[SENDER_FIELDS];
	const char *before, *after;
};

static const struct refusal refusals[] = {
	[RULES_NO_SCOPE] =
		{
			{[SENDER_OF_PATH] = PROBLEM_DOMAIN,
				[SENDER_OF_EMAIL] = PROBLEM_RESTRICTED_KEY},
			"Domain ",
			" is not allowed to send: the key lacks the scope sending",
		},
	[RULES_KEY_RESTRICTED] =
		{
			{[SENDER_OF_PATH] = PROBLEM_DOMAIN,
				[SENDER_OF_EMAIL] = PROBLEM_RESTRICTED_KEY},
			"Domain ",
			" is not allowed to send: the key is bound to another domain",
		},
	[RULES_INACTIVE] =
		{
			{[SENDER_OF_PATH] = PROBLEM_DOMAIN, [SENDER_OF_EMAIL] = PROBLEM_DOMAIN},
			"Domain ",
			" is not allowed to send: it is not active",
		},
	[RULES_NOT_OWN] =
		{
			{[SENDER_OF_PATH] = PROBLEM_NOT_FOUND, [SENDER_OF_EMAIL] = PROBLEM_DOMAIN},
			"Domain not found: ",
			"",
		},
};

int sender_look_up(struct db *db, const char *company_id, const char *domain,
	enum domain_status *status_r, struct err *err)
{
	struct domain own;
	int found = store_domain_find_own(db, company_id, domain, &own, err);

	if (found < 0)
		return -1;
	*status_r = DOMAIN_NOT_OWN;
	if (found > 0) {
		*status_r = own.active ? DOMAIN_ACTIVE : DOMAIN_INACTIVE;
		store_domain_clear(&own);
	}
	return 0;
}

int sender_check(const struct key *key, const char *domain, enum domain_status status,
	enum sender_field field, struct problem *problem)
{
	const struct send_facts facts = {
		.key_may_send = key->scopes & KEY_SENDING,
		.key_domain = key->domain,
		.from_domain = domain,
		.status = status,
	};
	enum send_decision decision = send_rules_check(&facts);
	_cleanup_free_ char *text = NULL;
	const struct refusal *refusal;

	if (decision == RULES_ALLOWED)
		return 0;
	refusal = &refusals[decision];
	text = field == SENDER_OF_EMAIL
		       ? send_rules_text(decision, domain)
		       : mem_printf("%s%s%s", refusal->before, domain, refusal->after);
	return problem_set(problem, refusal->kinds[field], "%s", text);
}
