/*
 * api_unsubscribe: the link by which a recipient unsubscribes (RFC 8058).
 *
 * Link scanners send GET, which changes nothing and shows a page with a button.
 * A POST unsubscribes, whatever its body is.
 */
#include <string.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/ops/unsubscribe.h"
#include "httpd/admission/change.h"
#include "httpd/json/api_json.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/store_read.h"
#include "httpd/worker/worker.h"

static const struct reply_kind page = {.type = "text/html; charset=utf-8",
	.fields = {{"Content-Security-Policy",
			   "default-src 'none'; form-action 'self'; frame-ancestors 'none'"},
		{"Referrer-Policy", "no-referrer"}, {"X-Content-Type-Options", "nosniff"},
		{"X-Robots-Tag", "noindex"}, {"Cache-Control", "private, no-store"}}};

/* None of the texts needs escaping in HTML: a domain is in A-labels. */
static char *make_page(const char *title, const char *domain, const char *text, const char *rest)
{
	return mem_printf(
		"<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width\">\n"
		"<title>%s</title>\n<h1>%s</h1>\n<p>%s <b>%s</b>%s\n</html>\n",
		title, title, text, domain, rest);
}

/* found is whether the token has an email. Returns 0, or -1 with the problem, which a browser
 * gets as a page. */
static int check_found(
	const struct request *request, int found, const struct err *err, struct problem *problem)
{
	const char *types = request_header(request, "Accept");

	if (found > 0)
		return 0;
	if (found < 0)
		return request_failed(request, "store_failed", err, problem);
	problem_set(problem, PROBLEM_NOT_FOUND, "The link is not valid, or not any more.");
	problem->as_page = types && strstr(types, "text/html");
	return -1;
}

/* GET /unsubscribe/{token} */
void api_unsubscribe_ask(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct return_email email;
	struct err err = ERR_INIT;
	int found = unsubscribe_find(request->db, request->admission.param, &email, &err);

	if (check_found(request, found, &err, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	reply_document(request, &page,
		make_page("Unsubscribe", email.domain, "You have got an email from",
			". Do you want no more of them?\n"
			"<form method=\"post\"><button>Unsubscribe</button></form>"));
	store_return_email_clear(&email);
}

struct unsubscribe {
	struct change change;
	struct store_read read;
	struct return_email email; /* if found */
	int found;
};

static int store_unsubscribe(struct db *db, void *arg, struct err *err)
{
	struct unsubscribe *unsubscribe = CONTAINER_OF(
		(struct change *)arg, struct unsubscribe, change);
	const struct request *request = unsubscribe->change.request;
	_cleanup_(delivery_writer) struct delivery_writer *writer = NULL;
	struct return_email email;
	int result = unsubscribe_find(db, request->admission.param, &email, err);

	if (result <= 0)
		return result;
	writer = delivery_writer_new(db);
	result = unsubscribe_store(db, writer, &email, "link", unsubscribe->change.now_us, err);
	if (result >= 0 && delivery_writer_flush(writer, err) < 0)
		result = -1;
	store_return_email_clear(&email);
	return result;
}

static void on_unsubscribed(struct change *change)
{
	struct unsubscribe *unsubscribe = CONTAINER_OF(change, struct unsubscribe, change);
	struct request *request = change->request;
	struct problem problem = PROBLEM_INIT;

	if (change->result < 0 && change_failed(change, "unsubscribe_failed", &problem) < 0) {
		reply_problem(request, &problem);
	} else {
		if (change->result > 0)
			log_info(request->worker->log, "unsubscribed", "request", request->id,
				"email", unsubscribe->email.id);
		reply_document(request, &page,
			make_page("Unsubscribed", unsubscribe->email.domain,
				"You get no more emails from", "."));
	}
	store_return_email_clear(&unsubscribe->email);
	free(unsubscribe);
}

static int find_by_token(struct store_read *read, struct db *db, struct err *err)
{
	struct unsubscribe *unsubscribe = CONTAINER_OF(read, struct unsubscribe, read);

	unsubscribe->found = unsubscribe_find(
		db, unsubscribe->change.request->admission.param, &unsubscribe->email, err);
	return unsubscribe->found < 0 ? -1 : 0;
}

static void on_found(struct store_read *read)
{
	struct unsubscribe *unsubscribe = CONTAINER_OF(read, struct unsubscribe, read);
	struct request *request = unsubscribe->change.request;
	struct problem problem = PROBLEM_INIT;

	if (check_found(request, read->result < 0 ? -1 : unsubscribe->found, &read->err,
		    &problem) == 0) {
		change_submit(request, &unsubscribe->change, store_unsubscribe, on_unsubscribed);
		return;
	}
	reply_problem(request, &problem);
	free(unsubscribe);
}

/* POST /unsubscribe/{token}: the email is looked up first, so that requests without a valid token
 * never reach the committer. */
void api_unsubscribe(struct request *request)
{
	struct unsubscribe *unsubscribe = mem_new(struct unsubscribe);

	unsubscribe->change.request = request;
	unsubscribe->read.read = find_by_token;
	unsubscribe->read.done = on_found;
	store_read_start(request->worker, &unsubscribe->read, "");
}
