/*
 * form_request: the body of a form request, unpacked and taken apart.
 *
 * Threads: any that has the body.
 */
#include "httpd/form/form_request.h"

#include "core/base/gzip.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/http/request.h"
#include "httpd/send/send.h"

/* What is unpacked at the first attempt. */
enum { FIRST_BYTES = 64 * 1024 };

/* What a field takes besides its bytes. */
enum { FIELD_BYTES = 512 };

static const char multipart[] = "multipart/form-data";
static const char urlencoded[] = "application/x-www-form-urlencoded";

/* A little is tried first, then twice as much each time: the memory is taken
 * from the budget before, and what was not needed is given back. */
static int unpack(
	struct send_body *body, struct buf *unpacked, struct problem *problem)
{
	struct admission *admission = &body->request->admission;
	uint64_t limit = admission->body_limit;
	uint64_t most = FIRST_BYTES;
	struct err err = ERR_INIT;

	for (;;) {
		if (most > limit)
			most = limit;
		if (admission_reserve(body->request->worker, admission, most,
			    problem) < 0)
			return -1;
		if (gzip_unpack(body->data, body->len, (size_t)most, unpacked,
			    &err) == 0)
			break;
		if (err.code != ERR_TOO_LARGE)
			return problem_set(problem, PROBLEM_BAD_REQUEST,
				"unable to parse request: %s", err.text);
		if (most == limit)
			return admission_too_large(admission, problem);
		most *= 2;
	}
	budget_trim(&admission->share,
		unpacked->len > body->len ? unpacked->len : body->len);
	return 0;
}

/* The fields have as many bytes as the body, and what each takes besides. */
static int parse(
	struct send_body *body, struct form *form_r, struct problem *problem)
{
	struct admission *admission = &body->request->admission;
	bool is_multipart = str_starts_nocase(body->type, multipart);
	uint64_t fields = form_fields_max(body->data, body->len, is_multipart);
	struct err err = ERR_INIT;
	int result = 0;

	*form_r = FORM_INIT;
	if (admission_reserve(body->request->worker, admission,
		    body->len + fields * FIELD_BYTES / BUDGET_FACTOR, problem) < 0)
		return -1;
	if (is_multipart)
		result = form_parse_multipart(
			body->type, body->data, body->len, form_r, &err);
	else if (str_starts_nocase(body->type, urlencoded))
		result = form_parse_urlencoded(
			body->data, body->len, form_r, &err);
	send_body_drop(body);
	if (result < 0)
		return problem_set(problem, PROBLEM_BAD_REQUEST, "%s", err.text);
	return 0;
}

/* A request with nothing in it lacks the first field, whatever it is. */
static int check_type(const char *type, size_t len, bool multipart_only,
	struct problem *problem)
{
	bool any = !multipart_only;

	if (str_starts_nocase(type, multipart) ||
		(any && str_starts_nocase(type, urlencoded)) ||
		(any && *type == '\0' && len == 0))
		return 0;
	return problem_set(problem, PROBLEM_BAD_REQUEST,
		"Invalid request content type. Expecting '%s'%s%s%s but got "
		"'%s'",
		multipart, any ? " or '" : "", any ? urlencoded : "",
		any ? "'" : "", type);
}

int form_request_read(struct send_body *body, bool multipart_only,
	struct form *form_r, struct problem *problem)
{
	const char *encoding = body->encoding;
	_cleanup_buf_ struct buf unpacked = BUF_INIT;

	if (check_type(body->type, body->len, multipart_only, problem) < 0)
		return -1;
	if (str_eq_nocase(encoding, "gzip") ||
		str_eq_nocase(encoding, "x-gzip")) {
		if (unpack(body, &unpacked, problem) < 0)
			return -1;
		send_body_drop(body);
		body->data = buf_str(&unpacked);
		body->len = unpacked.len;
	} else if (*encoding && !str_eq_nocase(encoding, "identity")) {
		return problem_set(problem, PROBLEM_MEDIA_TYPE,
			"Content-Encoding %s is not supported", encoding);
	}
	return parse(body, form_r, problem);
}
