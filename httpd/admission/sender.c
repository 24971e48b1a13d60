/* sender: decides whether a key may send as a domain. */
#include "httpd/admission/sender.h"

#include "core/base/log.h"
#include "core/policy/send_rules.h"
#include "core/store/store_domain.h"
#include "httpd/worker/worker.h"

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

int sender_check(struct worker *worker, const struct key *key, const char *domain,
	enum sender_field field, const char *request_id, struct problem *problem)
{
	struct send_facts facts = {
		.key_may_send = key->scopes & KEY_SENDING,
		.key_domain = key->domain,
		.from_domain = domain,
		.status = DOMAIN_NOT_OWN,
	};
	_cleanup_free_ char *text = NULL;
	const struct refusal *refusal;
	enum send_decision decision;
	struct err err = ERR_INIT;
	struct domain own;
	int found = store_domain_find_own(worker->db, key->company_id, domain, &own, &err);

	if (found < 0) {
		log_error(worker->log, "domain_lookup_failed", "request", request_id, "error",
			err.text);
		return problem_from_err(problem, &err);
	}
	if (found > 0) {
		facts.status = own.active ? DOMAIN_ACTIVE : DOMAIN_INACTIVE;
		store_domain_clear(&own);
	}
	decision = send_rules_check(&facts);
	if (decision == RULES_ALLOWED)
		return 0;
	refusal = &refusals[decision];
	text = field == SENDER_OF_EMAIL
		       ? send_rules_text(decision, domain)
		       : mem_printf("%s%s%s", refusal->before, domain, refusal->after);
	return problem_set(problem, refusal->kinds[field], "%s", text);
}
