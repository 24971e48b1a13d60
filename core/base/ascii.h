/*
 * ascii: kinds of ASCII characters. No locale.
 */
#ifndef POSTERN_BASE_ASCII_H
#define POSTERN_BASE_ASCII_H

#include <stdbool.h>

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
