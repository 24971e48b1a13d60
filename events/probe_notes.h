/*
 * probe_notes: stores what Postfix's log says about the probes of postern-httpd, and about
 * Postfix itself. The milter sees a message, but not what happens to it afterwards, and not
 * that the queue manager is down.
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

/* Handles a line, inside a transaction. Returns 0, or -1 on error. */
int probe_notes_line(
	struct probe_notes *notes, const struct log_line *line, int64_t now_us, struct err *err);
/* Stores what was noted about Postfix itself, in the same transaction. */
int probe_notes_settle(struct probe_notes *notes, int64_t now_us, struct err *err);

#endif
