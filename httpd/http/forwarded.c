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

void forwarded_client(const struct http_head *head, const struct cidr_list *proxies,
	const char *peer, char client_r[static CIDR_TEXT_SIZE])
{
	snprintf(client_r, CIDR_TEXT_SIZE, "%s", peer);
	for (size_t i = head->fields_n; i > 0; i--) {
		struct span list = head->fields[i - 1].value;

		if (!span_is_nocase(head->fields[i - 1].name, "X-Forwarded-For"))
			continue;
		do {
			const char *comma = memrchr(list.data, ',', list.len);
			size_t start = comma ? (size_t)(comma - list.data) + 1 : 0;
			_cleanup_free_ char *last = str_trim(list.data + start, list.len - start);
			char *colon = strrchr(last, ':'), address[CIDR_TEXT_SIZE];

			/* Some proxies write a port behind the address: `192.0.2.1:4711`,
			 * `[2001:db8::1]:4711`. */
			if (colon &&
				(colon > last && colon[-1] == ']' ? *last == '['
								  : strchr(last, ':') == colon))
				*colon = '\0';
			if (!cidr_list_has_text(proxies, client_r) || !cidr_address(last, address))
				return;
			memcpy(client_r, address, sizeof(address));
			list.len = comma ? start - 1 : 0;
		} while (list.len > 0);
	}
}
