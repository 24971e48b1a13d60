/*
 * tracker_private: shared by the files of the tracker.
 */
#ifndef POSTERN_EVENTS_TRACKER_PRIVATE_H
#define POSTERN_EVENTS_TRACKER_PRIVATE_H

#include "core/store/delivery/delivery_writer.h"
#include "events/tracker.h"
#include "events/untracked.h"

/* A line, and what is needed to process it. */
struct line_context {
	struct db *db;
	const struct next_hops *next_hops;
	struct delivery_writer *writer;
	struct untracked_list *untracked;
	struct tracker_counts *counts;
	const struct log_line *line;
	struct line_position position;
	int64_t now_us;
	struct err *err;
};

/* Copies the span into a string without invalid bytes, which the caller frees. NULL if the span
 * is absent. */
char *line_text(struct span span);

/* Processes a line of a message whose recipient is still its ticket, because the milter was not
 * asked (ticket_line.c). Returns 1 if the line says something about it, 0 if not, -1 on error. */
int ticket_line(const struct line_context *context);

#endif
