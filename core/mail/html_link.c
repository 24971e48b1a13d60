/*
 * html_link: the target of a link, for people to read.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/html_link.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"

#define MAILTO "mailto:"

static bool is_useful(const char *target)
{
	return str_starts_nocase(target, "http://") ||
	       str_starts_nocase(target, "https://") ||
	       str_starts_nocase(target, MAILTO);
}

char *html_link_target(const char *href)
{
	_cleanup_free_ char *trimmed = str_trim(href, strlen(href));
	struct buf target = BUF_INIT;

	if (!is_useful(trimmed))
		return NULL;
	for (const char *p = trimmed; *p; p++) {
		if (*p == ' ')
			buf_add_str(&target, "%20");
		else if ((unsigned char)*p > ' ' && *p != 0x7f)
			buf_add_char(&target, *p);
	}
	return buf_take(&target);
}

bool html_link_is_shown(const char *target, const char *text, size_t len)
{
	size_t target_len = strlen(target);

	if (str_starts_nocase(target, MAILTO)) {
		target += strlen(MAILTO);
		target_len = strcspn(target, "?");
	}
	if (target_len > len && target[target_len - 1] == '/')
		target_len--;
	return len == target_len && memcmp(text, target, len) == 0;
}
