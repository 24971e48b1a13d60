/*
 * route: one row of the table of routes (routes.c).
 *
 * The row carries the policy of its route, so that no handler checks who may
 * call it: the admission reads the columns before the first byte of the body.
 */
#ifndef POSTERN_HTTPD_ADMISSION_ROUTE_H
#define POSTERN_HTTPD_ADMISSION_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/store/user/store_user.h"
#include "httpd/http/http1.h"
#include "httpd/http/problem.h"

struct admission_rows;
struct db;
struct err;
struct manage;
struct operation;
struct request;

/* Which words problems are answered in. */
enum route_dialect { DIALECT_JSON, DIALECT_FORM };

enum route_auth {
	AUTH_NONE,   /* anybody may */
	AUTH_BEARER, /* Authorization: Bearer KEY */
	AUTH_BASIC,  /* Authorization: Basic, user api, password KEY */
	AUTH_LOGIN,  /* anybody may, except a page of another site */
	AUTH_USER,   /* the cookie of a session, or Authorization: Bearer TOKEN */
};

enum route_body {
	BODY_IGNORED,    /* read, if there is one, and discarded */
	BODY_JSON,       /* JSON with emails, as large as messages may be */
	BODY_JSON_SMALL, /* at most 64 KiB */
	BODY_FORM,       /* the handler checks the media type */
	BODY_FORM_SMALL, /* a form of at most 64 KiB */
};

struct route {
	const char *method;  /* NULL ends the table */
	const char *pattern; /* `{}` is one non-empty segment; the first is the parameter */
	enum route_dialect dialect;
	enum route_auth auth;
	unsigned scopes; /* bits of enum key_scope; the key needs one of them */
	/* With AUTH_USER: */
	enum user_role role; /* the lowest role that may */
	bool operators;      /* members of a company may not */
	bool makes_login;    /* makes a login, which would outlast the token: tokens that expire may
				not */
	bool unattended;  /* pages poll it: that does not count as a use of the session, which ends
			     when idle */
	bool on_loopback; /* clients on this host may without a login, if admin.metrics allows it */
	bool names_domain; /* the parameter is a domain: it must be the company's, and the key's if
			      the key is bound to one; and active, if the route needs the scope
			      sending */
	bool idempotent;   /* honours an Idempotency-Key; other routes ignore it */
	enum route_body body;
	bool pooled;     /* the handler runs in the pool, see reply_from_pool() */
	bool reads_conf; /* the handler gets a copy of the settings, as all do on the admin listener
			  */
	/* Reads the caller's key together with what the caller asks for, from a database server:
	 * one statement more costs much of what the request costs. The handler finds the row in the
	 * admission, or NULL: then it was not read. Returns 1, 0 if there is no such key, or -1
	 * with err. */
	int (*read)(struct db *db, struct admission_rows *rows, struct err *err);
	/* Announces its statements (db_read_ahead()). */
	void (*announce)(struct db *db, const struct admission_rows *rows);
	void (*row_free)(void *row);
	void (*handle)(struct request *request);
	const struct operation *operation; /* the operation it runs (core/ops), or NULL */
	const struct manage *manage; /* how the JSON dialect reads and shows it (api_manage.h) */
	int list_limit;  /* of a list of the JSON dialect without the parameter; 0 means 20 */
	int status;      /* status of the answer to a change; 0 means 200 */
	bool done_alone; /* the answer to a change only confirms it */
};

/* In bytes, with the NUL. */
enum { ROUTE_PARAM_MAX = 320 };

struct route_match {
	const struct route *route;     /* NULL if the path or its method does not exist */
	char allow[PROBLEM_ALLOW_MAX]; /* methods of the path; "" if no such path */
	char param[ROUTE_PARAM_MAX];   /* the first segment that {} matched, decoded */
};

/* Finds the row for the method and path of a request. Without one, allow tells
 * an unknown path from an unknown method. */
void route_find(
	const struct route *routes, const struct http_head *head, struct route_match *match_r);

#endif
