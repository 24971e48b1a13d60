/*
 * postfix_own: whether Postfix treats a domain as one of its own.
 *
 * Threads: one; waits for the programs that it runs.
 */
#include "cli/postfix_own.h"

#include <fcntl.h>
#include <paths.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"

enum { OUTPUT_MAX = 1024 * 1024 };

/* Postfix's programs stand where an ordinary PATH may not look. */
static char *const environment[] = {
	(char[]){"PATH=/usr/sbin:/sbin:" _PATH_STDPATH}, (char[]){"LC_ALL=C"},
	NULL};

static const char *const parameters[] = {
	"mydestination",
	"myorigin",
	"virtual_alias_domains",
	"virtual_mailbox_domains",
	"relay_domains",
};

static void read_all(int fd, struct buf *out)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) > 0)
		if (out->len < OUTPUT_MAX)
			buf_add(out, piece, (size_t)n);
}

static bool spawn(const char *const *words, int output, pid_t *pid_r)
{
	static const char *const folders[] = {
		"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/"};
	posix_spawn_file_actions_t actions;
	bool started = false;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(
		&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(
		&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	for (size_t i = 0; i < ARRAY_SIZE(folders) && !started; i++) {
		_cleanup_free_ char *path = mem_printf(
			"%s%s", folders[i], words[0]);

		started = posix_spawn(pid_r, path, &actions, NULL,
				  (char *const *)(uintptr_t)words,
				  environment) == 0;
	}
	posix_spawn_file_actions_destroy(&actions);
	return started;
}

/* Whether the program ran and ended with 0; its output is added to out. */
static bool run(const char *const *words, struct buf *out)
{
	int ends[2], status = -1;
	bool started;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	started = spawn(words, ends[1], &pid);
	close(ends[1]);
	if (started) {
		read_all(ends[0], out);
		waitpid(pid, &status, 0);
	}
	close(ends[0]);
	return started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* postmap(1) gives nothing for a name that is not there. */
static bool table_has(const char *config, const char *table, const char *name)
{
	const char *const words[] = {
		"postmap", "-c", config, "-q", name, table, NULL};
	const char *const plain[] = {"postmap", "-q", name, table, NULL};
	_cleanup_buf_ struct buf out = BUF_INIT;

	return run(*config ? words : plain, &out);
}

/* An item is a name, or a table as hash:/etc/postfix/virtual. */
static bool item_has(const char *config, const char *item, const char *name)
{
	if (strchr(item, ':') && item[0] != '!')
		return table_has(config, item, name);
	return str_eq_nocase(item, name);
}

static bool value_has(const char *config, const char *value, const char *name)
{
	static const char separators[] = ", \t\r\n";
	bool has = false;
	size_t len;

	for (; *(value += strspn(value, separators)) && !has; value += len) {
		_cleanup_free_ char *item = NULL;

		len = strcspn(value, separators);
		item = mem_dup(value, len);
		has = item_has(config, item, name);
	}
	return has;
}

static bool parameter_has(
	const char *config, const char *parameter, const char *name)
{
	const char *const words[] = {
		"postconf", "-c", config, "-x", "-h", parameter, NULL};
	const char *const plain[] = {"postconf", "-x", "-h", parameter, NULL};
	_cleanup_buf_ struct buf out = BUF_INIT;

	return run(*config ? words : plain, &out) &&
	       value_has(config, buf_str(&out), name);
}

const char *postfix_own_find(const char *config, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
		if (parameter_has(config, parameters[i], name))
			return parameters[i];
	return NULL;
}
