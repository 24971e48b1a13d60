/*
 * err: what went wrong, for the caller and for people.
 *
 * A function that can fail takes `struct err *err` last and returns 0, or -1
 * with err filled. A look-up returns 1 found, 0 none, -1 cannot tell. Whether
 * a failure is final or may pass is in the code and never lost: the table
 * behind err_info() turns a code into an HTTP status and an exit status
 * (sysexits.h). The milter puts mail off for any of them: it judges nothing
 * that it could not look at.
 */
#ifndef POSTERN_BASE_ERR_H
#define POSTERN_BASE_ERR_H

enum err_code {
	ERR_NONE,
	ERR_INVALID,   /* the input is wrong and stays wrong */
	ERR_NOT_FOUND, /* what the input names does not exist */
	ERR_EXISTS,    /* what the input wants to create is there already */
	ERR_DENIED,    /* who asks may not do it */
	ERR_TOO_LARGE, /* a limit is exceeded */
	ERR_TEMPORARY, /* may pass: busy, disk full, peer away */
	ERR_SHARE,     /* may pass: who asks has as much under way as others leave it */
	ERR_CONFIG,    /* the installation is wrong; an admin must act */
	ERR_INTERNAL,  /* our own fault */
	ERR_CODES
};

enum { ERR_TEXT_MAX = 512 };

struct err {
	enum err_code code;
	char text[ERR_TEXT_MAX]; /* one line, no newline at its end */
};

#define ERR_INIT ((struct err){.code = ERR_NONE})

struct err_info {
	int http_status; /* unless who asked knows better: that nothing was
			  * found may be the client's fault or ours */
	int exit_status;
};

/* Fills err (which may be NULL) and returns -1. A longer text is cut. */
int err_set(struct err *err, enum err_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Fills err with what another one has, which is not ERR_NONE; returns -1. */
int err_copy(struct err *err, const struct err *from);

/* Puts "CONTEXT: " before the text; returns -1. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The row of the table for a code; never NULL. */
const struct err_info *err_info(enum err_code code);

#endif
