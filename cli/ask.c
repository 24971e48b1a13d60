/*
 * ask: a question to the person at the terminal.
 *
 * Threads: one; speaks on standard error, which is not the result.
 */
#include "cli/ask.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"

bool ask_is_possible(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static const char *match(const char *answer, const char *const *words, size_t n)
{
	if (*answer == '\0')
		return words[0];
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(answer, words[i]) ||
			(answer[1] == '\0' && answer[0] == words[i][0]))
			return words[i];
	return NULL;
}

const char *ask_choice(const char *question, const char *const *words, size_t n)
{
	char line[100];

	for (;;) {
		_cleanup_free_ char *answer = NULL;
		const char *word;

		fprintf(stderr, "%s [%s] ", question, words[0]);
		if (fgets(line, sizeof(line), stdin) == NULL)
			return NULL;
		answer = str_trim(line, strlen(line));
		word = match(answer, words, n);
		if (word)
			return word;
	}
}
