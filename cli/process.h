/*
 * process: the processes of this host, as proc(5) tells of them.
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

/* Whether one with this id, a text in decimal or not, is there and has not ended. */
bool process_read(const char *pid, struct process *process_r);

/* The process of that name that has a file open whose path begins with this, as a
 * daemon has the database; any of that name for NULL, where the database is no
 * file. False when there is none, or this user may not see. */
bool process_find(const char *name, const char *path, struct process *process_r);

/* The program that it runs, and whether that was replaced or removed since; a new
 * string, NULL when this user may not see. */
char *process_program(pid_t pid, bool *replaced_r);

#endif
