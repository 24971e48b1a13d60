/*
 * forwarded: X-Forwarded-For, read from its end.
 *
 * Threads: any.
 */
#include "httpd/http/forwarded.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

/* Some proxies write a port behind the address: `192.0.2.1:4711`,
 * `[2001:db8::1]:4711`. */
static void cut_port(char *address)
{
	char *colon = strrchr(address, ':');

	if (colon && (colon > address && colon[-1] == ']' ? *address == '['
							  : strchr(address, ':') == colon))
		*colon = '\0';
}

/* Cuts the last entry off the list. Returns true if it is an address. */
static bool take_last(struct span *list, char address_r[static CIDR_TEXT_SIZE])
{
	const char *comma = memrchr(list->data, ',', list->len);
	size_t start = comma ? (size_t)(comma - list->data) + 1 : 0;
	_cleanup_free_ char *text = str_trim(list->data + start, list->len - start);

	list->len = comma ? start - 1 : 0;
	cut_port(text);
	return cidr_address(text, address_r);
}

void forwarded_client(const struct http_head *head, const struct cidr_list *proxies,
	const char *peer, char client_r[static CIDR_TEXT_SIZE])
{
	char address[CIDR_TEXT_SIZE];

	snprintf(client_r, CIDR_TEXT_SIZE, "%s", peer);
	for (size_t i = head->fields_n; i > 0; i--) {
		struct span list = head->fields[i - 1].value;

		if (!span_is_nocase(head->fields[i - 1].name, "X-Forwarded-For"))
			continue;
		do {
			if (!cidr_list_has_text(proxies, client_r) || !take_last(&list, address))
				return;
			memcpy(client_r, address, sizeof(address));
		} while (list.len > 0);
	}
}
