/*
 * problem: the table of problems.
 */
#include "httpd/http/problem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/base/mem.h"
#include "core/base/str.h"

enum { RETRY_AFTER_S = 5 };

static const struct {
	int status;
	const char *name;
	const char *text; /* for problem_fixed(); NULL if it has no fixed text */
	int retry_after_s;
} kinds[PROBLEM_KINDS] = {
	[PROBLEM_BAD_REQUEST] = {.status = 400, .name = "validation_error"},
	[PROBLEM_IDEMPOTENCY_KEY] =
		{
			.status = 400,
			.name = "invalid_idempotency_key",
			.text = "Idempotency keys, if present, must have between 1 and 256 "
				"characters.",
		},
	[PROBLEM_MISSING_KEY] =
		{
			.status = 401,
			.name = "missing_api_key",
			.text = "Missing API key in the authorization header.",
		},
	[PROBLEM_INVALID_KEY] =
		{
			.status = 401,
			.name = "invalid_api_key",
			.text = "API key is invalid.",
		},
	[PROBLEM_RESTRICTED_KEY] = {.status = 403, .name = "restricted_api_key"},
	[PROBLEM_MISDIRECTED] = {.status = 421, .name = "misdirected_request"},
	[PROBLEM_LOGIN] =
		{
			.status = 401,
			.name = "not_logged_in",
			.text = "Log in first, or give a token in the field Authorization.",
		},
	[PROBLEM_CODE] =
		{
			.status = 401,
			.name = "code_required",
			.text = "Give the code that the authenticator app shows, or a "
				"recovery code.",
		},
	[PROBLEM_FORBIDDEN] =
		{
			.status = 403,
			.name = "not_allowed",
			.text = "Only owners may do this; you may look.",
		},
	[PROBLEM_EXISTS] = {.status = 409, .name = "already_exists"},
	[PROBLEM_DOMAIN] = {.status = 403, .name = "validation_error"},
	[PROBLEM_MISSING_FIELD] = {.status = 422, .name = "missing_required_field"},
	[PROBLEM_VALIDATION] = {.status = 422, .name = "validation_error"},
	[PROBLEM_SCHEDULED_BEFORE] =
		{
			.status = 422,
			.name = "validation_error",
			.text = "The `scheduled_at` field must be a time in the future.",
		},
	[PROBLEM_ATTACHMENT] = {.status = 422, .name = "invalid_attachment"},
	[PROBLEM_PARAMETER] = {.status = 422, .name = "invalid_parameter"},
	[PROBLEM_REGION] = {.status = 422, .name = "invalid_region"},
	[PROBLEM_NOT_FOUND] =
		{
			.status = 404,
			.name = "not_found",
			.text = "The requested endpoint does not exist.",
		},
	[PROBLEM_METHOD] =
		{
			.status = 405,
			.name = "method_not_allowed",
			.text = "Method is not allowed for the requested path.",
		},
	[PROBLEM_TIMEOUT] =
		{
			.status = 408,
			.name = "validation_error",
			.text = "The request did not arrive in time.",
		},
	[PROBLEM_OTHER_PAYLOAD] =
		{
			.status = 409,
			.name = "invalid_idempotent_request",
			.text = "The idempotency key belongs to a request with another "
				"payload.",
		},
	[PROBLEM_CONCURRENT] =
		{
			.status = 409,
			.name = "concurrent_idempotent_requests",
			.text = "A request with this idempotency key is still being "
				"handled.",
		},
	[PROBLEM_TOO_LARGE] = {.status = 413, .name = "validation_error"},
	[PROBLEM_MEDIA_TYPE] =
		{
			.status = 415,
			.name = "validation_error",
			.text = "The Content-Type must be application/json.",
		},
	[PROBLEM_EXPECTATION] = {.status = 417, .name = "validation_error"},
	[PROBLEM_RATE] = {.status = 429, .name = "rate_limit_exceeded", .retry_after_s = 1},
	[PROBLEM_HEAD_TOO_LARGE] = {.status = 431, .name = "validation_error"},
	[PROBLEM_NOT_IMPLEMENTED] = {.status = 501, .name = "validation_error"},
	[PROBLEM_VERSION] = {.status = 505, .name = "validation_error"},
	[PROBLEM_UNAVAILABLE] =
		{
			.status = 503,
			.name = "application_error",
			.text = "The service cannot take the request now. Please try "
				"again.",
			.retry_after_s = RETRY_AFTER_S,
		},
	[PROBLEM_INTERNAL] =
		{
			.status = 500,
			.name = "internal_server_error",
			.text = "An unexpected error occurred.",
		},
};

__attribute__((format(printf, 3, 0))) static void set(
	struct problem *problem, enum problem_kind kind, const char *format, va_list args)
{
	assert(kind > PROBLEM_NONE && kind < PROBLEM_KINDS);
	problem->kind = kind;
	problem->retry_after_s = kinds[kind].retry_after_s;
	problem->allow[0] = '\0';
	problem->names_field = false;
	problem->as_page = false;
	vsnprintf(problem->text, sizeof(problem->text), format, args);
	/* Truncation may have cut a client's text within a UTF-8 character. */
	str_utf8_mend(problem->text);
}

int problem_set(struct problem *problem, enum problem_kind kind, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set(problem, kind, format, args);
	va_end(args);
	return -1;
}

int problem_field(struct problem *problem, enum problem_kind kind, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set(problem, kind, format, args);
	va_end(args);
	problem->names_field = true;
	return -1;
}

int problem_fixed(struct problem *problem, enum problem_kind kind)
{
	assert(kinds[kind].text != NULL);
	return problem_set(problem, kind, "%s", kinds[kind].text);
}

int problem_from_err(struct problem *problem, const struct err *err)
{
	if (err->code == ERR_SHARE)
		return problem_set(problem, PROBLEM_UNAVAILABLE, "%s", err->text);
	switch (err_info(err->code)->http_status) {
	case 422:
		return problem_set(problem, PROBLEM_VALIDATION, "%s", err->text);
	case 413:
		return problem_set(problem, PROBLEM_TOO_LARGE, "%s", err->text);
	case 503:
		return problem_fixed(problem, PROBLEM_UNAVAILABLE);
	default:
		return problem_fixed(problem, PROBLEM_INTERNAL);
	}
}

enum problem_kind problem_kind_of_status(int status)
{
	for (size_t i = PROBLEM_NONE + 1; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].status == status)
			return (enum problem_kind)i;
	return PROBLEM_BAD_REQUEST;
}

int problem_status(const struct problem *problem)
{
	return kinds[problem->kind].status;
}

const char *problem_name(const struct problem *problem)
{
	return kinds[problem->kind].name;
}
