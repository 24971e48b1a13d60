/*
 * postconf: asks postconf(1).
 *
 * Threads: any; holds no state.
 */
#include "core/conf/postconf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/program.h"
#include "core/base/str.h"
#include "core/base/strv.h"

enum { TIMEOUT_MS = 10000 };

/* Where it usually is, which the PATH of a user may not have. */
static const char *program(void)
{
	static const char usual[] = "/usr/sbin/postconf";

	return access(usual, X_OK) == 0 ? usual : "postconf";
}

static void add_arguments(struct strv *argv, const char *config_dir,
	const char *const *names, size_t n)
{
	strv_add(argv, program());
	strv_add(argv, "-x");
	if (!str_empty(config_dir)) {
		strv_add(argv, "-c");
		strv_add(argv, config_dir);
	}
	for (size_t i = 0; i < n; i++)
		strv_add(argv, names[i]);
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

	add_arguments(&argv, config_dir, names, n);
	if (program_output(argv.items, TIMEOUT_MS, &output, err) < 0)
		return -1;
	strv_split(&lines, buf_str(&output), '\n');
	for (size_t i = 0; i < n; i++)
		values_r[i] = find_value(&lines, names[i]);
	return 0;
}
