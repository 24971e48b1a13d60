/*
 * mime_content: encodes and decodes contents.
 */
#include "core/mime/mime_content.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mime/mime_header.h"

void mime_content_add_lf(struct buf *out, const char *text, size_t len)
{
	const char *end = text + len, *cr;

	buf_reserve(out, len);
	while (text < end && (cr = memchr(text, '\r', (size_t)(end - text))) != NULL) {
		buf_add(out, text, (size_t)(cr - text));
		text = cr + 1;
		if (text == end || *text != '\n')
			buf_add_char(out, '\n');
	}
	buf_add(out, text, (size_t)(end - text));
}

/* "From " gets a `>` in mbox files, and a single dot ends an SMTP message. */
bool mime_content_is_7bit(const char *text, size_t len)
{
	struct span rest = {text, len};

	while (rest.len > 0) {
		struct span line = span_cut(&rest, '\n');

		if (line.len > MIME_FOLD_MAX || span_is(line, ".") ||
			(line.len >= 5 && memcmp(line.data, "From ", 5) == 0))
			return false;
		for (size_t i = 0; i < line.len; i++)
			if (line.data[i] != '\t' && (line.data[i] < ' ' || line.data[i] > '~'))
				return false;
	}
	return true;
}

enum { LINE_MAX_LEN = 76 }; /* of quoted-printable and base64 */

static bool is_qp_plain(char c)
{
	return ascii_is_blank(c) || (c > ' ' && c <= '~' && c != '=');
}

static void add_hex(struct buf *out, char c)
{
	static const char digits[] = "0123456789ABCDEF";
	unsigned byte = (unsigned char)c;

	buf_add(out, (char[]){'=', digits[byte >> 4], digits[byte & 15]}, 3);
}

/* Appends a line in quoted-printable (RFC 2045 6.7). No line of the result begins with "From " or
 * with a dot, which mail programs change. */
static void add_qp_line(struct buf *out, struct span line)
{
	size_t column = 0;

	for (size_t i = 0; i < line.len; i++) {
		const char *at = line.data + i;
		size_t left = line.len - i;
		bool plain = is_qp_plain(*at) && !(left == 1 && ascii_is_blank(*at));

		if (column + (plain ? 1 : 3) + (left > 1) > LINE_MAX_LEN) {
			buf_add_str(out, "=\n");
			column = 0;
		}
		if (column == 0 && (*at == '.' || (left >= 5 && memcmp(at, "From ", 5) == 0)))
			plain = false;
		if (plain)
			buf_add_char(out, *at);
		else
			add_hex(out, *at);
		column += plain ? 1 : 3;
	}
	buf_add_char(out, '\n');
}

/* Returns the approximate length of text in quoted-printable. */
static size_t qp_len(const char *text, size_t len)
{
	size_t n = len;

	for (size_t i = 0; i < len; i++)
		if (!is_qp_plain(text[i]) && text[i] != '\n')
			n += 2;
	return n;
}

static void add_encoding(struct buf *out, const char *encoding)
{
	buf_printf(out, "Content-Transfer-Encoding: %s\n\n", encoding);
}

void mime_content_7bit(struct buf *out, const char *text, size_t len)
{
	add_encoding(out, "7bit");
	buf_add(out, text, len);
}

void mime_content_text(struct buf *out, const char *text)
{
	_cleanup_buf_ struct buf lf = BUF_INIT;
	struct span rest;

	mime_content_add_lf(&lf, text, strlen(text));
	if (lf.len > 0 && lf.data[lf.len - 1] != '\n')
		buf_add_char(&lf, '\n');
	rest = (struct span){buf_str(&lf), lf.len};
	if (mime_content_is_7bit(rest.data, rest.len)) {
		mime_content_7bit(out, rest.data, rest.len);
	} else if (qp_len(rest.data, rest.len) <= (rest.len + 2) / 3 * 4) {
		add_encoding(out, "quoted-printable");
		while (rest.len > 0)
			add_qp_line(out, span_cut(&rest, '\n'));
	} else {
		/* Text in base64 has CRLF line breaks (RFC 2045 6.8). */
		_cleanup_buf_ struct buf crlf = BUF_INIT;

		buf_reserve(&crlf, rest.len + rest.len / 16);
		while (rest.len > 0) {
			struct span line = span_cut(&rest, '\n');

			buf_add(&crlf, line.data, line.len);
			buf_add_str(&crlf, "\r\n");
		}
		mime_content_bytes(out, buf_str(&crlf), crlf.len);
	}
}

void mime_content_bytes(struct buf *out, const char *data, size_t len)
{
	add_encoding(out, "base64");
	base64_encode(data, len, LINE_MAX_LEN, out);
}

/* Appends decoded quoted-printable. Invalid escapes are kept; an escape that is cut off at the
 * end is dropped. */
static void decode_quoted(struct span text, struct buf *out)
{
	char *to = buf_reserve(out, text.len);
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++) {
		const char *at = text.data + i;
		size_t left = text.len - i;
		int byte;

		if (*at != '=') {
			to[n++] = *at;
			continue;
		}
		if (left > 1 && at[1] == '\n') { /* a soft line break */
			i++;
			continue;
		}
		if (left < 3)
			break;
		byte = ascii_hex_pair(at + 1);
		if (byte >= 0) {
			to[n++] = (char)byte;
		} else if (memcmp(at, "=\r\n", 3) != 0) {
			memcpy(to + n, at, 3);
			n += 3;
		}
		i += 2;
	}
	buf_wrote(out, n);
}

static int decode_content(const char *encoding, struct span content, bool strictly, struct buf *out)
{
	static const char *const plain[] = {"", "7bit", "8bit", "binary"};

	if (encoding == NULL)
		encoding = "";
	if (str_eq_nocase(encoding, "base64")) {
		if (strictly)
			return base64_decode(content.data, content.len, out);
		base64_decode_leniently(content.data, content.len, out);
		return 0;
	}
	if (str_eq_nocase(encoding, "quoted-printable")) {
		decode_quoted(content, out);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (str_eq_nocase(encoding, plain[i])) {
			buf_add(out, content.data, content.len);
			return 0;
		}
	return -1;
}

int mime_content_decode(const char *encoding, struct span content, struct buf *out)
{
	return decode_content(encoding, content, false, out);
}

int mime_content_decode_strictly(const char *encoding, struct span content, struct buf *out)
{
	return decode_content(encoding, content, true, out);
}
