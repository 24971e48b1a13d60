/*
 * log_corpus: the lines of tests/data/postfix.log, section by section.
 *
 * A section begins with `## NAME what it shows`; other lines that begin with #
 * are remarks.
 */
#include "tests/unit/log_corpus.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

/* Calls on_line for each line, with the name of its section; a line of NULL
 * begins one. */
static void walk(void (*on_line)(void *arg, const char *section, char *line), void *arg)
{
	FILE *file = fopen("tests/data/postfix.log", "r");
	char section[16] = "", *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (file == NULL)
		abort();
	while ((n = getline(&line, &size, file)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (sscanf(line, "## %15s", section) == 1)
			on_line(arg, section, NULL);
		else if (line[0] && line[0] != '#' && section[0])
			on_line(arg, section, line);
	}
	free(line);
	fclose(file);
}

struct wanted {
	const char *section;
	struct strv *lines;
};

static void add_line(void *arg, const char *section, char *line)
{
	const struct wanted *wanted = arg;

	if (line && str_eq(section, wanted->section))
		strv_add(wanted->lines, line);
}

void log_corpus_read(const char *section, struct strv *lines_r)
{
	struct wanted wanted = {section, lines_r};

	walk(add_line, &wanted);
}

static void add_name(void *arg, const char *section, char *line)
{
	if (line == NULL)
		strv_add(arg, section);
}

void log_corpus_sections(struct strv *names_r)
{
	walk(add_name, names_r);
}
