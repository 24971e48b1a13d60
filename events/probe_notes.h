/*
 * probe_notes: what Postfix's log tells of the probes of postern-httpd, and of
 * Postfix itself: the milter sees a message, but neither what is done with it
 * behind it, nor that the queue manager does not run.
 */
#ifndef POSTERN_EVENTS_PROBE_NOTES_H
#define POSTERN_EVENTS_PROBE_NOTES_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/db/db.h"
#include "events/log_parse.h"

struct probe_notes;

struct probe_notes *probe_notes_new(struct db *db);
void probe_notes_free(struct probe_notes *notes);

/* A line, in a transaction: 0 or -1. */
int probe_notes_line(
	struct probe_notes *notes, const struct log_line *line, int64_t now_us, struct err *err);
/* Stores what there is of Postfix itself, in the same. */
int probe_notes_settle(struct probe_notes *notes, int64_t now_us, struct err *err);

#endif
