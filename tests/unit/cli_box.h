/*
 * cli_box: the command `postern` in a folder of its own, for tests of verbs.
 */
#ifndef POSTERN_TESTS_CLI_BOX_H
#define POSTERN_TESTS_CLI_BOX_H

#include <stddef.h>

#define NO_ID "00000000-0000-4000-8000-000000000000"

/* Of the test that runs: a folder with settings, and the last run. */
struct cli_box {
	char *folder;
	int status;
	char *out;
	char *errors;
};
extern struct cli_box at;

/* For cmocka: a migrated database in the folder, which is the current one. */
int cli_box_setup(void **state);
int cli_box_teardown(void **state);

/* Runs the words, separated by blanks, a `~` in them stands for a blank. */
void run(const char *text);
/* The same; the test fails unless that works without a complaint. */
void run_ok(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The value in the JSON object that the last run printed; a new string. */
char *got(const char *name);
/* How many rows are in the JSON array that it printed. */
size_t rows_printed(void);

/* Fails the test unless the text has the other one in it. */
void assert_says(const char *text, const char *wanted);

/* A new company; its id, a new string. */
char *add_company(const char *name);

#endif
