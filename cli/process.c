/*
 * process: reads /proc.
 */
#include "cli/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"

static int64_t clock_us(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * SECOND_US + now.tv_nsec / 1000;
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
	/* In ticks since the boot. A look-up reads hundreds of processes, so the time of the boot
	 * is read from no file. */
	process_r->start_us = clock_us(CLOCK_REALTIME) - clock_us(CLOCK_BOOTTIME) +
			      (int64_t)ticks * SECOND_US / sysconf(_SC_CLK_TCK);
	return true;
}

bool process_find_postfix(const char *queue_directory, struct process *process_r)
{
	_cleanup_free_ char *path = mem_printf("%s/pid/master.pid", queue_directory);
	FILE *file = fopen(path, "re");
	char pid[32] = "";

	if (file == NULL)
		return false;
	if (fscanf(file, "%31s", pid) != 1)
		pid[0] = '\0';
	fclose(file);
	return process_read(pid, process_r) && str_eq(process_r->name, "master");
}

bool process_has_open(pid_t pid, const char *path)
{
	_cleanup_free_ char *folder = mem_printf("/proc/%ld/fd", (long)pid);
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
static char *settings_of(pid_t pid)
{
	static const char option[] = "--config=";
	_cleanup_free_ char *path = mem_printf("/proc/%ld/cmdline", (long)pid);
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
				: mem_printf("/proc/%ld/cwd/%s", (long)pid, settings);
}

void process_list_read(struct process_list *list)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	process_list_clear(list);
	while (processes && (entry = readdir(processes)) != NULL) {
		struct process process;

		if (!process_read(entry->d_name, &process) || !str_starts(process.name, "postern-"))
			continue;
		list->items = mem_append(list->items, list->n, sizeof(*list->items));
		list->items[list->n++] = process;
	}
	if (processes)
		closedir(processes);
}

void process_list_clear(struct process_list *list)
{
	free(TAKE_PTR(list->items));
	list->n = 0;
}

bool process_find(const struct process_list *list, const char *name, const struct conf *conf,
	struct process *process_r)
{
	const char *url = conf->store.url, *path = conf->store.database;
	_cleanup_free_ char *real = realpath(path, NULL);

	for (size_t i = 0; i < list->n; i++) {
		pid_t pid = list->items[i].pid;
		_cleanup_free_ char *settings = NULL;
		_cleanup_(conf) struct conf *own = NULL;
		bool is;

		if (!str_eq(list->items[i].name, name))
			continue;
		if (str_empty(url)) {
			is = process_has_open(pid, real ? real : path);
		} else {
			settings = settings_of(pid);
			is = conf_load(settings, &own, NULL) == 0 && str_eq(own->store.url, url);
		}
		if (!is)
			continue;
		*process_r = list->items[i];
		return true;
	}
	return false;
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
