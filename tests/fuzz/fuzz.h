/*
 * fuzz: what the fuzzers share. Each is a libFuzzer target: its function takes
 * any bytes, and what must hold for all of them is checked.
 */
#ifndef POSTERN_TESTS_FUZZ_FUZZ_H
#define POSTERN_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* assert(), in every build. */
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);  \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif
