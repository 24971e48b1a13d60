/*
 * problem: why a request is not done, and how that is told to the client.
 *
 * Kinds, statuses and names stand in one table. The JSON dialect shows name
 * and text, the form dialect the text.
 */
#ifndef POSTERN_HTTPD_HTTP_PROBLEM_H
#define POSTERN_HTTPD_HTTP_PROBLEM_H

#include <stdbool.h>

#include "core/base/err.h"

enum problem_kind {
	PROBLEM_NONE,
	PROBLEM_BAD_REQUEST, /* HTTP or JSON that cannot be read */
	PROBLEM_IDEMPOTENCY_KEY,
	PROBLEM_MISSING_KEY,
	PROBLEM_INVALID_KEY,
	PROBLEM_RESTRICTED_KEY,
	PROBLEM_DOMAIN, /* the sending domain is not usable */
	PROBLEM_MISSING_FIELD,
	PROBLEM_VALIDATION,
	PROBLEM_ATTACHMENT,
	PROBLEM_SCHEDULED_BEFORE, /* for a time that is over */
	PROBLEM_PARAMETER,
	PROBLEM_REGION,
	PROBLEM_NOT_FOUND,
	PROBLEM_METHOD,
	PROBLEM_TIMEOUT,
	PROBLEM_OTHER_PAYLOAD, /* the Idempotency-Key is that of another request */
	PROBLEM_CONCURRENT,    /* ... of the same one, which is under way */
	PROBLEM_TOO_LARGE,
	PROBLEM_MEDIA_TYPE,
	PROBLEM_EXPECTATION,
	PROBLEM_RATE, /* too many requests of the company */
	PROBLEM_HEAD_TOO_LARGE,
	PROBLEM_NOT_IMPLEMENTED,
	PROBLEM_VERSION,
	PROBLEM_UNAVAILABLE, /* Postfix or the store cannot take it now */
	PROBLEM_INTERNAL,
	/* On the admin listener alone: */
	PROBLEM_LOGIN,     /* nobody is logged in, or the login is wrong */
	PROBLEM_CODE,      /* the password is right, a code is needed too */
	PROBLEM_FORBIDDEN, /* the user may not */
	PROBLEM_EXISTS,
	PROBLEM_MISDIRECTED, /* Host is no name of this server */
	PROBLEM_KINDS
};

enum { PROBLEM_ALLOW_MAX = 64, PROBLEM_PREFIX_MAX = 24 };

struct problem {
	enum problem_kind kind;
	int retry_after_s;             /* for Retry-After; 0: no such field */
	char allow[PROBLEM_ALLOW_MAX]; /* methods, for the Allow field of a 405 */
	/* What stands before the names of fields, as `[3].` in a batch; whoever
	 * reads the request sets it before, and it stays. */
	char prefix[PROBLEM_PREFIX_MAX];
	bool as_page;     /* people read it in a browser; the text is plain */
	bool names_field; /* the text does, with the place */
	char text[ERR_TEXT_MAX];
};

#define PROBLEM_INIT ((struct problem){.kind = PROBLEM_NONE})

/* Fills the problem, also with its kind's usual retry_after_s, and returns -1.
 * Its place stays. */
int problem_set(struct problem *problem, enum problem_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for a text that names fields of the body. The format has a %s before
 * each, for problem->prefix: "Missing `%s%s` field.". */
int problem_field(struct problem *problem, enum problem_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A problem with one of the fixed texts of the interface. */
int problem_fixed(struct problem *problem, enum problem_kind kind);

/* What an error of the core means to a client: what may pass is
 * PROBLEM_UNAVAILABLE, our own faults are PROBLEM_INTERNAL without detail. */
int problem_from_err(struct problem *problem, const struct err *err);

/* The kind that answers with this HTTP status. */
enum problem_kind problem_kind_of_status(int status);

int problem_status(const struct problem *problem);
/* One of the names that client libraries know. */
const char *problem_name(const struct problem *problem);

#endif
