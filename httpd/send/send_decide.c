/*
 * send_decide: what stands in the way of an email before it is composed: the
 * sending rules, and addresses that this Postfix will not take.
 *
 * Threads: the worker's.
 */
#include <string.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "httpd/worker/worker.h"
#include "httpd/gate/request.h"
#include "httpd/gate/admission.h"
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

static bool begins_with_hyphen(const struct addr *addr)
{
	return addr->local[strspn(addr->local, "\"")] == '-';
}

static int check_list(const struct addr_list *list, struct problem *problem)
{
	for (size_t i = 0; i < list->n; i++) {
		_cleanup_free_ char *spec = NULL;

		if (!begins_with_hyphen(&list->items[i]))
			continue;
		spec = addr_spec(&list->items[i]);
		return problem_set(problem, PROBLEM_VALIDATION,
			"The mail server takes no address that begins with a "
			"hyphen: %s",
			spec);
	}
	return 0;
}

int send_check_addresses(const struct worker *worker,
	const struct outgoing *outgoing, struct problem *problem)
{
	struct addr from = outgoing->message.from;

	if (worker->shared->takes_hyphen)
		return 0;
	if (check_list(&(struct addr_list){&from, 1}, problem) < 0 ||
		check_list(&outgoing->envelope, problem) < 0 ||
		check_list(&outgoing->bcc, problem) < 0)
		return -1;
	/* What a finished message says is not where it goes. */
	if (outgoing->finished.len > 0)
		return 0;
	return check_list(&outgoing->message.to, problem) < 0 ||
			       check_list(&outgoing->message.cc, problem) < 0
		       ? -1
		       : 0;
}
