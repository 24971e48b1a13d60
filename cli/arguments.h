/*
 * arguments: the command line, taken apart.
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
	const char *noun;            /* the first words, NULL when missing */
	const struct verb *verb;     /* NULL with help, when none is named */
	const char *argument;        /* of the verb; NULL when it takes none */
	char *const *words;          /* the argument and all behind it, ended by NULL */
	const char *values[OPTIONS]; /* NULL: not given; "" for flags */
};

/* Reads the command line; the texts stay argv's, which is reordered. Options
 * may stand anywhere; `--` ends them. ERR_INVALID says what is wrong with the
 * use, in arguments as far as it is known. Not for threads: getopt. */
int arguments_parse(int argc, char **argv, struct arguments *arguments_r, struct err *err);

/* The word that somebody meant who wrote another one. */

/* Begin with the text as it was written; then try all words. */
struct nearest {
	const char *text;
	const char *word; /* the nearest so far; NULL: none is near */
	size_t distance;  /* of it, if there is one */
};

/* How many letters have to be added, left out, changed or swapped with the next
 * one to make b of a. */
size_t nearest_distance(const char *a, const char *b);

/* A word is near when at most one letter in three is wrong. Of equally near
 * ones the first stays. */
void nearest_try(struct nearest *nearest, const char *word);

#endif
