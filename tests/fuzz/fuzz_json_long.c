/*
 * Fuzzes json_long_load(): whatever the text, it reads what jansson reads.
 */
#include "core/base/secret.h"
#include "httpd/json/json_long.h"
#include "tests/fuzz/fuzz.h"

enum { FLAGS = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	json_error_t error;
	json_t *found, *wanted;

	CHECK(secret_init() == 0);
	found = json_long_load(text, size, size % 4, FLAGS, &error);
	wanted = json_loadb(text, size, FLAGS, &error);
	CHECK((found == NULL) == (wanted == NULL));
	CHECK(found == NULL || json_equal(found, wanted));
	json_decref(found);
	json_decref(wanted);
	return 0;
}
