/*
 * send_decide: words what the sending rules decide about an email.
 *
 * Threads: the worker's.
 */
#include "core/base/log.h"
#include "httpd/base/worker.h"
#include "httpd/http/request.h"
#include "httpd/http/sender_right.h"
#include "httpd/send/send_private.h"

static int word(enum send_decision decision, const char *domain,
	struct problem *problem)
{
	switch (decision) {
	case RULES_ALLOWED:
		return 0;
	case RULES_NO_SCOPE:
		return problem_set(problem, PROBLEM_RESTRICTED_KEY,
			"This API key is not allowed to send emails.");
	case RULES_KEY_RESTRICTED:
		return problem_set(problem, PROBLEM_RESTRICTED_KEY,
			"This API key is not authorized to send emails from %s",
			domain);
	case RULES_INACTIVE:
		return problem_set(problem, PROBLEM_DOMAIN,
			"The %s domain is not active for sending.", domain);
	case RULES_NOT_OWN:
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
	enum send_decision decision;
	struct err err = ERR_INIT;

	if (sender_right_find(request->worker->db, &request->admission.key,
		    from_domain, &decision, &err) < 0) {
		log_error(request->worker->log, "domain_lookup_failed",
			"request", request->id, "error", err.text);
		return problem_from_err(problem, &err);
	}
	return word(decision, from_domain, problem);
}
