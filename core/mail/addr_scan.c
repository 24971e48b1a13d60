/*
 * addr_scan: see the header.
 *
 * Where a domain ends is read in several ways, and what is not ASCII is
 * normalized after both versions of IDNA, which differ in a few letters. Of a
 * name that is none, the part behind a dot may be a domain with subdomains.
 *
 * Every reader takes time linear in the length of the text. GMime's would
 * also take stack for each nested group, so that it is not asked about a value
 * with many colons. Encoded words are kept from it, see mime_words_decode.h.
 *
 * Threads: any; an object belongs to one at a time.
 */
#include "core/mail/addr_scan.h"

#include <gmime/gmime.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/ascii.h"
#include "core/base/buf.h"
#include "core/mail/addr.h"
#include "core/mail/addr_private.h"
#include "core/mail/mime_init.h"
#include "core/mail/mime_words_decode.h"

enum {
	COLONS_MAX = 32,
	PARENTS_MAX = 1024 /* bytes, more than any name has */
};

struct addr_scan {
	GHashTable *seen; /* the strings of list */
	struct strv *list;
};

struct addr_scan *addr_scan_new(struct strv *domains)
{
	struct addr_scan *scan = mem_new(struct addr_scan);

	mime_init();
	scan->list = domains;
	scan->seen = g_hash_table_new(g_str_hash, g_str_equal);
	for (size_t i = 0; i < domains->n; i++)
		g_hash_table_add(scan->seen, domains->items[i]);
	return scan;
}

void addr_scan_free(struct addr_scan *scan)
{
	if (scan == NULL)
		return;
	g_hash_table_destroy(scan->seen);
	free(scan);
}

/* Takes the domain over. */
static void add_domain(struct addr_scan *scan, char *domain)
{
	if (!g_hash_table_contains(scan->seen, domain)) {
		g_hash_table_add(scan->seen, domain);
		strv_take(scan->list, TAKE_PTR(domain));
	}
	free(domain);
}

static bool add_name(struct addr_scan *scan, const char *name)
{
	char *domain;
	bool valid = addr_domain_normalize(name, &domain, NULL) == 0;

	if (valid)
		add_domain(scan, domain);
	if (addr_domain_transitional(name, &domain) == 0)
		add_domain(scan, domain);
	return valid;
}

/* The text with the other forms of the dot made dots. */
static char *with_dots(const char *text, size_t len)
{
	static const char *const forms[] = {"\xe3\x80\x82", "\xef\xbc\x8e",
		"\xef\xbd\xa1", "\xe2\x80\xa4", "\xef\xb9\x92"};
	char *name = mem_dup(text, len);

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		for (char *p = name; (p = strstr(p, forms[i])) != NULL;) {
			*p++ = '.';
			memmove(p, p + 2, strlen(p + 2) + 1);
		}
	return name;
}

/* Adds the longest name behind a dot of what is none itself: some domain
 * below it is meant. What a label makes invalid stays so with more before. */
static void add_parents(struct addr_scan *scan, const char *text, size_t len)
{
	size_t skip = len > PARENTS_MAX ? len - PARENTS_MAX : 0;
	_cleanup_free_ char *name = with_dots(text + skip, len - skip);
	_cleanup_free_ char *longest = NULL;
	char *dot = strrchr(name, '.'), *domain;

	while (dot && (dot = memrchr(name, '.', (size_t)(dot - name)))) {
		if (addr_domain_normalize(dot + 1, &domain, NULL) < 0)
			break;
		free(longest);
		longest = domain;
	}
	if (longest)
		add_domain(scan, TAKE_PTR(longest));
}

/* Adds len bytes of text, when they are a domain or below one. */
static void add(struct addr_scan *scan, const char *text, size_t len)
{
	_cleanup_free_ char *copy = NULL;

	while (len > 0 && strchr(".-", text[len - 1]))
		len--;
	for (; len > 0 && strchr(".-", *text); text++)
		len--;
	if (len == 0)
		return;
	copy = mem_dup(text, len);
	if (!add_name(scan, copy))
		add_parents(scan, copy, len);
}

static bool is_ascii_part(char c)
{
	return g_ascii_isalnum(c) || c == '-' || c == '.';
}

static bool is_part(char c)
{
	return is_ascii_part(c) || (unsigned char)c >= 0x80;
}

/* The length of the letters, digits and dots of any script at text. */
static size_t letters_len(const char *text)
{
	static const gunichar dots[] = {0x3002, 0xff0e, 0xff61};
	size_t len = 0;

	for (;;) {
		gunichar c = g_utf8_get_char_validated(text + len, -1);
		bool dot = c == dots[0] || c == dots[1] || c == dots[2];

		if (c == 0 || c >= (gunichar)-2)
			return len;
		if (c < 0x80 ? !is_ascii_part((char)c)
			     : !dot && !g_unichar_isalnum(c) &&
					!g_unichar_ismark(c))
			return len;
		len += (size_t)g_unichar_to_utf8(c, NULL);
	}
}

/* Adds what may be the domain at text: up to the first character that is not
 * ASCII, that is not a letter, that ends the word. */
static size_t add_word(struct addr_scan *scan, const char *text)
{
	size_t ascii = 0, letters = letters_len(text), len = 0;

	while (is_ascii_part(text[ascii]))
		ascii++;
	while (is_part(text[len]))
		len++;
	add(scan, text, ascii);
	if (letters > ascii)
		add(scan, text, letters);
	if (len > ascii && len != letters)
		add(scan, text, len);
	return len;
}

/* Collects the domain at text as the obsolete syntax has it, with blanks
 * around dots (RFC 5322 4.4). */
static void collect_spaced(const char *text, struct buf *out)
{
	for (;;) {
		const char *p = text;

		while (ascii_is_space(*p))
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

static void add_words(struct addr_scan *scan, const char *text, const char *end)
{
	while (text < end) {
		size_t len = add_word(scan, text);

		text += len > 0 ? len : 1;
	}
}

/* Behind an @, what no domain has does not end one for all readers, nor for
 * people. */
static void add_at(struct addr_scan *scan, const char *text)
{
	_cleanup_buf_ struct buf spaced = BUF_INIT;
	size_t len;

	while (*text && strchr(" \t\r\n\"[", *text))
		text++;
	len = add_word(scan, text);
	if (text[len] && strchr("!#$%&'*+/=?^_`{|}~-", text[len]))
		add_words(scan, text + len,
			text + strcspn(text, " \t\r\n@<>()[],;:\"\\"));
	if (ascii_is_space(text[len])) {
		collect_spaced(text, &spaced);
		add(scan, buf_str(&spaced), spaced.len);
	}
}

void addr_scan_ats(struct addr_scan *scan, const char *text)
{
	for (const char *at = strchr(text, '@'); at; at = strchr(at + 1, '@'))
		add_at(scan, at + 1);
}

void addr_scan_words(struct addr_scan *scan, const char *text)
{
	add_words(scan, text, text + strlen(text));
}

static void add_parsed(struct addr_scan *scan, InternetAddressList *list);

static void add_address(struct addr_scan *scan, InternetAddress *address)
{
	if (INTERNET_ADDRESS_IS_GROUP(address)) {
		add_parsed(scan, internet_address_group_get_members(
					 INTERNET_ADDRESS_GROUP(address)));
	} else {
		const char *spec = internet_address_mailbox_get_addr(
			INTERNET_ADDRESS_MAILBOX(address));
		const char *at = spec ? strrchr(spec, '@') : NULL;

		if (at)
			add(scan, at + 1, strlen(at + 1));
	}
}

/* Calls itself for groups in groups, which COLONS_MAX bounds. */
static void add_parsed(struct addr_scan *scan, InternetAddressList *list)
{
	int n = list ? internet_address_list_length(list) : 0;

	for (int i = 0; i < n; i++)
		add_address(scan, internet_address_list_get_address(list, i));
}

void addr_scan_list(struct addr_scan *scan, const char *value)
{
	_cleanup_free_ char *hidden = NULL;
	InternetAddressList *list;
	size_t colons = 0;

	for (const char *p = strchr(value, ':'); p; p = strchr(p + 1, ':'))
		if (++colons > COLONS_MAX)
			return;
	hidden = mime_words_hide(value);
	list = internet_address_list_parse(NULL, hidden);
	add_parsed(scan, list);
	if (list)
		g_object_unref(list);
}
