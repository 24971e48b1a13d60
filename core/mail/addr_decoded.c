/*
 * addr_decoded: see the header.
 *
 * Programs differ in where a word ends and in what joins it to others, in what
 * wrong base64 means, whether they take the quotes off before or after, and in
 * the charsets that they know; some decode twice. All of that is tried. Time is
 * linear in the value.
 *
 * The charsets that are tried stay loaded, which is written once. Threads: any.
 */
#include "core/mail/addr_decoded.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/addr_reading.h"
#include "core/mail/mime_charset.h"
#include "core/mail/mime_words_decode.h"

/* The ways of reading, in all combinations. */
enum { JOINED = 1, WIDE = 2, APART = 4 };

/* What a charset that is in doubt may be: none (then ASCII shows through, in
 * UTF-16 and UTF-32 as well), one that has ASCII in other bytes, or one in
 * which programs of some countries read what has no charset. */
static const struct {
	const char *charset;
	bool everywhere;
} guesses[] = {
	{"", false},
	{"UTF-7", false},
	{"UTF-16BE", false},
	{"IBM037", false},
	{"ISO-2022-JP-2", true},
	{"GB18030", true},
	{"CP932", true},
	{"EUC-JP", true},
	{"BIG5-HKSCS", true},
	{"CP949", true},
};

static void *kept[ARRAY_SIZE(guesses)];

static void keep(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(guesses); i++)
		kept[i] = mime_charset_keep(guesses[i].charset);
}

static void add_text(struct strv *texts, char *text)
{
	if (strv_has(texts, text))
		free(text);
	else
		strv_take(texts, text);
}

static void add_read(struct strv *texts, const char *value,
	const struct mime_words_reading *reading)
{
	char *text = mime_words_read(value, reading);

	if (strstr(text, "=?"))
		add_text(texts, mime_words_read(text, reading));
	add_text(texts, text);
}

static void add_guesses(struct strv *texts, const char *value,
	struct mime_words_reading reading)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, keep);
	for (size_t i = 0; i < ARRAY_SIZE(guesses); i++) {
		reading.charset = guesses[i].charset;
		reading.everywhere = guesses[i].everywhere;
		add_read(texts, value, &reading);
	}
}

static void add_ways(struct strv *texts, const char *value)
{
	bool doubtful = mime_words_doubtful(value);
	unsigned n = strstr(value, "=?") ? JOINED | WIDE | APART : 0;

	for (unsigned way = 0; way <= n; way++) {
		const struct mime_words_reading reading = {
			.joined = way & JOINED,
			.wide = way & WIDE,
			.apart = way & APART,
		};

		add_read(texts, value, &reading);
		if (doubtful)
			add_guesses(texts, value, reading);
	}
}

void addr_decoded_add(struct strv *texts, const char *value)
{
	_cleanup_free_ char *unquoted = addr_reading_unquoted(value);

	add_ways(texts, value);
	if (!str_eq(unquoted, value) && strstr(unquoted, "=?"))
		add_ways(texts, unquoted);
}
