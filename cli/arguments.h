/*
 * arguments: the command line, taken apart.
 */
#ifndef POSTERN_CLI_ARGUMENTS_H
#define POSTERN_CLI_ARGUMENTS_H

#include <stdbool.h>

#include "cli/verb.h"

struct arguments {
	const char *conf_path;
	bool json;
	bool help;
	bool version;
	const char *noun;            /* the first words, NULL when missing */
	const struct verb *verb;     /* NULL with help, when none is named */
	const char *argument;        /* of the verb; NULL when it takes none */
	const char *values[OPTIONS]; /* NULL: not given; "" for flags */
};

/* Reads the command line; the texts stay argv's, which is reordered. Options
 * may stand anywhere; `--` ends them. ERR_INVALID says what is wrong with the
 * use, in arguments as far as it is known. Not for threads: getopt. */
int arguments_parse(
	int argc, char **argv, struct arguments *arguments_r, struct err *err);

#endif
