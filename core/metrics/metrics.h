/*
 * metrics: the counters of each program, and the files through which postern-httpd reads those
 * of postern-milter, postern-events and postern-webhook.
 *
 * Each of these programs has a file of a few hundred bytes beside the database. It rewrites it
 * every METRICS_WRITE_MS, never reads it, and holds a lock on it while it runs, so that readers
 * know if the numbers are current. If a file is missing, damaged or of another version, only
 * the numbers are lost; the next write repairs it.
 *
 * Counters start at 0 with each start of a program, as Prometheus expects.
 */
#ifndef POSTERN_METRICS_METRICS_H
#define POSTERN_METRICS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/db/db.h"
#include "core/policy/verdict.h"
#include "core/store/event/delivery_status.h"

enum { METRICS_WRITE_MS = 2 * 1000 };

enum metrics_program { METRICS_MILTER, METRICS_EVENTS, METRICS_WEBHOOK };
/* The name of the program's process. */
const char *metrics_program_name(enum metrics_program program);

/* A process as the kernel sees it; 0: unknown. */
struct metrics_process {
	int64_t start_us;
	int64_t cpu_us;
	int64_t resident_bytes;
	int64_t descriptors;
	int64_t descriptors_max;
};
void metrics_process_look(int64_t start_us, struct metrics_process *process_r);

/* The values of a program: only 64-bit numbers, the process first. */
struct metrics_milter {
	struct metrics_process process;
	struct db_counts store;
	int64_t verdicts[VERDICT_ACTIONS];
	int64_t reasons[REASONS]; /* of messages that were stopped */
};

struct metrics_events {
	struct metrics_process process;
	struct db_counts store;
	int64_t events[EVENT_KINDS]; /* new events, from the log or the queue */
	int64_t lines;
	int64_t unreadable;
	int64_t left;           /* messages that left without the milter being asked */
	int64_t unlisted;       /* addresses that were not added to a full suppression list */
	int64_t read_to_end_us; /* when the log was last read to its end; 0: never */
	int64_t failing;        /* 1: the log cannot be read, or results cannot be stored */
};

struct metrics_webhook {
	struct metrics_process process;
	struct db_counts store;
	int64_t succeeded; /* attempts */
	int64_t failed;
	int64_t disabled;  /* endpoints, after failing for too long */
	int64_t under_way; /* attempts */
	int64_t waiting;   /* deliveries not sent yet */
	int64_t failing;   /* 1: the store cannot be used */
};

/* Returns the path of the file, beside the database. The caller frees it. */
char *metrics_path(const char *database, enum metrics_program program);

struct log;
struct metrics_file;

/* For the program itself, at its start. Does not open the file yet. */
struct metrics_file *metrics_file_new(const char *database, enum metrics_program program);
void metrics_file_free(struct metrics_file *file);
DEFINE_CLEANUP(metrics_file, metrics_file_free)

/* Writes the values after filling in the process. Creates the file if it is missing. Returns 0,
 * or -1 with the reason why readers do not get the values. */
int metrics_file_write(struct metrics_file *file, void *values, struct err *err);
/* Writes the file of a daemon: logs a failure once until a later write succeeds. */
void metrics_file_update(struct metrics_file *file, void *values, struct log *log);

enum metrics_found {
	METRICS_LIVE,
	METRICS_ENDED,      /* the last numbers of a program that no longer runs */
	METRICS_MISSING,    /* there is no file */
	METRICS_FOREIGN,    /* damaged, or of another version of Postern */
	METRICS_UNREADABLE, /* there is a file that cannot be opened: the program may run */
};

/* For all other programs: reads the values of a file that is live or ended. Reads no more than
 * their size, however large the file is. */
enum metrics_found metrics_read(const char *path, enum metrics_program program, void *values_r);
/* True if postern-webhook runs with this database and can use it. */
bool metrics_webhook_runs(const char *database);

#endif
