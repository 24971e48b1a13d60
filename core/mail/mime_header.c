/*
 * mime_header: rules for header fields that a caller names.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/mime_header.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

/* The name, a colon and a blank leave room for a word on a line of 78. */
enum { NAME_MAX_LEN = 76 };

bool mime_header_name_valid(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > NAME_MAX_LEN)
		return false;
	for (; *name; name++)
		if (*name <= ' ' || *name > '~' || *name == ':')
			return false;
	return true;
}

/* Of valid UTF-8: C0 but for the tab, DEL, and C1 (U+0080 to U+009F). */
static bool is_control(const char *text)
{
	unsigned char c = (unsigned char)text[0];

	if (c == 0xc2)
		return (unsigned char)text[1] < 0xa0;
	return (c < 0x20 && c != '\t') || c == 0x7f;
}

bool mime_header_value_valid(const char *value)
{
	if (!str_utf8_valid(value, strlen(value)))
		return false;
	for (; *value; value++)
		if (is_control(value))
			return false;
	return true;
}

bool mime_header_reserved(const char *name)
{
	static const char *const names[] = {"from", "to", "cc", "bcc",
		"subject", "message-id", "reply-to", "content-type",
		"mime-version", "content-transfer-encoding"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq_nocase(name, names[i]))
			return true;
	return str_starts_nocase(name, "X-Postern-");
}
