/*
 * route: one row of the table of all that is served (routes.c).
 *
 * The row carries the policy of its route, so that no handler checks who may
 * call it: the admission reads the columns before a byte of the body is read.
 */
#ifndef POSTERN_HTTPD_ADMISSION_ROUTE_H
#define POSTERN_HTTPD_ADMISSION_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/store/store_user.h"
#include "httpd/http/http1.h"
#include "httpd/http/problem.h"

struct manage;
struct operation;
struct request;

/* How problems are worded. */
enum route_dialect { DIALECT_JSON, DIALECT_FORM };

enum route_auth {
	AUTH_NONE,   /* anybody may */
	AUTH_BEARER, /* Authorization: Bearer KEY */
	AUTH_BASIC,  /* Authorization: Basic, user api, password KEY */
	AUTH_LOGIN,  /* anybody may, but no page of another site */
	AUTH_USER,   /* the cookie of a session, or Authorization: Bearer TOKEN */
};

enum route_body {
	BODY_IGNORED,    /* read, if there is one, and thrown away */
	BODY_JSON,       /* of emails: as large as messages may be */
	BODY_JSON_SMALL, /* at most 64 KiB */
	BODY_FORM,       /* the handler looks at its media type */
	BODY_FORM_SMALL, /* the same of at most 64 KiB */
};

struct route {
	const char *method;  /* NULL behind the last row of a table */
	const char *pattern; /* `{}` stands for one segment, not empty; of two
			      * of them the first is the parameter */
	enum route_dialect dialect;
	enum route_auth auth;
	unsigned scopes; /* of enum key_scope: any one of them will do */
	/* Of AUTH_USER: */
	enum user_role role; /* a viewer may, or an owner alone */
	bool operators;      /* members of a company may not */
	bool makes_login;    /* makes a login: no token that ends may, which the login
			      * would outlast */
	bool unattended;     /* pages ask by themselves: that is no use of a
			      * session, which ends when idle */
	bool on_loopback;    /* whoever is on this host may, if admin.metrics says
			      * so */
	bool names_domain;   /* the segment is the sending domain: it must be the
			      * company's, and the key's if it has one; and
			      * active, where the route needs the scope sending */
	bool idempotent;     /* takes an Idempotency-Key; elsewhere it is ignored */
	enum route_body body;
	bool pooled;     /* handled in the pool, as reply_from_pool() has it, */
	bool reads_conf; /* with settings; admins' always are */
	void (*handle)(struct request *request);
	const struct operation *operation; /* what it does (core/ops); or NULL */
	const struct manage *manage;       /* in which words of the JSON dialect (api_manage.h) */
	int status;                        /* of the answer to a change; 0: 200 */
	bool done_alone; /* the answer to a change says that it is made, no more */
};

/* Bytes, with the NUL. */
enum { ROUTE_PARAM_MAX = 320 };

struct route_match {
	const struct route *route;     /* NULL: no such path, or no such method */
	char allow[PROBLEM_ALLOW_MAX]; /* methods of the path; "": no such path */
	char param[ROUTE_PARAM_MAX];   /* the segment behind {}, decoded */
};

/* Finds the row of the table for the method and path of a request, or tells why
 * there is none. */
void route_find(
	const struct route *routes, const struct http_head *head, struct route_match *match_r);

#endif
