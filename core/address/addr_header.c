/*
 * addr_header: collects the domains that readers see in a field that names a sender.
 *
 * The value is untrusted. First it is compared with the one form that all readers understand
 * alike: a strict mailbox, with no other @ where an address could stand. Anything else is
 * unclear and is read in several ways: by GMime, as a mail program would, and by scanning the
 * text as it is, decoded, without comments, and without invisible characters.
 *
 * The end of a domain is determined in several ways, and non-ASCII names are normalized by both
 * versions of IDNA, which differ in a few letters. If a name is invalid, the part after one of
 * its dots may still be a domain with subdomains.
 *
 * Time is linear in the length of the text.
 */
#include "core/address/addr_header.h"

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/address/addr_reading.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/base/hash_table.h"
#include "core/mime/mime_gmime.h"
#include "core/mime/mime_words.h"

enum { PARENTS_MAX = 1024 }; /* bytes, more than any name has */

/* Appends domains to a list without duplicates. Domains that are already in the list count as
 * found. */
struct scan {
	struct hash_table seen; /* the strings of list, not owned */
	struct strv *list;
};

static uint64_t hash_text(const char *text)
{
	return mem_hash(MEM_HASH, text, strlen(text));
}

static bool is_text(const void *item, const void *text)
{
	return str_eq(item, text);
}

static struct scan scan_begin(struct strv *domains)
{
	struct scan scan = {.list = domains};

	for (size_t i = 0; i < domains->n; i++)
		hash_table_add(&scan.seen, hash_text(domains->items[i]), domains->items[i]);
	return scan;
}

static void scan_end(struct scan *scan)
{
	hash_table_clear(&scan->seen);
}
#define _cleanup_scan_ __attribute__((cleanup(scan_end)))

/* Adds the domain and takes ownership. */
static void add_domain(struct scan *scan, char *domain)
{
	uint64_t hash = hash_text(domain);

	if (!hash_table_find(&scan->seen, hash, is_text, domain)) {
		hash_table_add(&scan->seen, hash, domain);
		strv_take(scan->list, TAKE_PTR(domain));
	}
	free(domain);
}

/* Replaces other forms of the dot by dots. The caller frees the result. */
static char *with_dots(const char *text, size_t len)
{
	static const char *const forms[] = {
		"\xe3\x80\x82", "\xef\xbc\x8e", "\xef\xbd\xa1", "\xe2\x80\xa4", "\xef\xb9\x92"};
	char *name = mem_dup(text, len);

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		for (char *p = name; (p = strstr(p, forms[i])) != NULL;) {
			*p++ = '.';
			memmove(p, p + 2, strlen(p + 2) + 1);
		}
	return name;
}

/* Adds the longest valid name after a dot of an invalid name: some domain below it is meant. A
 * name stays invalid if labels are added in front, so the search stops at the first invalid
 * one. */
static void add_parents(struct scan *scan, const char *text, size_t len)
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

/* Adds len bytes of text if they are a domain or below one. */
static void add_domain_text(struct scan *scan, const char *text, size_t len)
{
	_cleanup_free_ char *name = NULL;
	char *domain;
	bool valid;

	while (len > 0 && strchr(".-", text[len - 1]))
		len--;
	for (; len > 0 && strchr(".-", *text); text++)
		len--;
	if (len == 0)
		return;
	name = mem_dup(text, len);
	valid = addr_domain_normalize(name, &domain, NULL) == 0;
	if (valid)
		add_domain(scan, domain);
	if (addr_domain_transitional(name, &domain) == 0)
		add_domain(scan, domain);
	if (!valid)
		add_parents(scan, name, len);
}

static bool is_ascii_part(char c)
{
	return g_ascii_isalnum(c) || c == '-' || c == '.';
}

static bool is_part(char c)
{
	return is_ascii_part(c) || (unsigned char)c >= 0x80;
}

/* Returns the length of the letters, digits and dots at text, in any script. */
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
			     : !dot && !g_unichar_isalnum(c) && !g_unichar_ismark(c))
			return len;
		len += (size_t)g_unichar_to_utf8(c, NULL);
	}
}

/* Adds what may be the domain at text: up to the first non-ASCII character, up to the first
 * non-letter, and up to the end of the word. Returns the length of the word. */
static size_t add_domain_word(struct scan *scan, const char *text)
{
	size_t ascii = 0, letters = letters_len(text), len = 0;

	while (is_ascii_part(text[ascii]))
		ascii++;
	while (is_part(text[len]))
		len++;
	add_domain_text(scan, text, ascii);
	if (letters > ascii)
		add_domain_text(scan, text, letters);
	if (len > ascii && len != letters)
		add_domain_text(scan, text, len);
	return len;
}

/* Collects the domain at text in the obsolete syntax, with blanks around dots (RFC 5322 4.4). */
static void collect_spaced(const char *text, struct buf *out)
{
	for (;;) {
		const char *p = text;

		while (ascii_is_space(*p))
			p++;
		if (p > text && *p != '.' && out->len > 0 && out->data[out->len - 1] != '.')
			return;
		if (!is_part(*p))
			return;
		while (is_part(*p))
			buf_add_char(out, *p++);
		text = p;
	}
}

static void add_words(struct scan *scan, const char *text, const char *end)
{
	while (text < end) {
		size_t len = add_domain_word(scan, text);

		text += len > 0 ? len : 1;
	}
}

/* Adds the domain after each @. Characters that no domain has do not end it for all readers. */
static void scan_ats(struct scan *scan, const char *text)
{
	for (const char *at = strchr(text, '@'); at; at = strchr(at + 1, '@')) {
		const char *name = at + 1 + strspn(at + 1, " \t\r\n\"[");
		size_t len = add_domain_word(scan, name);

		if (name[len] && strchr("!#$%&'*+/=?^_`{|}~-", name[len]))
			add_words(scan, name + len, name + strcspn(name, " \t\r\n@<>()[],;:\"\\"));
		if (ascii_is_space(name[len])) {
			_cleanup_buf_ struct buf spaced = BUF_INIT;

			collect_spaced(name, &spaced);
			add_domain_text(scan, buf_str(&spaced), spaced.len);
		}
	}
}

/* Adds each word that could be a domain. */
static void scan_words(struct scan *scan, const char *text)
{
	add_words(scan, text, text + strlen(text));
}

static void on_mailbox(void *user, const char *spec, const char *name)
{
	const char *at = strrchr(spec, '@');

	(void)name;
	if (at)
		add_domain_text(user, at + 1, strlen(at + 1));
}

/* True if the text shows a letter or a digit. */
static bool says_something(const char *text)
{
	_cleanup_free_ char *squeezed = addr_reading_squeeze(text);

	for (const char *p = squeezed; *p; p = g_utf8_next_char(p))
		if (g_unichar_isalnum(g_utf8_get_char(p)))
			return true;
	return false;
}

/* True if the text is an address and nothing else, quoted or not. More text would push out of
 * sight what follows. */
static bool is_address(const char *text, size_t len)
{
	_cleanup_free_ char *word = NULL;
	_cleanup_addr_ struct addr addr = {0};

	while (len > 0 && text[len - 1] == '\'')
		len--;
	word = mem_dup(text, len);
	return addr_parse(word, &addr, NULL) == 0;
}

/* Returns the text after the address of `ann@example.com via List`; otherwise the name itself. */
static const char *skip_via(const char *name)
{
	const char *start = name + strspn(name, " '\"");
	size_t len = strcspn(start, " <>()[],;:\"");
	const char *rest = start + len;

	if (str_starts_nocase(rest, " via ") && is_address(start, len) &&
		says_something(rest + strlen(" via ")))
		return rest;
	return name;
}

/* Adds the domains of visible addresses: in a display name beside the address spec, but not
 * that of `ann@example.com via List`; or, with spec NULL, in a whole field with comments.
 * Returns true if people see another address than that of the field. The text is UTF-8. */
static bool scan_visible(struct scan *scan, const char *text, const char *spec)
{
	_cleanup_free_ char *squeezed = addr_reading_squeeze(text);
	_cleanup_free_ char *squeezed_rest = NULL, *spaced_rest = NULL;
	const char *at = strchr(squeezed, '@'), *rest;

	if (at == NULL)
		return spec == NULL;
	rest = spec ? skip_via(text) : text;
	squeezed_rest = addr_reading_squeeze(rest);
	spaced_rest = addr_reading_spaced(rest);
	scan_ats(scan, rest);
	scan_ats(scan, squeezed_rest);
	scan_ats(scan, spaced_rest);
	return spec ? !str_eq_nocase(squeezed, spec) : strchr(at + 1, '@') != NULL;
}

static void scan_both_ways(struct scan *scan, const char *text)
{
	_cleanup_free_ char *squeezed = addr_reading_squeeze(text);
	_cleanup_free_ char *reversed = addr_reading_reverse(squeezed);

	scan_words(scan, squeezed);
	scan_words(scan, reversed);
}

/* If bidirectional control characters reverse parts of the text, adds everything that could be
 * a domain. The text is UTF-8. */
static void scan_directed(struct scan *scan, const char *text)
{
	_cleanup_free_ char *directed = addr_reading_directed(text);

	if (directed == NULL)
		return;
	scan_both_ways(scan, text);
	scan_both_ways(scan, directed);
}

/* Calls scan_visible() for every text that some program could make of this one. */
static bool scan_decoded(struct scan *scan, const char *text, const char *spec)
{
	_cleanup_strv_ struct strv texts = STRV_INIT;
	bool other = false;

	addr_reading_decode(&texts, text);
	for (size_t i = 0; i < texts.n; i++) {
		scan_directed(scan, texts.items[i]);
		other |= scan_visible(scan, texts.items[i], spec);
	}
	return other;
}

/* True if all readers agree with the strict reading of the text, which has no comments. */
static bool all_see(const char *bare, const struct addr *addr)
{
	_cleanup_free_ char *outside = addr_reading_outside_quotes(bare);
	_cleanup_free_ char *local = addr_reading_squeeze(addr->local);
	_cleanup_strv_ struct strv seen = STRV_INIT;
	_cleanup_scan_ struct scan scan = scan_begin(&seen);
	const char *at = strchr(outside, '@');

	/* Some programs decode encoded words (RFC 2047) where none are allowed, and some people
	 * take another form of @ for one. */
	if (at == NULL || strchr(at + 1, '@') || strchr(local, '@') || strstr(addr->local, "=?"))
		return false;
	scan_ats(&scan, outside);
	return seen.n == 1 && str_eq(seen.items[0], addr->domain);
}

/* Reads the form of nearly all envelope senders and of most From fields, in which no reader sees
 * anything else: a mailbox of letters, digits and few other characters, with one @. */
static bool read_plain(const char *value, struct addr_header *header)
{
	_cleanup_addr_ struct addr addr = {0};
	const char *end = value;

	while (is_ascii_part(*end) || (*end != '\0' && strchr("_@<> ", *end)))
		end++;
	if (*end != '\0' || strchr(value, '@') != strrchr(value, '@') ||
		addr_parse(value, &addr, NULL) < 0)
		return false;
	strv_add(&header->domains, addr.domain);
	header->mailbox = addr_spec(&addr);
	return true;
}

/* Reads a strict mailbox that all readers understand alike. It is unclear if people see another
 * domain in the name or in a comment. Names in an unknown charset are common and do not affect the
 * address. */
static bool read_clear(const char *line, struct addr_header *header)
{
	_cleanup_free_ char *bare = addr_reading_without_comments(line);
	_cleanup_free_ char *mended = mem_strdup(bare), *spec = NULL, *name = NULL;
	_cleanup_scan_ struct scan scan = {0};
	_cleanup_addr_ struct addr addr = {0};
	bool has_comments = !str_eq(bare, line), other;
	const char *angle = strrchr(bare, '<');
	size_t n;

	str_utf8_mend(mended);
	if (addr_parse(mended, &addr, NULL) < 0 || !all_see(mended, &addr))
		return false;
	spec = addr_spec(&addr);
	name = mem_dup(bare, angle ? (size_t)(angle - bare) : 0);
	strv_add(&header->domains, addr.domain);
	scan = scan_begin(&header->domains);
	other = scan_visible(&scan, addr.name, spec);
	if (has_comments) {
		_cleanup_free_ char *decoded = mime_words_decode(line);

		other |= scan_visible(&scan, decoded, NULL);
	}
	/* A domain that only some ways of decoding show is one that not all readers see. */
	n = header->domains.n;
	other |= scan_decoded(&scan, name, spec);
	if (has_comments)
		other |= scan_decoded(&scan, line, NULL);
	header->unclear = header->domains.n > n;
	if (!other && !header->unclear)
		header->mailbox = TAKE_PTR(spec);
	return true;
}

static void read_unclear(const char *value, struct addr_header *header)
{
	_cleanup_scan_ struct scan scan = scan_begin(&header->domains);
	_cleanup_free_ char *bare = addr_reading_without_comments(value);
	_cleanup_strv_ struct strv texts = STRV_INIT;
	bool has_at = false;

	mime_mailboxes(value, on_mailbox, &scan);
	scan_ats(&scan, value);
	scan_ats(&scan, bare);
	addr_reading_decode(&texts, value);
	for (size_t i = 0; i < texts.n; i++) {
		const char *text = texts.items[i];
		_cleanup_free_ char *outside = addr_reading_without_comments(text);
		_cleanup_free_ char *squeezed = addr_reading_squeeze(text);
		_cleanup_free_ char *both = addr_reading_squeeze(outside);
		_cleanup_free_ char *spaced = addr_reading_spaced(text);

		scan_ats(&scan, text);
		scan_ats(&scan, outside);
		scan_ats(&scan, spaced);
		scan_words(&scan, text);
		scan_words(&scan, squeezed);
		scan_words(&scan, both);
		scan_directed(&scan, text);
		has_at |= strchr(text, '@') != NULL;
	}
	header->unclear = header->domains.n > 0 || has_at;
}

void addr_header_read(const char *value, struct addr_header *header_r)
{
	_cleanup_free_ char *line = NULL;

	*header_r = (struct addr_header){0};
	if (read_plain(value, header_r))
		return;
	line = str_unfolded(value);
	if (!read_clear(line, header_r))
		read_unclear(value, header_r);
}

void addr_header_clear(struct addr_header *header)
{
	strv_free(&header->domains);
	free(header->mailbox);
	*header = (struct addr_header){0};
}
