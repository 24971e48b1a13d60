/*
 * mime_charset: converts text to UTF-8 with iconv(3).
 *
 * GMime's iconv(3) wrapper is not used, because it caches every charset name that it is asked
 * for. Threads: any.
 */
#include "core/mime/mime_charset.h"

#include <errno.h>
#include <glib.h>
#include <iconv.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

#define REPLACEMENT "\xef\xbf\xbd"

enum { CHARSET_MAX = 40 };

/* Rejects names with a slash: iconv() would take what follows for options, such as //IGNORE. */
static bool open_converter(const char *charset, iconv_t *converter_r)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._:+";
	size_t len = strlen(charset);

	if (len == 0 || len > CHARSET_MAX || strspn(charset, allowed) != len)
		return false;
	*converter_r = iconv_open("UTF-8", charset);
	return *converter_r != (iconv_t)-1;
}

bool mime_charset_known(const char *charset)
{
	iconv_t converter;

	if (!open_converter(charset, &converter))
		return false;
	iconv_close(converter);
	return true;
}

void *mime_charset_keep(const char *charset)
{
	iconv_t converter;

	return open_converter(charset, &converter) ? converter : NULL;
}

bool mime_charset_common(const char *charset)
{
	static const char *const names[] = {"utf-8", "us-ascii", "gb2312", "gbk", "gb18030", "big5",
		"euc-jp", "euc-kr", "shift_jis", "iso-2022-jp"};
	static const char *const families[] = {"iso-8859-", "windows-125", "koi8-"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq_nocase(charset, names[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (str_starts_nocase(charset, families[i]))
			return true;
	return false;
}

const char *mime_charset_of_name(const char *name)
{
	static const struct {
		const char *name, *charset;
	} wider[] = {
		{"iso-8859-1", "windows-1252"},
		{"gb2312", "GBK"},
		{"shift_jis", "CP932"},
		{"euc-kr", "CP949"},
		{"ks_c_5601-1987", "CP949"},
	};

	for (size_t i = 0; name && i < ARRAY_SIZE(wider); i++)
		if (str_eq_nocase(name, wider[i].name))
			return wider[i].charset;
	return name;
}

/* Appends the text as valid UTF-8 without NUL. */
static void add_clean(struct buf *out, const char *text, size_t len)
{
	char *clean;

	if (str_utf8_valid(text, len) && memchr(text, '\0', len) == NULL) {
		buf_add(out, text, len);
		return;
	}
	clean = g_utf8_make_valid(text, (gssize)len);
	buf_add_str(out, clean);
	g_free(clean);
}

/* Converts as much as fits. With text NULL, flushes the converter's state. */
static bool convert_some(struct buf *out, char **text, size_t *len, iconv_t converter)
{
	enum { ROOM = 4096 };
	size_t room = ROOM;
	char *to = buf_reserve(out, ROOM);
	bool done = iconv(converter, text, len, &to, &room) != (size_t)-1;

	buf_wrote(out, ROOM - room);
	return done;
}

static void convert(struct buf *out, const char *text, size_t len, iconv_t converter)
{
	char *from = (char *)text; /* iconv() does not write to it */

	while (len > 0 && !convert_some(out, &from, &len, converter)) {
		if (errno == E2BIG)
			continue;
		buf_add_str(out, REPLACEMENT);
		if (errno == EINVAL) /* the text ends inside a character */
			break;
		from++;
		len--;
	}
	convert_some(out, NULL, NULL, converter);
}

void mime_charset_add(struct buf *out, const char *text, size_t len, const char *charset)
{
	_cleanup_buf_ struct buf converted = BUF_INIT;
	iconv_t converter;

	if (charset == NULL || str_eq_nocase(charset, "utf-8") ||
		!open_converter(charset, &converter)) {
		add_clean(out, text, len);
		return;
	}
	convert(&converted, text, len, converter);
	iconv_close(converter);
	add_clean(out, buf_str(&converted), converted.len);
}

void mime_charset_add_guessed(struct buf *out, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		gunichar c = g_utf8_get_char_validated(text, end - text);
		char utf8[6];

		if (*text == '\0')
			c = 0xfffd;
		else if (c >= (gunichar)-2)
			c = (unsigned char)*text;
		else
			text = g_utf8_next_char(text) - 1;
		text++;
		buf_add(out, utf8, (size_t)g_unichar_to_utf8(c, utf8));
	}
}
