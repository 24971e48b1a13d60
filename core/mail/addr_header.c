/*
 * addr_header: what readers see in a field that names a sender.
 *
 * The value comes from anyone. First it is held against the one form in which
 * all readers see the same: a strict mailbox, with no other @ where an address
 * could stand. Anything else is unclear, and then several readers look at it:
 * GMime as a mail program, and scans of the text as it is, decoded, without
 * comments, and without what does not show.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/addr_header.h"

#include <string.h>

#include "core/base/ascii.h"
#include "core/base/str.h"
#include "core/mail/addr.h"
#include "core/mail/addr_decoded.h"
#include "core/mail/addr_reading.h"
#include "core/mail/addr_scan.h"
#include "core/mail/addr_shown.h"
#include "core/mail/mime_words_decode.h"

/* The value of a folded field in one line (RFC 5322 2.2.3). */
static char *unfold(const char *value)
{
	char *line = mem_strdup(value);

	for (char *p = line; *p; p++)
		if (ascii_is_space(*p))
			*p = ' ';
	return line;
}

static bool has_one_at(const char *text)
{
	const char *at = strchr(text, '@');

	return at && strchr(at + 1, '@') == NULL;
}

/* Whether the strict reading of the text, without comments, is that of all
 * readers. */
static bool all_see(const char *bare, const struct addr *addr)
{
	_cleanup_free_ char *outside = addr_reading_outside_quotes(bare);
	_cleanup_strv_ struct strv seen = STRV_INIT;
	_cleanup_(addr_scan) struct addr_scan *scan = addr_scan_new(&seen);

	/* Some decode words (RFC 2047) where none may stand. */
	if (!has_one_at(outside) || strstr(addr->local, "=?"))
		return false;
	addr_scan_ats(scan, outside);
	return seen.n == 1 && str_eq(seen.items[0], addr->domain);
}

/* Adds what only some see in the display name of a clear field; returns
 * whether that is another address. */
static bool add_name(struct addr_scan *scan, const char *line, const char *spec)
{
	const char *angle = strrchr(line, '<');
	_cleanup_free_ char *name = mem_dup(
		line, angle ? (size_t)(angle - line) : 0);
	_cleanup_strv_ struct strv texts = STRV_INIT;
	bool other = false;

	addr_decoded_add(&texts, name);
	for (size_t i = 0; i < texts.n; i++) {
		addr_shown_turned(scan, texts.items[i]);
		other |= addr_shown_name(scan, texts.items[i], spec);
	}
	return other;
}

/* The same for its comments. */
static bool add_comments(struct addr_scan *scan, const char *line)
{
	_cleanup_strv_ struct strv texts = STRV_INIT;
	bool other = false;

	addr_decoded_add(&texts, line);
	for (size_t i = 0; i < texts.n; i++) {
		addr_shown_turned(scan, texts.items[i]);
		other |= addr_shown_field(scan, texts.items[i]);
	}
	return other;
}

/* The line is what addr was read from, but for comments and wrong bytes. What
 * not all see makes it unclear. */
static void fill_clear(const struct addr *addr, const char *line,
	bool has_comments, struct addr_header *header)
{
	_cleanup_free_ char *spec = addr_spec(addr);
	_cleanup_free_ char *bare = addr_reading_without_comments(line);
	_cleanup_(addr_scan) struct addr_scan *scan = NULL;
	bool other;
	size_t n;

	strv_add(&header->domains, addr->domain);
	scan = addr_scan_new(&header->domains);
	other = addr_shown_name(scan, addr->name, spec);
	if (has_comments) {
		_cleanup_free_ char *decoded = mime_words_decode(line);

		other |= addr_shown_field(scan, decoded);
	}
	n = header->domains.n;
	other |= add_name(scan, bare, spec);
	other |= has_comments && add_comments(scan, line);
	header->unclear = header->domains.n > n;
	if (!other && !header->unclear)
		header->mailbox = TAKE_PTR(spec);
}

static bool read_clear(const char *line, struct addr_header *header)
{
	_cleanup_free_ char *bare = addr_reading_without_comments(line);
	_cleanup_addr_ struct addr addr = {0};
	bool has_comments = !str_eq(bare, line);

	/* Names in an unknown charset are common, and make no difference to
	 * the address. */
	str_utf8_mend(bare);
	if (addr_parse(bare, &addr, NULL) < 0 || !all_see(bare, &addr))
		return false;
	fill_clear(&addr, line, has_comments, header);
	return true;
}

static void scan_all(struct addr_scan *scan, const char *text)
{
	_cleanup_free_ char *bare = addr_reading_without_comments(text);

	addr_scan_ats(scan, text);
	addr_scan_ats(scan, bare);
}

/* The text is UTF-8. */
static void scan_shown(struct addr_scan *scan, const char *text)
{
	_cleanup_free_ char *bare = addr_reading_without_comments(text);
	_cleanup_free_ char *squeezed = addr_reading_squeeze(text);
	_cleanup_free_ char *both = addr_reading_squeeze(bare);

	scan_all(scan, text);
	addr_scan_words(scan, text);
	addr_scan_words(scan, squeezed);
	addr_scan_words(scan, both);
	addr_shown_turned(scan, text);
}

static void read_unclear(const char *value, struct addr_header *header)
{
	_cleanup_(addr_scan) struct addr_scan *scan = addr_scan_new(
		&header->domains);
	_cleanup_strv_ struct strv texts = STRV_INIT;
	bool has_at = false;

	addr_scan_list(scan, value);
	scan_all(scan, value);
	addr_decoded_add(&texts, value);
	for (size_t i = 0; i < texts.n; i++) {
		scan_shown(scan, texts.items[i]);
		has_at |= strchr(texts.items[i], '@') != NULL;
	}
	header->unclear = header->domains.n > 0 || has_at;
}

void addr_header_read(const char *value, struct addr_header *header_r)
{
	_cleanup_free_ char *line = unfold(value);

	*header_r = (struct addr_header){0};
	if (!read_clear(line, header_r))
		read_unclear(value, header_r);
}

void addr_header_clear(struct addr_header *header)
{
	strv_free(&header->domains);
	free(header->mailbox);
	*header = (struct addr_header){0};
}
