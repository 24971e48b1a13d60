/*
 * form_show: a form as one line of text, to compare with.
 */
#ifndef POSTERN_TESTS_UNIT_FORM_SHOW_H
#define POSTERN_TESTS_UNIT_FORM_SHOW_H

#include "core/base/err.h"
#include "httpd/form/form.h"

/* A new string: each field as `name=value;`, with `(filename)` and `<type>`
 * behind the name where it has them; bytes that are not printable ASCII, and
 * the backslash, as \xx. For result -1 the error's text after a `!`. */
char *form_show(const struct form *form, int result, const struct err *err);

#endif
