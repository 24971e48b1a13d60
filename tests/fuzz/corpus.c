/*
 * corpus: the fuzzers over files, as tests; one program for all, of any
 * compiler and build. Each tests/fuzz/fuzz_NAME.c has an
 * LLVMFuzzerTestOneInput() of its own, which the build renames to fuzz_NAME().
 *
 * usage: corpus                lists the fuzzers
 *        corpus NAME FILE...   runs one over each file, and says so
 */
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "tests/fuzz/fuzz.h"

#define SECONDS 25 /* for a file, before SIGALRM ends all */

#define FUZZER(name) int name(const uint8_t *data, size_t size);
#include "gen/fuzzers.h"
#undef FUZZER

static const struct {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
} fuzzers[] = {
#define FUZZER(name) {#name, name},
#include "gen/fuzzers.h"
};

/* The input gets just its bytes, for a sanitizer to see a read behind them. */
static void run_file(int (*run)(const uint8_t *, size_t), const char *path)
{
	static char buffer[1 << 20];
	_cleanup_free_ uint8_t *data = NULL;
	FILE *file = fopen(path, "rb");
	size_t size;

	CHECK(file);
	size = fread(buffer, 1, sizeof(buffer), file);
	CHECK(size < sizeof(buffer) && !ferror(file));
	fclose(file);
	data = malloc(size);
	CHECK(data || !size);
	if (size)
		memcpy(data, buffer, size);
	alarm(SECONDS);
	run(data, size);
	printf("Executed %s\n", path);
}

int main(int argc, char **argv)
{
	size_t n = sizeof(fuzzers) / sizeof(fuzzers[0]);

	for (size_t i = 0; i < n; i++) {
		if (argc < 2) {
			puts(fuzzers[i].name + strlen("fuzz_"));
		} else if (strcmp(argv[1], fuzzers[i].name + strlen("fuzz_")) == 0) {
			for (int j = 2; j < argc; j++)
				run_file(fuzzers[i].run, argv[j]);
			return 0;
		}
	}
	if (argc < 2)
		return 0;
	fprintf(stderr, "corpus: no fuzzer %s\n", argv[1]);
	return 64;
}
