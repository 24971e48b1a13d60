/*
 * postconf: asks postconf(1) and postmap(1).
 */
#include "core/postfix/postconf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/program.h"
#include "core/base/str.h"
#include "core/base/strv.h"

enum { TIMEOUT_MS = 10000 };

const char *const postconf_own_domains[POSTCONF_OWN_DOMAINS] = {
	"mydestination",
	"myorigin",
	"virtual_alias_domains",
	"virtual_mailbox_domains",
	"relay_domains",
};

/* Where Postfix's programs usually are, which the PATH of a user may not have. */
static void add_program(struct strv *argv, const char *name)
{
	_cleanup_free_ char *usual = mem_printf("/usr/sbin/%s", name);

	strv_add(argv, access(usual, X_OK) == 0 ? usual : name);
}

static void add_config(struct strv *argv, const char *config_dir)
{
	if (str_empty(config_dir))
		return;
	strv_add(argv, "-c");
	strv_add(argv, config_dir);
}

/* The value in lines of `name = value`; "" when it is not there. */
static char *find_value(const struct strv *lines, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < lines->n; i++) {
		const char *line = lines->items[i];

		if (str_starts(line, name) && str_starts(line + len, " ="))
			return str_trim(line + len + 2, strlen(line + len + 2));
	}
	return mem_strdup("");
}

int postconf_read(const char *config_dir, const char *const *names, size_t n,
	char **values_r, struct err *err)
{
	_cleanup_strv_ struct strv argv = STRV_INIT, lines = STRV_INIT;
	_cleanup_buf_ struct buf output = BUF_INIT;

	add_program(&argv, "postconf");
	strv_add(&argv, "-x");
	add_config(&argv, config_dir);
	for (size_t i = 0; i < n; i++)
		strv_add(&argv, names[i]);
	if (program_output(argv.items, TIMEOUT_MS, &output, err) < 0)
		return -1;
	strv_split(&lines, buf_str(&output), '\n');
	for (size_t i = 0; i < n; i++)
		values_r[i] = find_value(&lines, names[i]);
	return 0;
}

int postconf_look_up(const char *config_dir, const char *table, const char *key,
	struct err *err)
{
	_cleanup_strv_ struct strv argv = STRV_INIT;
	_cleanup_buf_ struct buf output = BUF_INIT;
	struct err why = ERR_INIT;

	add_program(&argv, "postmap");
	add_config(&argv, config_dir);
	strv_add(&argv, "-q");
	strv_add(&argv, key);
	strv_add(&argv, table);
	if (program_output(argv.items, TIMEOUT_MS, &output, &why) == 0)
		return 1;
	if (why.code == ERR_NOT_FOUND)
		return 0;
	return err_set(err, why.code, "%s: %s", table, why.text);
}
