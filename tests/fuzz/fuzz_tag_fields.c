/*
 * Fuzzes tag_fields_read(): the lines of the input are the values of the three fields in turn.
 * What is read is JSON again, and what is refused is said in plain words.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/compose/tag_fields.h"
#include "tests/fuzz/fuzz.h"

static void check_json(char *text, bool array)
{
	json_t *value = text ? json_loads(text, 0, NULL) : NULL;

	CHECK(text == NULL || (array ? json_array_size(value) : json_object_size(value)) > 0);
	json_decref(value);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tag_fields fields = {0};
	struct strv *lists[] = {&fields.tags, &fields.named, &fields.variables};
	_cleanup_free_ char *text = mem_dup((const char *)data, size);
	struct strv lines = STRV_INIT;
	char *tags = NULL, *variables = NULL;
	struct err err = ERR_INIT;

	strv_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++)
		if (lines.items[i][0] != '\0')
			strv_add(lists[i % 3], lines.items[i]);
	if (tag_fields_read(&fields, &tags, &variables, &err) < 0) {
		CHECK(err.code == ERR_INVALID && tags == NULL && variables == NULL);
		for (const char *c = err.text; *c; c++)
			CHECK(*c >= ' ' && *c < 127);
	}
	check_json(tags, true);
	check_json(variables, false);
	tag_fields_clear(&fields);
	strv_free(&lines);
	return 0;
}
