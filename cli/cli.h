/*
 * cli: the command `postern`.
 *
 *   arguments -> settings -> database -> the verb fills a report -> commit
 *   -> the report is printed
 *
 * A verb that follows fills and prints one report after the other.
 */
#ifndef POSTERN_CLI_CLI_H
#define POSTERN_CLI_CLI_H

#include <stdio.h>

/* Does what the command line says; argv is reordered. Results go to out,
 * `postern: ...` to errors. Gives the exit status (sysexits.h): 0, 64 for
 * wrong use, else the one of the error's code. */
int cli_run(int argc, char **argv, FILE *out, FILE *errors);

#endif
