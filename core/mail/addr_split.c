/*
 * addr_split: lists of mailboxes, separated by commas.
 *
 * Threads: any; holds no state.
 */
#include <stdbool.h>
#include <string.h>

#include "core/mail/addr.h"

/* The length of the first item: up to a comma outside quotes and <>. */
static size_t item_len(const char *text)
{
	bool quoted = false, angle = false;
	size_t i;

	for (i = 0; text[i] != '\0'; i++) {
		char c = text[i];

		if (quoted && c == '\\' && text[i + 1] != '\0')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '<' || c == '>'))
			angle = c == '<';
		else if (!quoted && !angle && c == ',')
			break;
	}
	return i;
}

static int read_item(
	const char *text, size_t len, struct strv *list, struct err *err)
{
	_cleanup_free_ char *item = mem_dup(text, len);
	_cleanup_addr_ struct addr addr = {0};

	if (item[strspn(item, " \t")] == '\0')
		return err_set(err, ERR_INVALID,
			"a comma has no address on one of its sides");
	if (addr_parse(item, &addr, err) < 0)
		return -1;
	strv_take(list, addr_format(&addr));
	return 0;
}

int addr_split(const char *text, struct strv *list, struct err *err)
{
	_cleanup_strv_ struct strv found = STRV_INIT;

	if (text[strspn(text, " \t")] == '\0')
		return 0;
	for (;;) {
		size_t len = item_len(text);

		if (read_item(text, len, &found, err) < 0)
			return -1;
		if (text[len] == '\0')
			break;
		text += len + 1;
	}
	strv_add_all(list, &found);
	return 0;
}
