/*
 * api_form: POST /v3/{domain}/messages and messages.mime: decompresses the
 * body, parses the form, and reads it as an email. Forms of other routes are
 * read here, too.
 *
 * Threads: the worker's; functions that read and parse may run in the pool.
 */
#include "httpd/form/api_form.h"

#include <jansson.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/gzip.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/form/form.h"
#include "httpd/form/form_email.h"
#include "httpd/form/form_variables.h"
#include "httpd/admission/request.h"
#include "httpd/http/problem.h"
#include "httpd/send/send_request.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

/* The size limit of the first attempt to decompress. */
enum { FIRST_BYTES = 64 * 1024 };

/* The memory of a form field in addition to its bytes. */
enum { FIELD_BYTES = 512 };

static const char multipart[] = "multipart/form-data";
static const char urlencoded[] = "application/x-www-form-urlencoded";

/* Decompresses with a small limit first, and doubles it each time. The memory
 * is reserved before each attempt, and what was not needed is given back. */
static int unpack(struct send_body *body, struct buf *unpacked, struct problem *problem)
{
	struct admission *admission = body->admission;
	uint64_t limit = admission->body_limit;
	uint64_t most = FIRST_BYTES;
	struct err err = ERR_INIT;

	for (;;) {
		if (most > limit)
			most = limit;
		if (admission_reserve_body(body->worker, admission, most, problem) < 0)
			return -1;
		if (gzip_unpack(body->data, body->len, (size_t)most, unpacked, &err) == 0)
			break;
		if (err.code != ERR_TOO_LARGE)
			return problem_set(problem, PROBLEM_BAD_REQUEST,
				"unable to parse request: %s", err.text);
		if (most == limit)
			return admission_too_large(admission, problem);
		most *= 2;
	}
	budget_trim(&admission->share, unpacked->len > body->len ? unpacked->len : body->len);
	return 0;
}

/* Parses the form. The fields take as many bytes as the body, and FIELD_BYTES
 * each. */
static int read_form(struct send_body *body, struct form *form_r, struct problem *problem)
{
	struct admission *admission = body->admission;
	bool is_multipart = str_starts_nocase(body->type, multipart);
	uint64_t fields = form_fields_max(body->data, body->len, is_multipart);
	struct err err = ERR_INIT;
	int result = 0;

	*form_r = FORM_INIT;
	if (admission_reserve_body(body->worker, admission,
		    body->len + fields * FIELD_BYTES / BUDGET_FACTOR, problem) < 0)
		return -1;
	if (is_multipart)
		result = form_parse_multipart(body->type, body->data, body->len, form_r, &err);
	else if (str_starts_nocase(body->type, urlencoded))
		result = form_parse_urlencoded(body->data, body->len, form_r, &err);
	send_body_drop(body);
	if (result < 0)
		return problem_set(problem, PROBLEM_BAD_REQUEST, "%s", err.text);
	return 0;
}

/* Checks the media type. An empty request without one passes; it lacks the
 * first field. */
static int check_type(const char *type, size_t len, bool multipart_only, struct problem *problem)
{
	bool any = !multipart_only;

	if (str_starts_nocase(type, multipart) || (any && str_starts_nocase(type, urlencoded)) ||
		(any && *type == '\0' && len == 0))
		return 0;
	return problem_set(problem, PROBLEM_BAD_REQUEST,
		"Invalid request content type. Expecting '%s'%s%s%s but got '%s'", multipart,
		any ? " or '" : "", any ? urlencoded : "", any ? "'" : "", type);
}

/* Parses the body by its Content-Type, after decompressing it (gzip): both
 * kinds of form, or only multipart. Other media types are refused; without a
 * type and a body it is a form without fields. Frees the body. */
static int read_form_body(
	struct send_body *body, bool multipart_only, struct form *form_r, struct problem *problem)
{
	const char *encoding = body->encoding;
	_cleanup_buf_ struct buf unpacked = BUF_INIT;

	if (check_type(body->type, body->len, multipart_only, problem) < 0)
		return -1;
	if (str_eq_nocase(encoding, "gzip") || str_eq_nocase(encoding, "x-gzip")) {
		if (unpack(body, &unpacked, problem) < 0)
			return -1;
		send_body_drop(body);
		body->data = buf_str(&unpacked);
		body->len = unpacked.len;
	} else if (*encoding && !str_eq_nocase(encoding, "identity")) {
		return problem_set(problem, PROBLEM_MEDIA_TYPE,
			"Content-Encoding %s is not supported", encoding);
	}
	return read_form(body, form_r, problem);
}

int api_form_read(struct request *request, struct form *form_r, struct problem *problem)
{
	const char *type = request_header(request, "Content-Type");
	const char *encoding = request_header(request, "Content-Encoding");
	struct send_body body = {
		.worker = request->worker,
		.admission = &request->admission,
		.type = type ? type : "",
		.encoding = encoding ? encoding : "",
	};

	body.data = request_body(request, &body.len);
	return read_form_body(&body, false, form_r, problem);
}

/* Some of the emails go out: an error would make the client send all of them
 * again. */
static void reply_part(struct request *request, const struct send_outcome *outcome)
{
	json_t *not_sent = json_array();
	_cleanup_free_ char *message = mem_printf(
		"Queued %zu of %zu emails. Do not send all of them again: see not_sent.",
		outcome->sent, outcome->n);
	const char *id = request->answer_id;

	for (size_t i = 0; i < outcome->n; i++) {
		const struct send_result *result = &outcome->results[i];

		if (result->problem.kind != PROBLEM_NONE)
			json_array_append_new(not_sent, json_pack("{s:s?, s:s}", "to", result->to,
								"message", result->problem.text));
		else if (id == NULL)
			id = result->message_id;
	}
	if (id == NULL)
		id = outcome->results[0].message_id;
	reply_json(request, 200,
		json_pack("{s:s, s:s, s:I, s:o}", "id", id, "message", message, "sent",
			(json_int_t)outcome->sent, "not_sent", not_sent));
}

static void on_form_sent(struct request *request, const struct send_outcome *outcome)
{
	const struct problem *problem = send_first_problem(outcome);
	const char *id = request->answer_id ? request->answer_id : outcome->results[0].message_id;

	if (problem == NULL)
		reply_json(request, 200,
			json_pack("{s:s, s:s}", "id", id, "message", "Queued. Thank you."));
	else if (outcome->problem == NULL && outcome->n > 1 && outcome->sent > 0)
		reply_part(request, outcome);
	else
		reply_problem(request, problem);
}

/* Individual messages are counted, but not made here: they may take many times
 * the memory of the form. */
static int expand(struct send_body *body, const struct form *form, struct send_parsed *parsed,
	struct problem *problem)
{
	struct draft *email = parsed->emails;
	struct form_variables *variables;

	if (admission_reserve_body(
		    body->worker, body->admission, form_variables_cost(form), problem) < 0 ||
		form_variables_read(form, &variables, problem) < 0)
		return -1;
	if (variables == NULL)
		return form_variables_none(email, problem);
	parsed->personal = &variables->personal;
	parsed->n = email->message.to.n;
	if (email->finished.len > 0)
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"'recipient-variables' parameter is not supported with a finished message");
	return 0;
}

static int parse_form_email(
	struct send_body *body, bool is_mime, struct send_parsed *parsed_r, struct problem *problem)
{
	const struct form_email_rules rules = {
		.domain = body->admission->param,
		.recipients = admission_recipients(body->admission, FORM_TEXT_ADDRS_MAX),
		.now_us = clock_now_us(body->worker->shared->clock),
	};
	_cleanup_form_ struct form form = FORM_INIT;
	struct draft *email = mem_new(struct draft);
	int result;

	parsed_r->emails = email;
	parsed_r->n = 1;
	if (read_form_body(body, is_mime, &form, problem) < 0)
		return -1;
	result = is_mime ? form_email_parse_mime(&form, &rules, email, problem)
			 : form_email_parse(&form, &rules, email, problem);
	if (result < 0)
		return -1;
	if (!is_mime)
		parsed_r->answer_id = mem_strdup(email->message.message_id);
	if (expand(body, &form, parsed_r, problem) < 0)
		return -1;
	return admission_take_slots(body->worker, body->admission, parsed_r->n, problem);
}

static int parse_form(struct send_body *body, struct send_parsed *parsed_r, struct problem *problem)
{
	return parse_form_email(body, false, parsed_r, problem);
}

static int parse_mime(struct send_body *body, struct send_parsed *parsed_r, struct problem *problem)
{
	return parse_form_email(body, true, parsed_r, problem);
}

void api_form_send(struct request *request)
{
	static const struct send_dialect dialect = {.parse = parse_form, .done = on_form_sent};

	send_request(request, &dialect);
}

void api_form_send_mime(struct request *request)
{
	static const struct send_dialect dialect = {.parse = parse_mime, .done = on_form_sent};

	send_request(request, &dialect);
}
