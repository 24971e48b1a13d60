/*
 * str: text helpers that libc lacks. ASCII rules everywhere: no locale.
 */
#ifndef POSTERN_BASE_STR_H
#define POSTERN_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool str_eq(const char *a, const char *b);
/* Equal but for the case of ASCII letters. */
bool str_eq_nocase(const char *a, const char *b);
/* The same in UTF-8, for the letters of every script (Unicode 3.13, default
 * case folding): one may be longer, as "ss" is the same as a German sharp s. */
bool str_eq_folded(const char *a, const char *b);
/* A new string that is the same for texts that are the same so; of what is no
 * UTF-8 the ASCII letters alone are folded. */
char *str_folded(const char *text);
/* A number that is the same for texts that are the same so. */
unsigned str_hash_folded(const char *text);
bool str_starts(const char *text, const char *prefix);
bool str_starts_nocase(const char *text, const char *prefix);
/* NULL and "" are both empty. */
bool str_empty(const char *text);

/* Whether the name is the domain or, with below, one of a domain below it. Both
 * are A-labels in lower case. */
bool str_within_domain(const char *name, const char *domain, bool below);

/* A new string of len bytes of text without the blanks (space, tab, CR, LF)
 * at both ends. */
char *str_trim(const char *text, size_t len);

/* A new string: the value of a folded header field in one line (RFC 5322
 * 2.2.3), with a blank for each CR, LF and tab. */
char *str_unfolded(const char *value);

/* Lowers ASCII letters in place. */
void str_lower(char *text);
/* A new string with ASCII letters in lower case; NULL for NULL. */
char *str_lowered(const char *text);

/* The whole text as a decimal number between min and max: 0 and *value_r, or
 * -1. */
int str_int(const char *text, int64_t min, int64_t max, int64_t *value_r);

/* A unit that a number is given in, as `h`, and how much it is. */
struct unit {
	const char *name;
	int64_t factor;
};
/* The whole text as a number of digits and a unit behind it, `2h`, multiplied.
 * The list of units ends with a row without a name; "" is the unit of a number
 * alone. -1 for anything else, and for what no int64_t holds. */
int str_amount(const char *text, const struct unit *units, int64_t *value_r);

/* Whether no byte of the text is above 127. */
bool str_is_ascii(const char *text);

/* Whether the bytes are well-formed UTF-8 (RFC 3629: no surrogates, no
 * overlong forms). */
bool str_utf8_valid(const char *text, size_t len);

/* How many characters the bytes are: those of UTF-8, or each byte one where
 * they are not well-formed. */
size_t str_utf8_count(const char *text, size_t len);
/* Makes the text well-formed UTF-8 in place: each byte that belongs to no
 * character becomes `?`. */
void str_utf8_mend(char *text);

/* How many bytes of text, at most max, can be kept without cutting a UTF-8
 * character in two. */
size_t str_utf8_cut(const char *text, size_t max);

/*
 * ascii: kinds of ASCII characters. No locale.
 */

/* What may stand between words of a header field (RFC 5234, WSP). */
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

/* The value of a hexadecimal digit in either letter case, or -1. */
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

/* The value of the two hexadecimal digits at the start of the text, or -1. The
 * second character is looked at only when the first one is a digit. */
static inline int ascii_hex_pair(const char *text)
{
	int high = ascii_hex_digit(text[0]);
	int low = high < 0 ? -1 : ascii_hex_digit(text[1]);

	return low < 0 ? -1 : high * 16 + low;
}

#endif
