/*
 * process: the processes of this host, from proc(5).
 */
#ifndef POSTERN_CLI_PROCESS_H
#define POSTERN_CLI_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct conf;

struct process {
	pid_t pid;
	char name[32];
	pid_t parent;
	int64_t start_us;
};

/* True if a process with this id, given as text, decimal or not, exists and has not ended. */
bool process_read(const char *pid, struct process *process_r);

/* Finds master(8) of the Postfix with this queue directory. False if it does not run, or this user
 * may not read its pid file. */
bool process_find_postfix(const char *queue_directory, struct process *process_r);

/* The daemons of Postern on this host. A host may have thousands of processes, so they are read
 * once for several look-ups. */
struct process_list {
	struct process *items;
	size_t n;
};

/* Replaces the list. */
void process_list_read(struct process_list *list);

void process_list_clear(struct process_list *list);

/* Finds the daemon of that name that uses the store of these settings: it has the database file
 * open, or was started with settings that have the same store.url. False if there is none, or this
 * user may not see it. */
bool process_find(const struct process_list *list, const char *name, const struct conf *conf,
	struct process *process_r);

/* True if the process has a file open whose path begins with this one; proc(5) adds " (deleted)" to
 * the path of a removed file. */
bool process_has_open(pid_t pid, const char *path);

/* Returns the path of the program that it runs, and if that was replaced or removed since; NULL if
 * this user may not see it. The caller frees it. */
char *process_program(pid_t pid, bool *replaced_r);

#endif
