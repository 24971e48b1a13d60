/*
 * mime_param: parameters of Content-Type and Content-Disposition.
 *
 * HTTP clients follow neither RFC 2045 nor RFC 9110 inside quotes: some escape a quote as `\"`,
 * some as %22, some not at all, and a backslash may be part of a Windows path. So a quote ends
 * the value only if the end of the header or the next parameter follows.
 *
 * Each look-up takes time linear in the length of the header.
 */
#include "core/mime/mime_param.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/span.h"
#include "core/base/str.h"
#include "core/mime/mime_charset.h"
#include "core/mime/mime_words.h"

struct param {
	struct span name;
	struct span value;
	bool quoted; /* value is the text between quotes */
};

/* True if the end or the next parameter follows the quote. */
static bool is_closing(const char *quote)
{
	const char *p = str_skip_blanks(quote + 1);
	size_t name;

	if (*p != ';')
		return *p == '\0';
	p = str_skip_blanks(p + 1);
	name = strcspn(p, " \t=;\"\\/");
	return *p == '\0' || (name > 0 && *str_skip_blanks(p + name) == '=');
}

/* Returns the quote that ends the value beginning at text; NULL if there is none. */
static const char *closing_quote(const char *text)
{
	const char *p = text;

	while ((p = strpbrk(p, "\"\\")) != NULL) {
		if (*p == '"' && is_closing(p))
			return p;
		p += *p == '\\' && (p[1] == '"' || p[1] == '\\') ? 2 : 1;
	}
	/* A path that ends in a backslash makes the closing quote look escaped. */
	return strrchr(text, '"');
}

/* Reads the parameter at *at and moves past it. Returns 1, 0 at the end, -1 if the closing quote of
 * its value is missing. */
static int next_param(const char **at, struct param *param)
{
	const char *p = *at, *end;

	do {
		p += strspn(p, "; \t");
		if (*p == '\0')
			return 0;
		end = p + strcspn(p, "=;");
		param->name = span_trim((struct span){p, (size_t)(end - p)});
		p = end;
	} while (*p != '=');
	p = str_skip_blanks(p + 1);
	param->quoted = *p == '"';
	if (!param->quoted) {
		*at = strchrnul(p, ';');
		param->value = span_trim((struct span){p, (size_t)(*at - p)});
		return 1;
	}
	end = closing_quote(p + 1);
	if (end == NULL)
		return -1;
	param->value = (struct span){p + 1, (size_t)(end - p) - 1};
	*at = strchrnul(end, ';');
	return 1;
}

static int find_param(const char *header, const char *name, struct param *param)
{
	const char *at = header + strcspn(header, ";");
	int found;

	while ((found = next_param(&at, param)) > 0)
		if (span_is_nocase(param->name, name))
			break;
	return found;
}

/* Returns the value without backslashes that quote; with as_html the escapes of HTML are decoded.
 */
static char *decode_value(const struct param *param, bool as_html)
{
	static const char escapes[][5] = {"%22\"", "%0D\r", "%0A\n"};
	struct span text = param->value;
	struct buf out = BUF_INIT;

	while (text.len > 0) {
		char c = text.data[0];
		size_t n = 1;

		if (param->quoted && c == '\\' && text.len > 1 &&
			(text.data[1] == '"' || text.data[1] == '\\')) {
			c = text.data[1];
			n = 2;
		}
		for (size_t i = 0; as_html && i < ARRAY_SIZE(escapes); i++)
			if (text.len >= 3 && strncasecmp(text.data, escapes[i], 3) == 0) {
				c = escapes[i][3];
				n = 3;
			}
		buf_add_char(&out, c);
		text.data += n;
		text.len -= n;
	}
	return buf_take(&out);
}

bool param_read_is(const char *header, const char *word)
{
	struct span value = {header, strcspn(header, "; \t")};

	return span_is_nocase(value, word);
}

int param_read(const char *header, const char *name, char **value_r)
{
	struct param param;
	int found = find_param(header, name, &param);

	if (found > 0)
		*value_r = decode_value(&param, false);
	return found;
}

/* Decodes `charset'language'text` (RFC 8187 3.2.1). NULL if it has another form, an unknown
 * charset or a NUL. */
static char *decode_extended(const char *value)
{
	const char *language = strchr(value, '\'');
	const char *text = language ? strchr(language + 1, '\'') : NULL;
	_cleanup_buf_ struct buf bytes = BUF_INIT;
	_cleanup_free_ char *name = NULL;
	const char *charset;
	struct buf out = BUF_INIT;

	if (text == NULL ||
		!span_percent_decode((struct span){text + 1, strlen(text + 1)}, &bytes) ||
		strlen(buf_str(&bytes)) < bytes.len)
		return NULL;
	name = mem_dup(value, (size_t)(language - value));
	charset = mime_charset_of_name(name);
	if (!mime_charset_known(charset))
		return NULL;
	mime_charset_add(&out, buf_str(&bytes), bytes.len, charset);
	return buf_take(&out);
}

int param_read_name(const char *header, const char *name, char **value_r)
{
	_cleanup_free_ char *extended = mem_printf("%s*", name);
	_cleanup_free_ char *value = NULL;
	struct param param;
	int found = param_read(header, extended, &value);

	if (found < 0)
		return -1;
	if (value) {
		char *text = decode_extended(value);

		if (text) {
			*value_r = text;
			return 1;
		}
	}
	found = find_param(header, name, &param);
	if (found > 0)
		*value_r = decode_value(&param, true);
	return found;
}

/* True for `name*NUMBER`, and for `name*NUMBER*`, whose value is percent-encoded. */
static bool is_piece(struct span param, const char *name, int number, bool *encoded_r)
{
	_cleanup_free_ char *wanted = mem_printf("%s*%d", name, number);

	*encoded_r = param.len > 0 && param.data[param.len - 1] == '*';
	param.len -= *encoded_r;
	return span_is_nocase(param, wanted);
}

/* Reads the value that is in pieces (RFC 2231 3, 4.1), as one value of `name*` and as it stands.
 * The caller frees both. Returns false if there are none. */
static bool join_pieces(const char *header, const char *name, char **coded_r, char **plain_r)
{
	const char *at = header + strcspn(header, ";");
	struct buf coded = BUF_INIT, plain = BUF_INIT;
	struct param param;
	int next = 0;

	while (next_param(&at, &param) > 0) {
		_cleanup_free_ char *value = NULL;
		bool encoded;

		if (!is_piece(param.name, name, next, &encoded))
			continue;
		value = decode_value(&param, false);
		if (next++ == 0 && !encoded)
			buf_add_str(&coded, "utf-8''");
		for (const char *p = value; *p; p++)
			buf_printf(&coded, encoded ? "%c" : "%%%02X", (unsigned char)*p);
		buf_add_str(&plain, value);
	}
	if (next == 0)
		return false;
	*coded_r = buf_take(&coded);
	*plain_r = buf_take(&plain);
	return true;
}

int param_read_text(const char *header, const char *name, char **value_r)
{
	_cleanup_free_ char *extended = mem_printf("%s*", name);
	_cleanup_free_ char *coded = NULL, *plain = NULL, *value = NULL;
	char *text;
	int found = param_read(header, name, &value);

	if (found < 0)
		return -1;
	if (!join_pieces(header, name, &coded, &plain) && param_read(header, extended, &coded) > 0)
		plain = mem_strdup(coded);
	text = coded ? decode_extended(coded) : NULL;
	if (text == NULL && value)
		text = mime_words_decode(value);
	if (text == NULL)
		text = TAKE_PTR(plain);
	if (text == NULL)
		return 0;
	*value_r = text;
	return 1;
}

enum { PLAIN_MAX = 60, PIECE_MAX = 54 };

/* True for short printable ASCII without anything that a reader would decode. */
static bool is_plain_value(const char *value)
{
	for (const char *p = value; *p; p++)
		if (*p < ' ' || *p > '~')
			return false;
	return strlen(value) <= PLAIN_MAX && strstr(value, "=?") == NULL;
}

static void add_quoted_param(struct mime_fold *fold, const char *name, const char *value)
{
	struct buf word = BUF_INIT;

	buf_printf(&word, "%s=", name);
	mime_quoted_add(&word, value);
	mime_fold_word(fold, word.data);
	buf_free(&word);
}

/* True for attribute-char of RFC 2231 7. */
static bool is_attribute_char(char c)
{
	return g_ascii_isalnum(c) || (c != '\0' && strchr("!#$&+-.^_`{|}~", c));
}

/* Percent-encodes the start of the value until the piece is full. Returns the rest. */
static const char *add_piece(struct buf *piece, const char *value)
{
	size_t end = piece->len + PIECE_MAX;

	for (; *value && piece->len + 3 <= end; value++) {
		if (is_attribute_char(*value))
			buf_add_char(piece, *value);
		else
			buf_printf(piece, "%%%02X", (unsigned char)*value);
	}
	return value;
}

static void add_pieces(struct mime_fold *fold, const char *name, const char *value)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	const char *rest = add_piece(&text, value);

	if (*rest == '\0') {
		_cleanup_free_ char *word = mem_printf("%s*=UTF-8''%s", name, text.data);

		mime_fold_word(fold, word);
		return;
	}
	for (unsigned i = 0; text.len > 0; i++) {
		_cleanup_free_ char *word = mem_printf("%s*%u*=%s%s%s", name, i,
			i == 0 ? "UTF-8''" : "", text.data, *rest ? ";" : "");

		mime_fold_word(fold, word);
		buf_clear(&text);
		rest = add_piece(&text, rest);
	}
}

void mime_param_add(struct mime_fold *fold, const char *name, const char *value)
{
	mime_fold_attach(fold, ";");
	if (is_plain_value(value))
		add_quoted_param(fold, name, value);
	else
		add_pieces(fold, name, value);
}

void mime_param_add_words(struct mime_fold *fold, const char *name, const char *value)
{
	mime_fold_attach(fold, ";");
	if (is_plain_value(value)) {
		add_quoted_param(fold, name, value);
		return;
	}
	mime_fold_break(fold);
	mime_fold_attach(fold, " ");
	mime_fold_attach(fold, name);
	mime_fold_attach(fold, "=\"");
	mime_words_attach(fold, value, strlen(value));
	mime_fold_attach(fold, "\"");
}
