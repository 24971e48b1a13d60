/*
 * mime_content: the content of a part, in the transfer encoding that suits it.
 */
#include "core/mime/mime_content.h"

#include <gmime/gmime.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/mime/mime_header.h"
#include "core/mime/mime_transfer.h"

void mime_content_add_lf(struct buf *out, const char *text, size_t len)
{
	char *to = buf_reserve(out, len);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] != '\r')
			to[n++] = text[i];
		else if (i + 1 == len || text[i + 1] != '\n')
			to[n++] = '\n';
	}
	buf_wrote(out, n);
}

/* What mail programs change in lines: "From " gets a `>` in a mailbox file,
 * and a dot alone ends a message. */
static bool is_line_safe(const char *line, size_t len)
{
	if (len > MIME_FOLD_MAX || (len == 1 && line[0] == '.'))
		return false;
	if (len >= 5 && memcmp(line, "From ", 5) == 0)
		return false;
	for (size_t i = 0; i < len; i++)
		if (line[i] != '\t' && (line[i] < ' ' || line[i] > '~'))
			return false;
	return true;
}

bool mime_content_is_7bit(const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		const char *lf = memchr(text, '\n', (size_t)(end - text));
		const char *stop = lf ? lf : end;

		if (!is_line_safe(text, (size_t)(stop - text)))
			return false;
		text = lf ? lf + 1 : end;
	}
	return true;
}

static void add_base64(struct buf *out, const char *data, size_t len)
{
	GMimeEncoding state;
	size_t n;
	char *to;

	g_mime_encoding_init_encode(&state, GMIME_CONTENT_ENCODING_BASE64);
	to = buf_reserve(out, g_mime_encoding_outlen(&state, len));
	n = g_mime_encoding_flush(&state, data, len, to);
	if (n > 0 && to[n - 1] == '\n')
		n--;
	buf_wrote(out, n);
}

static void add_encoding(struct buf *out, const char *encoding)
{
	buf_printf(out, "Content-Transfer-Encoding: %s\n\n", encoding);
}

/* Text in base64 has its line breaks as CRLF (RFC 2045 6.8). */
static void add_text_base64(struct buf *out, const struct buf *text)
{
	_cleanup_buf_ struct buf crlf = BUF_INIT;
	const char *line = text->data, *end = text->data + text->len;

	buf_reserve(&crlf, text->len + text->len / 16);
	while (line < end) {
		const char *lf = memchr(line, '\n', (size_t)(end - line));

		buf_add(&crlf, line, (size_t)(lf - line));
		buf_add_str(&crlf, "\r\n");
		line = lf + 1;
	}
	add_base64(out, buf_str(&crlf), crlf.len);
}

void mime_content_7bit(struct buf *out, const char *text, size_t len)
{
	add_encoding(out, "7bit");
	buf_add(out, text, len);
}

void mime_content_text(struct buf *out, const char *text)
{
	_cleanup_buf_ struct buf lf = BUF_INIT;

	mime_content_add_lf(&lf, text, strlen(text));
	if (lf.len > 0 && lf.data[lf.len - 1] != '\n')
		buf_add_char(&lf, '\n');
	if (mime_content_is_7bit(buf_str(&lf), lf.len)) {
		mime_content_7bit(out, lf.data, lf.len);
	} else if (mime_quoted_len(lf.data, lf.len) <= (lf.len + 2) / 3 * 4) {
		add_encoding(out, "quoted-printable");
		mime_quoted_add(out, lf.data, lf.len);
	} else {
		add_encoding(out, "base64");
		add_text_base64(out, &lf);
	}
}

void mime_content_bytes(struct buf *out, const char *data, size_t len)
{
	add_encoding(out, "base64");
	add_base64(out, data, len);
}
