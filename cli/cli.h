/*
 * cli: the command `postern`.
 *
 *   arguments -> settings -> database -> the verb fills a report -> commit
 *   -> the report is printed
 *
 * A following verb fills and prints one report after another.
 */
#ifndef POSTERN_CLI_CLI_H
#define POSTERN_CLI_CLI_H

#include <stdio.h>

/* Runs the command line; argv is reordered. Results go to out, `postern: ...` to errors. Returns
 * the exit status (sysexits.h): 0, 64 for wrong usage, else that of the error's code. */
int cli_run(int argc, char **argv, FILE *out, FILE *errors);

#endif
