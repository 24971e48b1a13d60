/*
 * about: what the routes take and answer, as tables.
 *
 * Each row of the route table points to its struct route_about. The OpenAPI
 * document (openapi.h) and doc/HTTP-API.md are printed from them, and what
 * follows from the row's other columns (keys, bodies, most errors) is not said
 * twice.
 */
#ifndef POSTERN_HTTPD_ABOUT_H
#define POSTERN_HTTPD_ABOUT_H

#include <stdbool.h>

#include "httpd/http/problem.h"

/* What a value looks like. */
enum shape {
	SHAPE_STRING,
	SHAPE_UUID,
	SHAPE_TIME,    /* as clock_iso8601() writes it */
	SHAPE_ADDRESS, /* an address, with or without a name */
	SHAPE_INTEGER,
	SHAPE_BOOLEAN,
	SHAPE_TRUE, /* always true */
	SHAPE_NULL, /* always null */
	SHAPE_STRING_OR_NULL,
	SHAPE_TIME_OR_NULL,
	SHAPE_EMPTY, /* an array without items */
	SHAPE_STRINGS,
	SHAPE_STRINGS_OR_NULL,
	SHAPE_STRING_OR_STRINGS,
	SHAPE_STRING_MAP, /* an object; its values are strings */
	SHAPE_CONTENT,    /* bytes, in the three forms of attachments */
	SHAPE_FILE,       /* of a form */
	SHAPE_FILES,
	SHAPE_ONE_OF,  /* a string, one of the values */
	SHAPE_OBJECT,  /* of the schema */
	SHAPE_OBJECTS, /* an array of the schema */
	SHAPES
};

struct schema_about;

/* A field of an object, or a parameter of the path, query or header. Lists of
 * them end with a row without a name. */
struct field_about {
	const char *name;
	enum shape shape;
	const char *const *values;         /* SHAPE_ONE_OF; ended by NULL */
	const struct schema_about *schema; /* SHAPE_OBJECT, SHAPE_OBJECTS */
	bool required;                     /* in an answer: always there */
	const char *help;                  /* a phrase or whole sentences */
};

struct schema_about {
	const char *name;
	const char *help;
	const struct schema_about *base; /* its fields come first; or NULL */
	const struct field_about *fields;
	bool open;     /* fields that are not listed may come too */
	bool is_array; /* an array of the fields' object, not one of them */
};

struct route_about {
	const char *name; /* of the operation, for programs */
	const char *summary;
	const char *text;                  /* whole sentences */
	const struct field_about *param;   /* what {} stands for */
	const struct field_about *query;   /* NULL: none */
	const struct field_about *headers; /* NULL: none */
	const struct schema_about *request;
	bool multipart_only; /* a form: not urlencoded */
	int status;          /* of success */
	const struct schema_about *answer;
	/* Besides those that follow from the other columns; ended by
	 * PROBLEM_NONE; NULL: none. */
	const enum problem_kind *problems;
	/* For the line with curl: the value of the parameter; a JSON body, or
	 * the options of a form, one a line; the answer. */
	const char *example_param;
	const char *example;
	const char *example_answer;
};

/* Of all errors, in each dialect. */
extern const struct schema_about about_error;
extern const struct schema_about about_form_error;

/* Shared by routes: the base of lists, the parameters of those that list. */
extern const struct schema_about about_list;
extern const struct schema_about about_tag;
extern const struct field_about about_page_query[];
extern const struct field_about about_idempotency[]; /* a header */
extern const struct schema_about about_email_request;
extern const struct schema_about about_email_sent;

/* Of the routes. */
extern const struct route_about about_email_send;
extern const struct route_about about_batch_send;
extern const struct route_about about_email_get;
extern const struct route_about about_email_list;
extern const struct route_about about_domain_create;
extern const struct route_about about_domain_list;
extern const struct route_about about_domain_get;
extern const struct route_about about_domain_update;
extern const struct route_about about_domain_remove;
extern const struct route_about about_domain_verify;
extern const struct route_about about_api_key_create;
extern const struct route_about about_api_key_list;
extern const struct route_about about_api_key_update;
extern const struct route_about about_api_key_remove;
extern const struct route_about about_form_send;
extern const struct route_about about_form_send_mime;
extern const struct route_about about_openapi;

#endif
