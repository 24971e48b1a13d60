/*
 * str: string helpers that libc lacks. Independent of the locale.
 */
#ifndef POSTERN_BASE_STR_H
#define POSTERN_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool str_eq(const char *a, const char *b);
/* Ignores the case of ASCII letters. */
bool str_eq_nocase(const char *a, const char *b);
/* Ignores the case of all letters of UTF-8 text (Unicode 3.13, default case folding). Lengths
 * may differ: "ss" equals a German sharp s. */
bool str_eq_folded(const char *a, const char *b);
/* Returns the case-folded text, equal for texts that str_eq_folded() finds equal. If it is not
 * UTF-8, only ASCII letters are folded. The caller frees it. */
char *str_folded(const char *text);
/* A hash that is equal for texts that str_eq_folded() finds equal. */
unsigned str_hash_folded(const char *text);
bool str_starts(const char *text, const char *prefix);
bool str_starts_nocase(const char *text, const char *prefix);
/* True for NULL and "". */
bool str_empty(const char *text);

/* True if name equals domain or, with below, is a subdomain of it. Both are A-labels in lower
 * case. */
bool str_within_domain(const char *name, const char *domain, bool below);

/* Returns len bytes of text without blanks (space, tab, CR, LF) at both ends. The caller frees
 * it. */
char *str_trim(const char *text, size_t len);

/* Returns the text behind the spaces and tabs that it begins with. */
const char *str_skip_blanks(const char *text);

/* Returns the value of a folded header field on one line (RFC 5322 2.2.3): line ends before a
 * blank are removed. Each other CR and LF, and each tab, becomes a blank. The caller frees it. */
char *str_unfolded(const char *value);

/* Reduces each run of blanks and tabs to one blank, and removes them at the ends, in place. */
void str_squeeze(char *text);

/* Lowercases ASCII letters in place. */
void str_lower(char *text);
/* Returns a copy with ASCII letters in lower case; NULL for NULL. */
char *str_lowered(const char *text);

/* Parses the whole text as a decimal number from min to max. Returns 0, or -1. */
int str_int(const char *text, int64_t min, int64_t max, int64_t *value_r);

enum { STR_COUNT_SIZE = 40 };
/* Formats a number for people, such as `12,345`; `1,000 or more` if counting stopped at max, which
 * is 0 if it did not stop. Returns out. */
const char *str_count(int64_t n, int64_t max, char out[static STR_COUNT_SIZE]);
/* str_count() into a buffer that lives as long as the block around the call. */
#define STR_COUNT(n, max) str_count((n), (max), (char[STR_COUNT_SIZE]){0})

/* A unit of an amount, such as `h`, and its factor. */
struct unit {
	const char *name;
	int64_t factor;
};
/* Parses the whole text as a number with a unit, such as `2h`, and multiplies them. The units
 * end with a row without a name; the unit "" is for a bare number. Returns 0, or -1 if the text
 * is invalid or the result does not fit. */
int str_amount(const char *text, const struct unit *units, int64_t *value_r);

/* True if all bytes are ASCII. */
bool str_is_ascii(const char *text);

/* True if the bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms). */
bool str_utf8_valid(const char *text, size_t len);

/* Returns the number of UTF-8 characters; of bytes if they are not well-formed. */
size_t str_utf8_count(const char *text, size_t len);
/* Makes the text well-formed UTF-8 in place: each invalid byte becomes `?`. */
void str_utf8_mend(char *text);

/* True if a character is C0 (with tab and line breaks) or DEL. */
bool str_has_control(const char *text);

/* Makes untrusted text safe to show: mends its UTF-8, and replaces control characters by `?`, so
 * that it is one line. */
void str_make_line(char *text);

/* Returns how many bytes, at most max, can be kept without splitting a UTF-8 character. */
size_t str_utf8_cut(const char *text, size_t max);

/*
 * ascii: classes of ASCII characters, independent of the locale.
 */

/* WSP of RFC 5234: space or tab. */
static inline bool ascii_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* A blank or part of a line break. */
static inline bool ascii_is_space(char c)
{
	return ascii_is_blank(c) || c == '\r' || c == '\n';
}

static inline bool ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* C0 (with tab and line breaks) and DEL. */
static inline bool ascii_is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

/* Returns the value of a hexadecimal digit of either case, or -1. */
static inline int ascii_hex_digit(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Returns the value of the two hexadecimal digits at the start of the text, or -1. Reads the
 * second character only if the first is a digit. */
static inline int ascii_hex_pair(const char *text)
{
	int high = ascii_hex_digit(text[0]);
	int low = high < 0 ? -1 : ascii_hex_digit(text[1]);

	return low < 0 ? -1 : high * 16 + low;
}

#endif
