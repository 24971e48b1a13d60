/*
 * Fuzzes smtp_reply_read(): whatever comes over the wire, one reply after
 * another.
 */
#include <string.h>

#include "core/base/str.h"
#include "httpd/inject/smtp_proto.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct smtp_reply reply;
	size_t used;

	while (smtp_reply_read(bytes, size, &reply, &used) > 0) {
		CHECK(used > 0 && used <= size);
		CHECK(reply.code >= 200 && reply.code <= 599);
		CHECK(str_utf8_valid(reply.text, strlen(reply.text)));
		smtp_ehlo_read(reply.text);
		bytes += used;
		size -= used;
	}
	return 0;
}
