/*
 * postfix_own: whether Postfix treats a domain as one of its own.
 *
 * Its lists have names, tables, files with more of them, and exceptions; the
 * first item that fits decides (postconf(5), mydestination).
 *
 * Threads: one; waits for the programs that it runs.
 */
#include "cli/postfix_own.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/postfix/postconf.h"

/* How deep files may name others. */
enum { FILES_MAX = 8 };

struct search {
	const char *config;
	const char *name;
	int files; /* that are open */
};

static int list_has(struct search *search, const char *list, struct err *err);

static int read_lines(struct search *search, FILE *file, struct err *err)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int has = 0;

	while (has == 0 && getline(&line, &size, file) >= 0)
		if (line[0] != '#')
			has = list_has(search, line, err);
	return has;
}

static int file_has(struct search *search, const char *path, struct err *err)
{
	FILE *file = fopen(path, "re");
	int has;

	if (file == NULL)
		return err_set(err, ERR_CONFIG, "cannot read %s: %s", path,
			strerror(errno));
	if (search->files == FILES_MAX) {
		fclose(file);
		return err_set(err, ERR_CONFIG,
			"%s: too many files that name others", path);
	}
	search->files++;
	has = read_lines(search, file, err);
	search->files--;
	fclose(file);
	return has;
}

/* 1 in it, 0 not, 2 excepted, -1. */
static int item_has(struct search *search, const char *item, struct err *err)
{
	bool excepted = false;
	int has;

	for (; *item == '!'; item++)
		excepted = !excepted;
	if (item[0] == '/')
		has = file_has(search, item, err);
	else if (strchr(item, ':'))
		has = postconf_look_up(search->config, item, search->name, err);
	else
		has = str_eq_nocase(item, search->name);
	return has == 1 && excepted ? 2 : has;
}

/* Up to the next separator that is not within braces. */
static size_t item_length(const char *text, const char *separators)
{
	size_t len = 0;
	int depth = 0;

	for (; text[len]; len++) {
		if (depth == 0 && strchr(separators, text[len]))
			break;
		depth += (text[len] == '{') - (text[len] == '}');
	}
	return len;
}

static int list_has(struct search *search, const char *list, struct err *err)
{
	static const char separators[] = ", \t\r\n";
	int has = 0;
	size_t len;

	for (; has == 0 && *(list += strspn(list, separators)); list += len) {
		_cleanup_free_ char *item = NULL;

		len = item_length(list, separators);
		item = mem_dup(list, len);
		has = item_has(search, item, err);
	}
	return has;
}

/* Which of the values has it: its index in *index_r. */
static int find(struct search *search, char *const *values, size_t *index_r,
	struct err *err)
{
	for (size_t i = 0; i < POSTCONF_OWN_DOMAINS; i++) {
		int has = list_has(search, values[i], err);

		if (has < 0)
			return err_prefix(err, "%s", postconf_own_domains[i]);
		*index_r = i;
		if (has == 1)
			return 1;
	}
	return 0;
}

int postfix_own_find(const char *config, const char *name,
	const char **parameter_r, struct err *err)
{
	struct search search = {.config = config, .name = name};
	char *values[POSTCONF_OWN_DOMAINS];
	struct err why = ERR_INIT;
	size_t index = 0;
	int found;

	if (postconf_read(config, postconf_own_domains, POSTCONF_OWN_DOMAINS,
		    values, &why) < 0)
		return why.code == ERR_CONFIG ? 0 : err_copy(err, &why);
	found = find(&search, values, &index, err);
	if (found == 1)
		*parameter_r = postconf_own_domains[index];
	for (size_t i = 0; i < POSTCONF_OWN_DOMAINS; i++)
		free(values[i]);
	return found;
}
