/*
 * http1: the head of an HTTP/1.x request, and the framing of its body, parsed
 * strictly.
 *
 * Some things that lenient servers accept are refused, because two parsers of
 * one connection could disagree about where a request ends (request smuggling):
 * a bare LF or CR, a folded line, a blank before the colon, several Host or
 * Content-Length fields, Content-Length beside Transfer-Encoding, any transfer
 * coding but chunked.
 */
#include "httpd/http/http1.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"
#include "core/base/str.h"

static const struct http_fault
	fault_bare_lf = {400,
		"A line of the request head does not end in CRLF. A line break in "
		"the value of a field, such as the key, causes this."},
	fault_too_long = {431, "The request head is longer than 32 KiB."},
	fault_fields = {431, "The request head has more than 100 fields."},
	fault_line = {400, "The request line is malformed."},
	fault_version = {505, "The HTTP version is not supported."},
	fault_field = {400, "A header field of the request is malformed."},
	fault_hosts = {400, "The request must have exactly one Host field."},
	fault_host = {400, "The Host field is malformed."},
	fault_twice = {400,
		"A header field that may stand only once in a request stands in it again."},
	fault_length = {400, "The Content-Length field is malformed."},
	fault_lengths = {400, "The request has several Content-Length fields."},
	fault_framing = {400, "The request has both Content-Length and Transfer-Encoding."},
	fault_coding = {501, "The only supported transfer coding is chunked."},
	fault_expect = {417, "The only supported expectation is 100-continue."};

static int fail_head(struct http_fault *fault, const struct http_fault *what)
{
	*fault = *what;
	return -1;
}

const char *http_reason(int status)
{
	static const struct {
		int status;
		const char *name;
	} reasons[] = {
		{200, "OK"},
		{201, "Created"},
		{202, "Accepted"},
		{204, "No Content"},
		{304, "Not Modified"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{408, "Request Timeout"},
		{409, "Conflict"},
		{413, "Content Too Large"},
		{415, "Unsupported Media Type"},
		{417, "Expectation Failed"},
		{421, "Misdirected Request"},
		{422, "Unprocessable Content"},
		{429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{503, "Service Unavailable"},
		{505, "HTTP Version Not Supported"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].name;
	return "";
}

const struct span *http_head_field(const struct http_head *head, const char *name)
{
	for (size_t i = 0; i < head->fields_n; i++)
		if (span_is_nocase(head->fields[i].name, name))
			return &head->fields[i].value;
	return NULL;
}

size_t http_head_end(const char *data, size_t len, size_t scanned, struct http_fault *fault)
{
	const char *lf = data + scanned;

	while ((lf = memchr(lf, '\n', len - (size_t)(lf - data))) != NULL) {
		size_t at = (size_t)(lf - data);

		if (at == 0 || data[at - 1] != '\r') {
			*fault = fault_bare_lf;
			return 0;
		}
		if (at >= 3 && data[at - 2] == '\n')
			return at + 1;
		lf++;
	}
	if (len >= HTTP_HEAD_MAX)
		*fault = fault_too_long;
	return 0;
}

/* True if the character may be in a field's name (RFC 9110 5.6.2) or value
 * (5.5). */
static bool is_token_char(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_value_char(char c)
{
	return c == '\t' || !ascii_is_control(c);
}

static bool is_token(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!is_token_char((unsigned char)text.data[i]))
			return false;
	return text.len > 0;
}

/* Like span_cut(). Returns true if the character was found. */
static bool cut(struct span text, char at, struct span *head, struct span *rest)
{
	*rest = text;
	*head = span_cut(rest, at);
	return rest->data > head->data + head->len;
}

/* True for a name or an address, and perhaps a port (RFC 3986 3.2). A user is refused (RFC 9110
 * 4.2.4). */
static bool is_authority(struct span text)
{
	static const char name[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
	_cleanup_free_ char *host = mem_dup(text.data, text.len);
	char *end = *host == '[' ? strchr(host, ']') : host + strspn(host, name);
	const char *port;
	struct in6_addr in6;

	if (end == NULL || end == host)
		return false;
	port = *host == '[' ? end + 1 : end;
	if (*port && (*port != ':' || port[1] == '\0' || strlen(port) > sizeof(":65535") - 1 ||
			     port[1 + strspn(port + 1, "0123456789")] || atoi(port + 1) > 65535))
		return false;
	*end = '\0';
	return *host != '[' || inet_pton(AF_INET6, host + 1, &in6) == 1;
}

/* True for a value of Host (RFC 9112 3.2). It is empty if the client has no name for us, and so may
 * be the port. */
static bool is_host(struct span text)
{
	if (text.len == 0)
		return true;
	text.len -= text.data[text.len - 1] == ':';
	return is_authority(text);
}

/* Takes scheme and authority off a target in absolute form. Returns 0 or -1. */
static int parse_target(struct span target, struct http_head *head)
{
	static const char *const schemes[] = {"http://", "https://"};
	struct span path = target;

	head->authority = (struct span){target.data, 0};
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t skip = strlen(schemes[i]), len = 0;

		if (target.len <= skip || strncasecmp(target.data, schemes[i], skip) != 0)
			continue;
		while (skip + len < target.len && !strchr("/?", target.data[skip + len]))
			len++;
		head->authority = (struct span){target.data + skip, len};
		if (!is_authority(head->authority))
			return -1;
		path = (struct span){target.data + skip + len, target.len - skip - len};
	}
	cut(path, '?', &head->path, &head->query);
	/* An empty path is / (RFC 9110 4.2.3): here the last one of the scheme. */
	if (head->authority.len > 0 && head->path.len == 0)
		head->path = (struct span){head->authority.data - 1, 1};
	return head->path.len > 0 && *head->path.data == '/' ? 0 : -1;
}

static int parse_request_line(struct span line, struct http_head *head, struct http_fault *fault)
{
	struct span target, version, rest;

	if (!cut(line, ' ', &head->method, &rest) || !cut(rest, ' ', &target, &version))
		return fail_head(fault, &fault_line);
	if (!is_token(head->method) || parse_target(target, head) < 0)
		return fail_head(fault, &fault_line);
	for (size_t i = 0; i < target.len; i++)
		if (target.data[i] <= ' ' || target.data[i] >= 0x7f || target.data[i] == '#')
			return fail_head(fault, &fault_line);
	if (version.len != 8 || memcmp(version.data, "HTTP/", 5) != 0)
		return fail_head(fault, &fault_line);
	if (span_is(version, "HTTP/1.1"))
		head->minor_version = 1;
	else if (span_is(version, "HTTP/1.0"))
		head->minor_version = 0;
	else
		return fail_head(fault, &fault_version);
	return 0;
}

static int parse_field(struct span line, struct http_head *head, struct http_fault *fault)
{
	struct http_field *field;
	struct span value;

	if (head->fields_n == HTTP_FIELDS_MAX)
		return fail_head(fault, &fault_fields);
	field = &head->fields[head->fields_n];
	if (!cut(line, ':', &field->name, &value) || !is_token(field->name))
		return fail_head(fault, &fault_field);
	for (size_t i = 0; i < value.len; i++)
		if (!is_value_char(value.data[i]))
			return fail_head(fault, &fault_field);
	field->value = span_trim(value);
	if (span_is_nocase(field->name, "Host")) {
		/* Also beside an authority, for evhttp keeps this value. */
		if (!is_host(field->value))
			return fail_head(fault, &fault_host);
		if (head->authority.len > 0)
			field->value = head->authority;
	}
	head->fields_n++;
	return 0;
}

static size_t count_fields(const struct http_head *head, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < head->fields_n; i++)
		n += span_is_nocase(head->fields[i].name, name);
	return n;
}

static int parse_length(struct span text, uint64_t *length_r, struct http_fault *fault)
{
	uint64_t length = 0;

	if (text.len == 0 || text.len > 18)
		return fail_head(fault, &fault_length);
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return fail_head(fault, &fault_length);
		length = length * 10 + (uint64_t)(text.data[i] - '0');
	}
	*length_r = length;
	return 0;
}

static int check_fields(struct http_head *head, struct http_fault *fault)
{
	/* Of two such fields, a proxy in front might use the other one. Host and Content-Length
	 * have checks of their own. */
	static const char *const single[] = {
		"Authorization", "Content-Type", "Content-Encoding", "Expect", "Idempotency-Key"};
	const struct span *expect = http_head_field(head, "Expect");
	const struct span *coding = http_head_field(head, "Transfer-Encoding");
	const struct span *length = http_head_field(head, "Content-Length");
	size_t hosts = count_fields(head, "Host");

	if (hosts > 1 || (hosts == 0 && head->minor_version >= 1))
		return fail_head(fault, &fault_hosts);
	for (size_t i = 0; i < ARRAY_SIZE(single); i++)
		if (count_fields(head, single[i]) > 1)
			return fail_head(fault, &fault_twice);
	if (expect && !span_is_nocase(*expect, "100-continue"))
		return fail_head(fault, &fault_expect);
	head->expects_continue = expect != NULL;

	/* RFC 9112 6.3. */
	head->framing = HTTP_NO_BODY;
	if (coding && length)
		return fail_head(fault, &fault_framing);
	if (count_fields(head, "Content-Length") > 1)
		return fail_head(fault, &fault_lengths);
	if (coding) {
		if (count_fields(head, "Transfer-Encoding") > 1 ||
			!span_is_nocase(*coding, "chunked") || head->minor_version == 0)
			return fail_head(fault, &fault_coding);
		head->framing = HTTP_CHUNKED;
	}
	if (length) {
		if (parse_length(*length, &head->length, fault) < 0)
			return -1;
		head->framing = head->length > 0 ? HTTP_LENGTH : HTTP_NO_BODY;
	}
	return 0;
}

int http_head_parse(
	const char *data, size_t len, struct http_head *head_r, struct http_fault *fault)
{
	struct span line, rest = {data, len};

	head_r->fields_n = 0;
	head_r->length = 0;
	if (!cut(rest, '\n', &line, &rest))
		return fail_head(fault, &fault_line);
	line.len--; /* the CR: http_head_end() requires it */
	if (parse_request_line(line, head_r, fault) < 0)
		return -1;
	while (cut(rest, '\n', &line, &rest) && --line.len > 0)
		if (parse_field(line, head_r, fault) < 0)
			return -1;
	/* HTTP/1.0 has no Host. */
	if (head_r->authority.len > 0 && http_head_field(head_r, "Host") == NULL &&
		head_r->fields_n < ARRAY_SIZE(head_r->fields) && head_r->minor_version == 0)
		head_r->fields[head_r->fields_n++] = (struct http_field){
			.name = {"Host", strlen("Host")}, .value = head_r->authority};
	return check_fields(head_r, fault);
}

/* Chunks: sizes are hexadecimal digits, lines end in CRLF, extensions and
 * trailers are bounded. */

enum {
	SIZE_FIRST, /* the first digit of a size */
	SIZE,
	EXTENSION,
	SIZE_LF,
	CONTENT,
	CONTENT_CR,
	CONTENT_LF,
	TRAILER_FIRST, /* the first byte of a trailer line */
	TRAILER_NAME,
	TRAILER_VALUE, /* from the colon on */
	TRAILER_LF,
	END_LF,
	BAD,
};

enum { SIZE_DIGITS_MAX = 12, LINE_MAX_LEN = 4096 };

static int on_size(struct http_chunks *chunks, char c)
{
	int digit = ascii_hex_digit(c);

	if (digit >= 0) {
		if (++chunks->line > SIZE_DIGITS_MAX)
			return BAD;
		chunks->left = chunks->left * 16 + (uint64_t)digit;
		return SIZE;
	}
	if (chunks->line == 0)
		return BAD;
	if (c == '\r')
		return SIZE_LF;
	return c == ';' || c == ' ' || c == '\t' ? EXTENSION : BAD;
}

/* Each line of the trailer is a field like those of the head. */
static int on_trailer(struct http_chunks *chunks, char c)
{
	bool in_value = chunks->state == TRAILER_VALUE;

	if (++chunks->trailer > HTTP_TRAILER_MAX)
		return BAD;
	if (c == '\r' && chunks->state != TRAILER_NAME)
		return in_value ? TRAILER_LF : END_LF;
	if (in_value)
		return is_value_char(c) ? TRAILER_VALUE : BAD;
	if (c == ':' && chunks->state == TRAILER_NAME)
		return TRAILER_VALUE;
	return is_token_char((unsigned char)c) ? TRAILER_NAME : BAD;
}

/* The state after one byte of framing. */
static int read_chunk_char(struct http_chunks *chunks, char c)
{
	switch (chunks->state) {
	case SIZE_FIRST:
		chunks->left = 0;
		chunks->line = 0;
		return on_size(chunks, c);
	case SIZE:
		return on_size(chunks, c);
	case EXTENSION:
		if (c == '\r')
			return SIZE_LF;
		return c == '\n' || ++chunks->line > LINE_MAX_LEN ? BAD : EXTENSION;
	case SIZE_LF:
		if (c != '\n')
			return BAD;
		chunks->line = 0;
		chunks->size += chunks->left;
		return chunks->left > 0 ? CONTENT : TRAILER_FIRST;
	case CONTENT_CR:
		return c == '\r' ? CONTENT_LF : BAD;
	case CONTENT_LF:
		return c == '\n' ? SIZE_FIRST : BAD;
	case TRAILER_FIRST:
	case TRAILER_NAME:
	case TRAILER_VALUE:
		return on_trailer(chunks, c);
	case TRAILER_LF:
		return c == '\n' ? TRAILER_FIRST : BAD;
	default:
		return BAD;
	}
}

/* The byte that evhttp gets in place of the one that led from one state to the other. */
static char masked(int before, int after, char c)
{
	if (after == EXTENSION)
		return ' ';
	if (after == TRAILER_NAME || (before == TRAILER_VALUE && after == before))
		return 'x';
	return c;
}

enum http_chunks_result http_chunks_scan(
	struct http_chunks *chunks, char *data, size_t len, size_t *used_r)
{
	size_t at = 0;
	int before;

	while (at < len) {
		if (chunks->state == CONTENT) {
			size_t n = chunks->left < len - at ? (size_t)chunks->left : len - at;

			at += n;
			chunks->left -= n;
			if (chunks->left == 0)
				chunks->state = CONTENT_CR;
			continue;
		}
		if (chunks->state == END_LF) {
			*used_r = at + 1;
			return data[at] == '\n' ? CHUNKS_END : CHUNKS_BAD;
		}
		before = chunks->state;
		chunks->state = read_chunk_char(chunks, data[at]);
		if (chunks->state == BAD)
			return CHUNKS_BAD;
		data[at] = masked(before, chunks->state, data[at]);
		at++;
	}
	*used_r = len;
	return CHUNKS_MORE;
}
