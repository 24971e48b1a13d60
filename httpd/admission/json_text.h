/*
 * json_text: JSON as text, before it is parsed. Bodies of one dialect are JSON,
 * and a field of the other.
 */
#ifndef POSTERN_HTTPD_ADMISSION_JSON_TEXT_H
#define POSTERN_HTTPD_ADMISSION_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Where the string ends whose opening quote stands before at: the place of its
 * closing quote, or len. */
size_t json_text_end(const char *text, size_t len, size_t at);

/* How large a body that is not JSON would be that takes as much memory, for the
 * budget; told from the punctuation. */
uint64_t json_text_cost(const char *text, size_t len);

#endif
