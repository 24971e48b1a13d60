/*
 * addr_header: every domain that a receiver could see in a From field.
 *
 * The value comes from anyone, so nothing is trusted to be well-formed. Two
 * readers look at it: GMime, as a mail program would, and a scan that takes
 * what follows any @ for a domain. The scan looks at the value as it is and
 * with encoded words decoded, and at both with and without their comments. A
 * domain too many is harmless here, one too few is a forged sender.
 *
 * Every reader takes time linear in the length of the value. GMime's would
 * also take stack for each nested group, so that it is not asked about a value
 * with many colons. Encoded words are kept from it, see mime_words_decode.h.
 *
 * Threads: any; holds no state.
 */
#include <gmime/gmime.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/mail/addr.h"
#include "core/mail/mime_init.h"
#include "core/mail/mime_words_decode.h"

enum { COLONS_MAX = 32 };

struct finds {
	GHashTable *seen; /* the strings of list */
	struct strv *list;
};

/* Adds len bytes of text, when they are a domain and a new one. */
static void add(struct finds *finds, const char *text, size_t len)
{
	_cleanup_free_ char *copy = NULL;
	_cleanup_free_ char *domain = NULL;

	while (len > 0 && strchr(".-", text[len - 1]))
		len--;
	if (len == 0)
		return;
	copy = mem_dup(text, len);
	if (addr_domain_normalize(copy, &domain, NULL) < 0 ||
		g_hash_table_contains(finds->seen, domain))
		return;
	g_hash_table_add(finds->seen, domain);
	strv_take(finds->list, TAKE_PTR(domain));
}

static bool is_ascii_part(char c)
{
	return g_ascii_isalnum(c) || c == '-' || c == '.';
}

static bool is_part(char c)
{
	return is_ascii_part(c) || (unsigned char)c >= 0x80;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Collects the domain at text as the obsolete syntax has it, with blanks
 * around dots (RFC 5322 4.4). */
static void collect_spaced(const char *text, struct buf *out)
{
	for (;;) {
		const char *p = text;

		while (is_blank(*p))
			p++;
		if (p > text && *p != '.' && out->len > 0 &&
			out->data[out->len - 1] != '.')
			return;
		if (!is_part(*p))
			return;
		while (is_part(*p))
			buf_add_char(out, *p++);
		text = p;
	}
}

/* Adds what may be the domain at text, which follows an @: up to the first
 * character that is not ASCII, up to the end of the word, and over blanks. */
static void add_at(struct finds *finds, const char *text)
{
	_cleanup_buf_ struct buf spaced = BUF_INIT;
	size_t ascii = 0, len = 0;

	while (*text && strchr(" \t\r\n\"[", *text))
		text++;
	while (is_ascii_part(text[ascii]))
		ascii++;
	while (is_part(text[len]))
		len++;
	add(finds, text, ascii);
	if (len > ascii)
		add(finds, text, len);
	if (is_blank(text[len])) {
		collect_spaced(text, &spaced);
		add(finds, buf_str(&spaced), spaced.len);
	}
}

/* A copy with a blank for each comment (RFC 5322 3.2.2). */
static char *without_comments(const char *text)
{
	struct buf out = BUF_INIT;
	size_t depth = 0;
	bool quoted = false;

	for (; *text; text++) {
		if (depth == 0 && *text == '"')
			quoted = !quoted;
		if (!quoted && *text == '(' && depth++ == 0)
			buf_add_char(&out, ' ');
		if (depth == 0)
			buf_add_char(&out, *text);
		else if (*text == ')')
			depth--;
		if (*text == '\\' && text[1] != '\0') {
			text++;
			if (depth == 0)
				buf_add_char(&out, *text);
		}
	}
	return buf_take(&out);
}

static void scan_ats(struct finds *finds, const char *text)
{
	for (const char *at = strchr(text, '@'); at; at = strchr(at + 1, '@'))
		add_at(finds, at + 1);
}

static void scan(struct finds *finds, const char *text)
{
	_cleanup_free_ char *bare = without_comments(text);

	scan_ats(finds, text);
	scan_ats(finds, bare);
}

static void add_parsed(struct finds *finds, InternetAddressList *list);

static void add_address(struct finds *finds, InternetAddress *address)
{
	if (INTERNET_ADDRESS_IS_GROUP(address)) {
		add_parsed(finds, internet_address_group_get_members(
					  INTERNET_ADDRESS_GROUP(address)));
	} else {
		const char *spec = internet_address_mailbox_get_addr(
			INTERNET_ADDRESS_MAILBOX(address));
		const char *at = spec ? strrchr(spec, '@') : NULL;

		if (at)
			add(finds, at + 1, strlen(at + 1));
	}
}

/* Calls itself for groups in groups, which COLONS_MAX bounds. */
static void add_parsed(struct finds *finds, InternetAddressList *list)
{
	int n = list ? internet_address_list_length(list) : 0;

	for (int i = 0; i < n; i++)
		add_address(finds, internet_address_list_get_address(list, i));
}

static void parse(struct finds *finds, const char *value)
{
	InternetAddressList *list;
	size_t colons = 0;

	for (const char *p = strchr(value, ':'); p; p = strchr(p + 1, ':'))
		if (++colons > COLONS_MAX)
			return;
	list = internet_address_list_parse(NULL, value);
	add_parsed(finds, list);
	if (list)
		g_object_unref(list);
}

/* The value as people would see it: GMime guesses the charset of raw bytes, and
 * then the encoded words, which it did not see, are decoded. */
static char *decode(const char *hidden)
{
	char *utf8 = g_mime_utils_header_decode_text(NULL, hidden);
	_cleanup_free_ char *shown = mime_words_show(utf8);

	g_free(utf8);
	return mime_words_decode(shown);
}

void addr_header_domains(const char *value, struct strv *domains)
{
	struct finds finds = {.list = domains};
	_cleanup_free_ char *hidden = mime_words_hide(value);
	_cleanup_free_ char *decoded = NULL;

	mime_init();
	decoded = decode(hidden);
	finds.seen = g_hash_table_new(g_str_hash, g_str_equal);
	for (size_t i = 0; i < domains->n; i++)
		g_hash_table_add(finds.seen, domains->items[i]);
	parse(&finds, hidden);
	scan(&finds, value);
	scan(&finds, decoded);
	g_hash_table_destroy(finds.seen);
}
