/*
 * send_decide: collects the facts for the sending rules and words the answer.
 *
 * Threads: the worker's.
 */
#include "core/base/log.h"
#include "core/policy/send_rules.h"
#include "core/store/store_domain.h"
#include "httpd/base/worker.h"
#include "httpd/http/request.h"
#include "httpd/send/send_private.h"

static int find_standing(struct request *request, const char *name,
	enum domain_standing *standing_r, struct err *err)
{
	const struct key *key = &request->admission.key;
	struct domain domain;
	int found = store_domain_find_own(
		request->worker->db, key->company_id, name, &domain, err);

	if (found < 0)
		return -1;
	*standing_r = DOMAIN_NOT_OWN;
	if (found == 0)
		return 0;
	*standing_r = domain.active ? DOMAIN_ACTIVE : DOMAIN_INACTIVE;
	store_domain_clear(&domain);
	return 0;
}

static int word(enum send_decision decision, const char *domain,
	struct problem *problem)
{
	switch (decision) {
	case SEND_ALLOWED:
		return 0;
	case SEND_NO_SCOPE:
		return problem_set(problem, PROBLEM_RESTRICTED_KEY,
			"This API key is not allowed to send emails.");
	case SEND_KEY_RESTRICTED:
		return problem_set(problem, PROBLEM_RESTRICTED_KEY,
			"This API key is not authorized to send emails from %s",
			domain);
	case SEND_INACTIVE:
		return problem_set(problem, PROBLEM_DOMAIN,
			"The %s domain is not active for sending.", domain);
	case SEND_NOT_OWN:
		break;
	}
	return problem_set(problem, PROBLEM_DOMAIN,
		"The %s domain is not verified. Please, add and verify your "
		"domain.",
		domain);
}

int send_decide(struct request *request, const char *from_domain,
	struct problem *problem)
{
	const struct key *key = &request->admission.key;
	struct send_facts facts = {
		.key_may_send = key->scopes & KEY_SENDING,
		.key_domain = key->domain,
		.from_domain = from_domain,
	};
	struct err err = ERR_INIT;

	if (find_standing(request, from_domain, &facts.standing, &err) < 0) {
		log_error(request->worker->log, "domain_lookup_failed",
			"request", request->id, "error", err.text);
		return problem_from_err(problem, &err);
	}
	return word(send_rules_check(&facts), from_domain, problem);
}
