/*
 * smtp_ehlo: reads the reply to EHLO.
 *
 * Pure. Threads: any.
 */
#include "httpd/inject/smtp_ehlo.h"

#include <stddef.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

static const struct {
	const char *keyword;
	size_t offset;
} extensions[] = {
	{"PIPELINING", offsetof(struct smtp_extensions, pipelining)},
	{"SIZE", offsetof(struct smtp_extensions, size)},
	{"8BITMIME", offsetof(struct smtp_extensions, eight_bit)},
	{"SMTPUTF8", offsetof(struct smtp_extensions, utf8)},
};

/* Whether the line's first word is the keyword, in any case. */
static bool names(const char *line, const char *keyword)
{
	size_t len = strlen(keyword);

	return str_starts_nocase(line, keyword) &&
	       strchr(" \n", line[len]) != NULL;
}

struct smtp_extensions smtp_ehlo_read(const char *text)
{
	struct smtp_extensions found = {0};
	const char *line = text;

	while ((line = strchr(line, '\n')) != NULL) {
		line++;
		for (size_t i = 0; i < ARRAY_SIZE(extensions); i++)
			if (names(line, extensions[i].keyword))
				*(bool *)((char *)&found +
					  extensions[i].offset) = true;
	}
	return found;
}
