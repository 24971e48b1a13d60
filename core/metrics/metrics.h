/*
 * metrics: what each program counts, and the file by which postern-httpd learns
 * what postern-milter, postern-events and postern-webhook have counted.
 *
 * Each of these has a file beside the database, of a few hundred bytes. It
 * writes it anew every METRICS_WRITE_MS, never reads it, and holds a lock on it
 * for as long as it lives, so that whoever reads knows whether the numbers
 * still move. A file that is missing, damaged or of another version of Postern
 * costs nothing but the numbers: the next write mends it.
 *
 * Numbers begin at 0 with each start of a program, as Prometheus expects it.
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
#include "core/store/delivery_status.h"

enum { METRICS_WRITE_MS = 2 * 1000 };

enum metrics_program { METRICS_MILTER, METRICS_EVENTS, METRICS_WEBHOOK };
/* As its process is called. */
const char *metrics_program_name(enum metrics_program program);

/* A process as the kernel sees it; 0: it does not say. */
struct metrics_process {
	int64_t start_us;
	int64_t cpu_us;
	int64_t resident_bytes;
	int64_t descriptors;
	int64_t descriptors_max;
};
void metrics_process_look(int64_t start_us, struct metrics_process *process_r);

/* What a program tells: 64-bit numbers alone, the process first. */
struct metrics_milter {
	struct metrics_process process;
	struct db_counts store;
	int64_t verdicts[VERDICT_ACTIONS];
	int64_t reasons[REASONS]; /* of messages that were stopped */
};

struct metrics_events {
	struct metrics_process process;
	struct db_counts store;
	int64_t events[EVENT_KINDS]; /* that were news, from the log or the queue */
	int64_t lines;
	int64_t unreadable;
	int64_t left;           /* messages of which the milter was not asked */
	int64_t unlisted;       /* addresses for which a list of suppressed ones had no room */
	int64_t read_to_end_us; /* when nothing was left to read; 0: never */
	int64_t failing;        /* 1: the log cannot be read, or nothing be stored */
};

struct metrics_webhook {
	struct metrics_process process;
	struct db_counts store;
	int64_t succeeded; /* attempts */
	int64_t failed;
	int64_t disabled;  /* endpoints, for having failed for too long */
	int64_t under_way; /* attempts */
	int64_t waiting;   /* deliveries that are not sent yet */
	int64_t failing;   /* 1: the store cannot be used */
};

/* Beside the database; the caller frees it. */
char *metrics_path(const char *database, enum metrics_program program);

struct metrics_file;

/* For the program itself, at its start; opens nothing yet. */
struct metrics_file *metrics_file_new(const char *database, enum metrics_program program);
void metrics_file_free(struct metrics_file *file);
DEFINE_CLEANUP(metrics_file, metrics_file_free)

/* Writes values, of which the process is filled in here. A file that went, or
 * could not be made before, is made. 0, or -1 and why it cannot be read now. */
int metrics_file_write(struct metrics_file *file, void *values, struct err *err);

enum metrics_found {
	METRICS_LIVE,
	METRICS_ENDED,   /* the last numbers of a program that has ended */
	METRICS_MISSING, /* there is no file, or nobody may read it */
	METRICS_FOREIGN, /* damaged, or of another version of Postern */
};

/* For everybody else: of a file that is live or ended its values. Reads no more
 * than they take, however large the file is. */
enum metrics_found metrics_read(const char *path, enum metrics_program program, void *values_r);
/* Whether postern-webhook runs beside the database, and can use it. */
bool metrics_webhook_runs(const char *database);

#endif
