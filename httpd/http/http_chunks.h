/*
 * http_chunks: where a chunked body ends (RFC 9112 7.1), and how large it is.
 */
#ifndef POSTERN_HTTPD_HTTP_CHUNKS_H
#define POSTERN_HTTPD_HTTP_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
