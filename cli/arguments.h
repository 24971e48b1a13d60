/*
 * arguments: parses the command line.
 */
#ifndef POSTERN_CLI_ARGUMENTS_H
#define POSTERN_CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/verbs.h"
#include "core/base/buf.h"

struct arguments {
	const char *conf_path;
	bool json;
	bool help;
	bool version;
	const char *noun;            /* the first word, NULL if missing */
	const struct verb *verb;     /* NULL with help, if none is given */
	const char *argument;        /* argument of the verb; NULL if it takes none */
	char *const *words;          /* the argument and all after it, ended by NULL */
	const char *values[OPTIONS]; /* NULL: not given; "" for flags */
};

/* Parses the command line. The strings stay argv's, which is reordered. Options may come anywhere;
 * `--` ends them. Returns 0, or -1 with ERR_INVALID and the reason, with *arguments_r filled as far
 * as it is known. Not thread-safe, because of getopt. */
int arguments_parse(int argc, char **argv, struct arguments *arguments_r, struct err *err);

/* Suggestions for misspelt words. */

/* Initialize it with the given text; then try all words. */
struct nearest {
	const char *text;
	const char *word; /* the nearest word so far; NULL: none is near */
	size_t distance;  /* distance of that word */
};

/* Returns the edit distance of a and b: the number of letters to insert, delete, replace or swap
 * with the next one. */
size_t nearest_distance(const char *a, const char *b);

/* A word is near if at most one letter in three is wrong. Of equally near words the first is
 * kept. */
void nearest_try(struct nearest *nearest, const char *word);

#endif
