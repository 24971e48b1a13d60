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
#include "core/mail/addr_reading.h"
#include "core/mail/addr_scan.h"

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

/* Behind the address of `ann@example.com via List`; the name itself without
 * one. */
static const char *skip_via(const char *name)
{
	const char *start = name + (*name == '\'' || *name == '"');
	size_t len = strcspn(start, " ");
	const char *rest = start + len;

	if (memchr(start, '@', len) && str_starts_nocase(rest, " via ") &&
		rest[strlen(" via ")] != '\0')
		return rest;
	return name;
}

/* Adds the domains of addresses that people see in the text; returns whether
 * there is an address at all. */
static bool add_shown(struct addr_scan *scan, const char *text)
{
	_cleanup_free_ char *squeezed = addr_reading_squeeze(text);

	addr_scan_ats(scan, text);
	addr_scan_ats(scan, squeezed);
	return strchr(squeezed, '@') != NULL;
}

static void fill_clear(const struct addr *addr, const char *comments,
	struct addr_header *header)
{
	_cleanup_free_ char *spec = addr_spec(addr);
	_cleanup_(addr_scan) struct addr_scan *scan = NULL;
	bool other;

	strv_add(&header->domains, addr->domain);
	scan = addr_scan_new(&header->domains);
	other = add_shown(scan, skip_via(addr->name));
	other = (other || strchr(addr->name, '@')) &&
		!str_eq_nocase(addr->name, spec);
	if (comments) {
		_cleanup_free_ char *decoded = addr_reading_decode(comments);
		_cleanup_free_ char *squeezed = addr_reading_squeeze(decoded);

		add_shown(scan, decoded);
		other |= !has_one_at(squeezed);
	}
	if (!other)
		header->mailbox = TAKE_PTR(spec);
}

static bool read_clear(const char *line, struct addr_header *header)
{
	_cleanup_free_ char *bare = addr_reading_without_comments(line);
	_cleanup_addr_ struct addr addr = {0};
	bool has_comments = !str_eq(bare, line);

	/* Names in an unknown charset are common, and make no difference. */
	str_utf8_mend(bare);
	if (addr_parse(bare, &addr, NULL) < 0 || !all_see(bare, &addr))
		return false;
	fill_clear(&addr, has_comments ? line : NULL, header);
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
}

static void read_unclear(const char *value, struct addr_header *header)
{
	_cleanup_(addr_scan) struct addr_scan *scan = addr_scan_new(
		&header->domains);
	_cleanup_free_ char *decoded = addr_reading_decode(value);
	_cleanup_free_ char *twice = addr_reading_decode(decoded);

	addr_scan_list(scan, value);
	scan_all(scan, value);
	scan_shown(scan, decoded);
	if (!str_eq(decoded, twice))
		scan_shown(scan, twice);
	header->unclear = header->domains.n > 0 || strchr(decoded, '@');
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
