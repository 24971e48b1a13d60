/*
 * percent: percent-encoding, read strictly.
 *
 * Threads: any; holds no state.
 */
#include "httpd/http/percent.h"

#include "core/base/ascii.h"

bool percent_decode(struct http_text text, char *out, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];

		if (c == '%') {
			int byte = i + 2 < text.len
					   ? ascii_hex_pair(text.data + i + 1)
					   : -1;

			if (byte < 0)
				return false;
			c = (char)byte;
			i += 2;
		}
		if (c == '\0' || len + 1 >= size)
			return false;
		out[len++] = c;
	}
	out[len] = '\0';
	return true;
}
