/*
 * err: error codes, and the table of what each means to clients.
 */
#include "core/base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "core/base/str.h"

static const struct err_info infos[ERR_CODES] = {
	[ERR_NONE] = {200, EX_OK},
	[ERR_INVALID] = {422, EX_DATAERR},
	[ERR_NOT_FOUND] = {500, EX_NOINPUT},
	[ERR_EXISTS] = {500, EX_DATAERR},
	[ERR_DENIED] = {403, EX_NOPERM},
	[ERR_TOO_LARGE] = {413, EX_DATAERR},
	[ERR_TEMPORARY] = {503, EX_TEMPFAIL},
	[ERR_SHARE] = {503, EX_TEMPFAIL},
	[ERR_CONFIG] = {503, EX_CONFIG},
	[ERR_INTERNAL] = {500, EX_SOFTWARE},
};

/* Cuts a text that was too long between two characters. wanted: its full length. */
static void end_between_characters(struct err *err, size_t wanted)
{
	if (wanted >= sizeof(err->text))
		err->text[str_utf8_cut(err->text, sizeof(err->text) - 2)] = 0;
}

__attribute__((format(printf, 2, 0))) static void fill(
	struct err *err, const char *format, va_list args)
{
	int len = vsnprintf(err->text, sizeof(err->text), format, args);

	assert(len >= 0);
	end_between_characters(err, (size_t)len);
}

int err_set(struct err *err, enum err_code code, const char *format, ...)
{
	va_list args;

	assert(code != ERR_NONE && code < ERR_CODES);
	if (err == NULL)
		return -1;
	err->code = code;
	va_start(args, format);
	fill(err, format, args);
	va_end(args);
	return -1;
}

int err_copy(struct err *err, const struct err *from)
{
	return err_set(err, from->code, "%s", from->text);
}

int err_prefix(struct err *err, const char *format, ...)
{
	char old[ERR_TEXT_MAX];
	size_t len;
	va_list args;

	if (err == NULL)
		return -1;
	memcpy(old, err->text, sizeof(old));
	va_start(args, format);
	fill(err, format, args);
	va_end(args);
	len = strlen(err->text);
	snprintf(err->text + len, sizeof(err->text) - len, ": %s", old);
	end_between_characters(err, len + 2 + strlen(old));
	return -1;
}

const struct err_info *err_info(enum err_code code)
{
	assert(code < ERR_CODES);
	return &infos[code];
}
