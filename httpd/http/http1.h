/*
 * http1: the head of an HTTP/1.x request, and the framing of its body, parsed
 * strictly (RFC 9112).
 *
 * evhttp parses heads leniently, and answers malformed ones itself, in HTML. So
 * each head is parsed here first: evhttp understands what passes in the same
 * way, and what does not gets our own answer.
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

/* What determines the end of the body. */
enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED };

struct http_head {
	struct span method;
	/* Of a target in absolute form (RFC 9112 3.2.2), which replaces the value of Host. Else
	 * len 0. */
	struct span authority;
	struct span path;  /* path of the request target, without the query */
	struct span query; /* without the ?; len 0 if there is none */
	int minor_version; /* the x of HTTP/1.x */
	struct http_field fields[HTTP_FIELDS_MAX];
	size_t fields_n;
	enum http_framing framing;
	uint64_t length; /* with HTTP_LENGTH */
	bool expects_continue;
};

/* Why a head is refused: an HTTP status and a sentence; static. */
struct http_fault {
	int status;
	const char *text;
};

/* Finds the end of the head in the bytes so far. Returns its length with the
 * empty line, or 0 when it is incomplete. The first scanned bytes are known not
 * to contain the end. A fault (a bare LF, or too long) is set as soon as it is
 * seen, with 0. */
size_t http_head_end(const char *data, size_t len, size_t scanned, struct http_fault *fault);

/* Parses a complete head. The spans point into data. Returns 0, or -1 and
 * fault. */
int http_head_parse(
	const char *data, size_t len, struct http_head *head_r, struct http_fault *fault);

/* The reason phrase of a status that Postern answers with: its name in RFC 9110 or RFC 6585, which
 * evhttp does not know for all of them. */
const char *http_reason(int status);

/* The value of a field, or NULL if it is missing. The name matches in any case. */
const struct span *http_head_field(const struct http_head *head, const char *name);

/* Finds the end of a chunked body (RFC 9112 7.1), and counts its content. */

enum { HTTP_TRAILER_MAX = 8 * 1024 }; /* bytes of trailer fields */

/* The state of a scan. Starts zeroed. */
struct http_chunks {
	int state;
	uint64_t left;  /* bytes of the chunk that are still to come */
	uint64_t size;  /* content so far */
	size_t line;    /* length of the current line of framing */
	size_t trailer; /* bytes of trailer fields */
};

enum http_chunks_result { CHUNKS_MORE, CHUNKS_END, CHUNKS_BAD };

/* Scans the next bytes. Chunk extensions and trailer fields are ignored (RFC
 * 9112 7.1.1, RFC 9110 6.5.1), and overwritten: extensions with blanks, because
 * evhttp cannot parse them; names and values of trailer fields with x, because
 * evhttp would add them to the fields of the head. *used_r is how many bytes
 * belong to the body: all, unless they contain its end. It means nothing with
 * CHUNKS_BAD. */
enum http_chunks_result http_chunks_scan(
	struct http_chunks *chunks, char *data, size_t len, size_t *used_r);

#endif
