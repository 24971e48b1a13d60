/*
 * cli_box: the command `postern` in a folder of its own.
 */
#include "tests/unit/cli_box.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>
#include <sysexits.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/strv.h"
#include "tests/unit/temp_db.h"
#include "tests/unit/temp_folder.h"

struct cli_box at;

static void forget_run(void)
{
	free(at.out);
	free(at.errors);
	at.out = at.errors = NULL;
}

void run(const char *text)
{
	_cleanup_strv_ struct strv line = STRV_INIT;
	size_t out_len, errors_len;
	FILE *out, *errors;

	forget_run();
	strv_split(&line, "postern -c postern.conf", ' ');
	strv_split(&line, text, ' ');
	for (size_t i = 0; i < line.n; i++)
		for (char *c = line.items[i]; *c; c++)
			*c = *c == '~' ? ' ' : *c;
	out = open_memstream(&at.out, &out_len);
	errors = open_memstream(&at.errors, &errors_len);
	at.status = cli_run((int)line.n, line.items, out, errors);
	fclose(out);
	fclose(errors);
}

void run_ok(const char *format, ...)
{
	char text[500];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	run(text);
	if (at.status != EX_OK || *at.errors)
		fail_msg("%s: %d, %s", text, at.status, at.errors);
}

char *got(const char *name)
{
	json_t *json = json_loads(at.out, 0, NULL);
	char *text;

	if (json == NULL || json_object_get(json, name) == NULL)
		fail_msg("no %s in %s", name, at.out);
	text = mem_strdup(json_string_value(json_object_get(json, name)));
	json_decref(json);
	return text;
}

size_t rows_printed(void)
{
	json_t *json = json_loads(at.out, 0, NULL);
	size_t n;

	assert_true(json_is_array(json));
	n = json_array_size(json);
	json_decref(json);
	return n;
}

int cli_box_setup(void **state)
{
	(void)state;
	at.folder = temp_folder_new();
	if (secret_init() < 0 || chdir(at.folder) < 0)
		return -1;
	temp_folder_write(".", "postern.conf", "[store]\ndatabase = %s/postern.db\n", at.folder);
	temp_db_make("postern.db");
	return 0;
}

int cli_box_teardown(void **state)
{
	(void)state;
	forget_run();
	temp_folder_free(at.folder);
	return 0;
}

char *add_company(const char *name)
{
	run_ok("company add %s --json", name);
	return got("id");
}

void assert_says(const char *text, const char *wanted)
{
	if (strstr(text, wanted) == NULL)
		fail_msg("no \"%s\" in \"%s\"", wanted, text);
}
