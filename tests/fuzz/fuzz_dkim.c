/*
 * Fuzzes dkim_record_parse(): a key that is found is one word, and found again in the record that
 * is made of it.
 */
#include <string.h>

#include "core/base/mem.h"
#include "core/dns/dkim.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = mem_dup(data, size);
	_cleanup_free_ char *key = NULL, *again = NULL, *record = NULL;

	if (dkim_record_parse(text, &key) != DKIM_RECORD_KEY) {
		CHECK(key == NULL);
		return 0;
	}
	CHECK(*key && strpbrk(key, " \t\r\n;") == NULL);
	record = dkim_record_value(key);
	CHECK(dkim_record_parse(record, &again) == DKIM_RECORD_KEY);
	CHECK(strcmp(key, again) == 0);
	return 0;
}
