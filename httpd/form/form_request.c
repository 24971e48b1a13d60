/*
 * form_request: the body of a form request, unpacked and taken apart.
 *
 * Threads: the worker's.
 */
#include "httpd/form/form_request.h"

#include <event2/http.h>

#include "core/base/gzip.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/http/request.h"

static const char multipart[] = "multipart/form-data";
static const char urlencoded[] = "application/x-www-form-urlencoded";

static const char *field(struct request *request, const char *name)
{
	const char *value = evhttp_find_header(
		evhttp_request_get_input_headers(request->http), name);

	return value ? value : "";
}

static int unpack_within(const char *body, size_t len, uint64_t max,
	struct buf *unpacked, struct err *err)
{
	return gzip_unpack(body, len, (size_t)max, unpacked, err);
}

/* Small bodies are unpacked at once; for a large one its memory is taken from
 * the budget before it is unpacked. */
static int unpack(struct request *request, const char *body, size_t len,
	struct buf *unpacked, struct problem *problem)
{
	struct admission *admission = &request->admission;
	uint64_t most = admission->body_limit;
	uint64_t small = most < BUDGET_FREE_BYTES ? most : BUDGET_FREE_BYTES;
	struct err err = ERR_INIT;

	if (unpack_within(body, len, small, unpacked, &err) == 0)
		return 0;
	if (err.code == ERR_TOO_LARGE) {
		if (admission_grow(request->worker, admission, most, problem) < 0)
			return -1;
		if (unpack_within(body, len, most, unpacked, &err) == 0)
			return 0;
	}
	if (err.code == ERR_TOO_LARGE)
		return admission_too_large(admission, problem);
	return problem_set(problem, PROBLEM_BAD_REQUEST,
		"unable to parse request: %s", err.text);
}

static int parse(const char *type, const char *body, size_t len,
	struct form *form_r, struct problem *problem)
{
	struct err err = ERR_INIT;
	int result = 0;

	*form_r = FORM_INIT;
	if (str_starts_nocase(type, multipart))
		result = form_parse_multipart(type, body, len, form_r, &err);
	else if (str_starts_nocase(type, urlencoded))
		result = form_parse_urlencoded(body, len, form_r, &err);
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

int form_request_read(struct request *request, bool multipart_only,
	struct form *form_r, struct problem *problem)
{
	const char *type = field(request, "Content-Type");
	const char *encoding = field(request, "Content-Encoding");
	_cleanup_buf_ struct buf unpacked = BUF_INIT;
	size_t len;
	const char *body = request_body(request, &len);
	int result;

	if (check_type(type, len, multipart_only, problem) < 0)
		return -1;
	if (str_eq_nocase(encoding, "gzip") ||
		str_eq_nocase(encoding, "x-gzip")) {
		if (unpack(request, body, len, &unpacked, problem) < 0)
			return -1;
		body = buf_str(&unpacked);
		len = unpacked.len;
	} else if (*encoding && !str_eq_nocase(encoding, "identity")) {
		return problem_set(problem, PROBLEM_MEDIA_TYPE,
			"Content-Encoding %s is not supported", encoding);
	}
	result = parse(type, body, len, form_r, problem);
	request_drop_body(request);
	return result;
}
