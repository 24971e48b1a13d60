/*
 * temp_folder: a folder of a test, with the files that it writes there.
 */
#include "tests/unit/temp_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "core/base/mem.h"

char *temp_folder_new(void)
{
	const char *place = getenv("TMPDIR");
	char *folder = mem_printf("%s/postern-test.XXXXXX", place ? place : "/tmp");

	assert_non_null(mkdtemp(folder));
	return folder;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	(void)info;
	(void)kind;
	(void)at;
	return remove(path);
}

void temp_folder_free(char *folder)
{
	assert_int_equal(nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
	free(folder);
}

void temp_folder_write(const char *folder, const char *name, const char *format, ...)
{
	static const struct timeval old[2];
	_cleanup_free_ char *path = mem_printf("%s/%s", folder, name);
	FILE *file = fopen(path, "we");
	va_list args;

	assert_non_null(file);
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(utimes(path, old), 0);
}
