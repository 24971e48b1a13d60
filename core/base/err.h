/*
 * err: what went wrong, for the caller and for people.
 *
 * A function that can fail takes `struct err *err` last and returns 0, or -1 with err filled. A
 * look-up returns 1 if found, 0 if not, -1 if unknown. The code says if a failure is permanent
 * or temporary: err_info() maps it to an HTTP status and an exit status (sysexits.h). The
 * milter answers tempfail for all of them, because it decides nothing without the facts.
 */
#ifndef POSTERN_BASE_ERR_H
#define POSTERN_BASE_ERR_H

enum err_code {
	ERR_NONE,
	ERR_INVALID,   /* the input is invalid and stays invalid */
	ERR_NOT_FOUND, /* something that the input names does not exist */
	ERR_EXISTS,    /* something that the input creates already exists */
	ERR_DENIED,    /* the caller is not allowed to do this */
	ERR_TOO_LARGE, /* a limit is exceeded */
	ERR_TEMPORARY, /* temporary: busy, disk full, peer unreachable */
	ERR_SHARE,     /* temporary: the caller has used up its share */
	ERR_CONFIG,    /* the installation is wrong and an admin must act */
	ERR_INTERNAL,  /* a bug of ours */
	ERR_CODES
};

enum { ERR_TEXT_MAX = 512 };

struct err {
	enum err_code code;
	char text[ERR_TEXT_MAX]; /* one line without a newline */
};

#define ERR_INIT ((struct err){.code = ERR_NONE})

struct err_info {
	int http_status; /* the default: handlers may know better, since "not found" can be
			  * the client's fault or ours */
	int exit_status;
};

/* Fills err (may be NULL) and returns -1. Long texts are cut. */
int err_set(struct err *err, enum err_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Copies another error, which must not be ERR_NONE; returns -1. */
int err_copy(struct err *err, const struct err *from);

/* Prepends "CONTEXT: " to the text; returns -1. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the table's row for a code; never NULL. */
const struct err_info *err_info(enum err_code code);

#endif
