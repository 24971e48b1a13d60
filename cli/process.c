/*
 * process: reads /proc.
 */
#include "cli/process.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"

/* Returns the boot time of the host in seconds; 0: unknown. */
static int64_t read_boot(void)
{
	FILE *file = fopen("/proc/stat", "re");
	char line[256];
	long long seconds = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "btime %lld", &seconds) == 1)
			break;
	if (file)
		fclose(file);
	return seconds;
}

bool process_read(const char *pid, struct process *process_r)
{
	_cleanup_free_ char *path = NULL;
	unsigned long long ticks;
	long own, parent;
	char state;
	FILE *file;
	bool read;

	if (!ascii_is_digit(pid[0]))
		return false;
	path = mem_printf("/proc/%s/stat", pid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	read = fscanf(file,
		       "%ld (%31[^)]) %c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
		       "%*d %*d %*d %*d %llu",
		       &own, process_r->name, &state, &parent, &ticks) == 5;
	fclose(file);
	if (!read || state == 'Z')
		return false;
	process_r->pid = (pid_t)own;
	process_r->parent = (pid_t)parent;
	process_r->start_us = read_boot() * SECOND_US +
			      (int64_t)ticks * SECOND_US / sysconf(_SC_CLK_TCK);
	return true;
}

static bool has_open(const char *pid, const char *path)
{
	_cleanup_free_ char *folder = mem_printf("/proc/%s/fd", pid);
	DIR *files = opendir(folder);
	struct dirent *entry;
	bool has = false;

	while (files && !has && (entry = readdir(files)) != NULL) {
		_cleanup_free_ char *file = mem_printf("%s/%s", folder, entry->d_name);
		char target[4096];
		ssize_t len = readlink(file, target, sizeof(target) - 1);

		target[len > 0 ? len : 0] = '\0';
		has = str_starts(target, path);
	}
	if (files)
		closedir(files);
	return has;
}

/* Returns the path of the settings that are among the arguments of a daemon. The caller frees it.
 */
static char *settings_of(const char *pid)
{
	static const char option[] = "--config=";
	_cleanup_free_ char *path = mem_printf("/proc/%s/cmdline", pid);
	const char *settings = CONF_DEFAULT_PATH;
	char text[16 * 1024] = "";
	FILE *file = fopen(path, "re");
	size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	for (const char *at = text; at < text + len; at += strlen(at) + 1) {
		if (str_starts(at, option))
			settings = at + strlen(option);
		else if (str_eq(at, "-c") || str_eq(at, "--config"))
			settings = at + strlen(at) + 1;
		else if (str_starts(at, "-c"))
			settings = at + 2;
	}
	return *settings == '/' ? mem_strdup(settings)
				: mem_printf("/proc/%s/cwd/%s", pid, settings);
}

static bool has_url(const char *pid, const char *url)
{
	_cleanup_free_ char *path = settings_of(pid);
	struct conf *conf;
	bool has;

	if (conf_load(path, &conf, NULL) < 0)
		return false;
	has = str_eq(conf->store.url, url);
	conf_free(conf);
	return has;
}

bool process_find(const char *name, const struct conf *conf, struct process *process_r)
{
	const char *url = conf->store.url, *path = conf->store.database;
	_cleanup_free_ char *real = realpath(path, NULL);
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	while (processes && !found && (entry = readdir(processes)) != NULL)
		found = process_read(entry->d_name, process_r) && str_eq(process_r->name, name) &&
			(str_empty(url) ? has_open(entry->d_name, real ? real : path)
					: has_url(entry->d_name, url));
	if (processes)
		closedir(processes);
	return found;
}

char *process_program(pid_t pid, bool *replaced_r)
{
	static const char gone[] = " (deleted)";
	_cleanup_free_ char *path = mem_printf("/proc/%ld/exe", (long)pid);
	char target[4096];
	ssize_t len = readlink(path, target, sizeof(target) - 1);
	char *end;

	if (len <= 0)
		return NULL;
	target[len] = '\0';
	end = strstr(target, gone);
	*replaced_r = end != NULL;
	if (end)
		*end = '\0';
	return mem_strdup(target);
}
