/*
 * ask: a question to the person at the terminal.
 */
#ifndef POSTERN_CLI_ASK_H
#define POSTERN_CLI_ASK_H

#include <stdbool.h>
#include <stddef.h>

/* Whether somebody can be asked: standard input and error are terminals. */
bool ask_is_possible(void);

/* Asks until the answer is one of the words, or its first letter; no answer is
 * the first word. Gives that word, or NULL at the end of the input. */
const char *ask_choice(const char *question, const char *const *words, size_t n);

#endif
