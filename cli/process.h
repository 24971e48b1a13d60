/*
 * process: the processes of this host, from proc(5).
 */
#ifndef POSTERN_CLI_PROCESS_H
#define POSTERN_CLI_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t pid;
	char name[32];
	pid_t parent;
	int64_t start_us;
};

/* True if a process with this id, given as text, decimal or not, exists and has not ended. */
bool process_read(const char *pid, struct process *process_r);

/* Finds the process of that name that has a file open whose path begins with `path`, such as a
 * daemon with the database; NULL: any process of that name, if the database is no file. False if
 * there is none, or this user may not see it. */
bool process_find(const char *name, const char *path, struct process *process_r);

/* Returns the path of the program that it runs, and if that was replaced or removed since; NULL if
 * this user may not see it. The caller frees it. */
char *process_program(pid_t pid, bool *replaced_r);

#endif
