/*
 * http1: the head of an HTTP/1.x request, and the framing of its body, read
 * strictly (RFC 9112).
 *
 * evhttp reads heads leniently, and answers by itself, in HTML, what it cannot
 * read. So each head is read here first: what passes is what evhttp
 * understands the same way, and what does not gets our own answer.
 */
#ifndef POSTERN_HTTPD_HTTP_HTTP1_H
#define POSTERN_HTTPD_HTTP_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/span.h"

enum {
	HTTP_HEAD_MAX = 32 * 1024, /* bytes, request line and fields */
	HTTP_FIELDS_MAX = 100,
};

struct http_field {
	struct span name;
	struct span value; /* without the blanks around it */
};

/* How the end of the body is known. */
enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED };

struct http_head {
	struct span method;
	struct span path;  /* of the target, without the query */
	struct span query; /* without the ?; len 0 when there is none */
	int minor_version; /* of HTTP/1.x */
	struct http_field fields[HTTP_FIELDS_MAX];
	size_t fields_n;
	enum http_framing framing;
	uint64_t length; /* with HTTP_LENGTH */
	bool expects_continue;
};

/* What is wrong with a head: an HTTP status and a sentence. */
struct http_fault {
	int status;
	const char *text;
};

/* Finds the end of the head in the bytes so far: its length with the empty
 * line, or 0 when it is not complete. The first scanned bytes are known to
 * hold no end. A fault (a bare LF, or too long) is told as soon as it is
 * seen. */
size_t http_head_end(const char *data, size_t len, size_t scanned, struct http_fault *fault);

/* Reads a complete head. The texts point into data. 0, or -1 and fault. */
int http_head_parse(
	const char *data, size_t len, struct http_head *head_r, struct http_fault *fault);

/* The value of the field, any letter case; NULL when it is missing. */
const struct span *http_head_field(const struct http_head *head, const char *name);

/* Where a chunked body ends (RFC 9112 7.1), and how large it is. */

enum { HTTP_TRAILER_MAX = 8 * 1024 }; /* bytes of trailer fields */

/* Where the scan is; starts zeroed. */
struct http_chunks {
	int state;
	uint64_t left;  /* of the chunk */
	uint64_t size;  /* content so far */
	size_t line;    /* length of the current line of framing */
	size_t trailer; /* bytes of trailer fields */
};

enum http_chunks_result { CHUNKS_MORE, CHUNKS_END, CHUNKS_BAD };

/* Takes the next bytes. Chunk extensions and trailer fields mean nothing to us
 * (7.1.1, RFC 9110 6.5.1). The former are overwritten with blanks, because
 * evhttp cannot read them, the latter, names and values, with x, because it
 * would take them for fields of the head. *used_r says how
 * many belong to the body (all of them unless the end is among them). */
enum http_chunks_result http_chunks_scan(
	struct http_chunks *chunks, char *data, size_t len, size_t *used_r);

#endif
