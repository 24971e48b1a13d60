/*
 * catch: what goes to standard error, to look at.
 *
 * Threads: the one of the test.
 */
#include "tests/unit/catch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/mem.h"

struct catch catch_stderr(void)
{
	struct catch catch = {
		.file = memfd_create("stderr", MFD_CLOEXEC), .before = dup(STDERR_FILENO)};

	assert_true(catch.file >= 0 && catch.before >= 0);
	fcntl(catch.file, F_SETFL, O_APPEND);
	dup2(catch.file, STDERR_FILENO);
	return catch;
}

char *catch_end(const struct catch *catch)
{
	off_t len = lseek(catch->file, 0, SEEK_END);
	char *text = mem_alloc((size_t)len + 1, 1);

	dup2(catch->before, STDERR_FILENO);
	close(catch->before);
	assert_int_equal(pread(catch->file, text, (size_t)len, 0), len);
	close(catch->file);
	return text;
}
