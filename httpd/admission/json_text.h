/*
 * json_text: looks at JSON as text, before it is parsed: bodies of the JSON
 * dialect, and a field of the form dialect.
 */
#ifndef POSTERN_HTTPD_ADMISSION_JSON_TEXT_H
#define POSTERN_HTTPD_ADMISSION_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The index of the closing quote of the string whose opening quote is just
 * before at; len if there is none. */
size_t json_text_end(const char *text, size_t len, size_t at);

/* The length of a byte order mark in front, which parsers may ignore (RFC 8259 8.1). */
size_t json_text_mark(const char *text, size_t len);

/* Estimates the memory that the parsed JSON takes, from its punctuation.
 * Returns it as the size of a body to reserve from the budget (which reserves
 * BUDGET_FACTOR times as much). */
uint64_t json_text_cost(const char *text, size_t len);

#endif
