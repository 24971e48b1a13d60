/*
 * problem: why a request is refused or has failed, as the client is told.
 *
 * One table (problem.c) has the status and name of each kind. The JSON dialect
 * shows name and text, the form dialect only the text.
 */
#ifndef POSTERN_HTTPD_HTTP_PROBLEM_H
#define POSTERN_HTTPD_HTTP_PROBLEM_H

#include <stdbool.h>

#include "core/base/err.h"

enum problem_kind {
	PROBLEM_NONE,
	PROBLEM_BAD_REQUEST, /* malformed HTTP or JSON */
	PROBLEM_IDEMPOTENCY_KEY,
	PROBLEM_MISSING_KEY,
	PROBLEM_INVALID_KEY,
	PROBLEM_RESTRICTED_KEY,
	PROBLEM_DOMAIN, /* the sending domain is not usable */
	PROBLEM_MISSING_FIELD,
	PROBLEM_VALIDATION,
	PROBLEM_ATTACHMENT,
	PROBLEM_SCHEDULED_BEFORE, /* scheduled for a time in the past */
	PROBLEM_PARAMETER,
	PROBLEM_REGION,
	PROBLEM_NOT_FOUND,
	PROBLEM_METHOD,
	PROBLEM_TIMEOUT,
	PROBLEM_OTHER_PAYLOAD, /* the Idempotency-Key was used for another payload */
	PROBLEM_CONCURRENT,    /* a request with that Idempotency-Key is under way */
	PROBLEM_TOO_LARGE,
	PROBLEM_MEDIA_TYPE,
	PROBLEM_EXPECTATION,
	PROBLEM_RATE, /* the company's rate limit is exceeded */
	PROBLEM_HEAD_TOO_LARGE,
	PROBLEM_NOT_IMPLEMENTED,
	PROBLEM_VERSION,
	PROBLEM_UNAVAILABLE, /* temporary: Postfix, the store or memory */
	PROBLEM_INTERNAL,
	/* On the admin listener only: */
	PROBLEM_LOGIN,     /* not logged in, or wrong credentials */
	PROBLEM_CODE,      /* the password is right; a second factor is needed */
	PROBLEM_FORBIDDEN, /* the user's role does not allow it */
	PROBLEM_EXISTS,
	PROBLEM_MISDIRECTED, /* Host is not a name of this server */
	PROBLEM_KINDS
};

enum { PROBLEM_ALLOW_MAX = 64, PROBLEM_PREFIX_MAX = 24 };

struct problem {
	enum problem_kind kind;
	int retry_after_s;             /* for Retry-After; 0 for none */
	char allow[PROBLEM_ALLOW_MAX]; /* methods, for the Allow field of a 405 */
	/* The prefix of field names, such as `[3].` in a batch. The parser of
	 * the request sets it first; setting a problem keeps it. */
	char prefix[PROBLEM_PREFIX_MAX];
	bool as_page;     /* answer with an HTML page; text needs no escaping */
	bool names_field; /* text names a field, with the prefix */
	char text[ERR_TEXT_MAX];
};

#define PROBLEM_INIT ((struct problem){.kind = PROBLEM_NONE})

/* Sets the problem, with its kind's default retry_after_s. Keeps the prefix.
 * Returns -1. */
int problem_set(struct problem *problem, enum problem_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for a text that names fields of the body. Before each name the
 * format has a %s, for problem->prefix: "Missing `%s%s` field.". */
int problem_field(struct problem *problem, enum problem_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same, with the fixed text of the kind, which must have one. */
int problem_fixed(struct problem *problem, enum problem_kind kind);

/* Sets the problem for an error of the core: temporary errors become
 * PROBLEM_UNAVAILABLE, our own faults PROBLEM_INTERNAL without details. Returns
 * -1. */
int problem_from_err(struct problem *problem, const struct err *err);

/* The first kind with this HTTP status; PROBLEM_BAD_REQUEST if there is none. */
enum problem_kind problem_kind_of_status(int status);

int problem_status(const struct problem *problem);
/* The error name, as client libraries know it. */
const char *problem_name(const struct problem *problem);

#endif
