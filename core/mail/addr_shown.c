/*
 * addr_shown: see the header.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/addr_shown.h"

#include <glib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/mail/addr.h"
#include "core/mail/addr_reading.h"

/* Whether the text shows a letter or a digit. */
static bool says_something(const char *text)
{
	_cleanup_free_ char *squeezed = addr_reading_squeeze(text);

	for (const char *p = squeezed; *p; p = g_utf8_next_char(p))
		if (g_unichar_isalnum(g_utf8_get_char(p)))
			return true;
	return false;
}

/* Whether it is an address and nothing else, maybe in quotes: more would push
 * what follows out of sight. */
static bool is_address(const char *text, size_t len)
{
	_cleanup_free_ char *word = NULL;
	_cleanup_addr_ struct addr addr = {0};

	while (len > 0 && text[len - 1] == '\'')
		len--;
	word = mem_dup(text, len);
	return addr_parse(word, &addr, NULL) == 0;
}

/* Behind the address of `ann@example.com via List`; the name itself without
 * one. */
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

static void add_shown(struct addr_scan *scan, const char *text)
{
	_cleanup_free_ char *squeezed = addr_reading_squeeze(text);

	addr_scan_ats(scan, text);
	addr_scan_ats(scan, squeezed);
}

bool addr_shown_name(struct addr_scan *scan, const char *name, const char *spec)
{
	_cleanup_free_ char *squeezed = addr_reading_squeeze(name);

	add_shown(scan, skip_via(name));
	return strchr(squeezed, '@') && !str_eq_nocase(squeezed, spec);
}

bool addr_shown_field(struct addr_scan *scan, const char *text)
{
	_cleanup_free_ char *squeezed = addr_reading_squeeze(text);
	const char *at = strchr(squeezed, '@');

	add_shown(scan, text);
	return at == NULL || strchr(at + 1, '@');
}

static void add_both_ways(struct addr_scan *scan, const char *text)
{
	_cleanup_free_ char *squeezed = addr_reading_squeeze(text);
	_cleanup_free_ char *reversed = addr_reading_reverse(squeezed);

	addr_scan_words(scan, squeezed);
	addr_scan_words(scan, reversed);
}

void addr_shown_turned(struct addr_scan *scan, const char *text)
{
	_cleanup_free_ char *turned = addr_reading_turn(text);

	if (turned == NULL)
		return;
	add_both_ways(scan, text);
	add_both_ways(scan, turned);
}
