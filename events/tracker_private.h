/*
 * tracker_private: what the files of the tracker share.
 */
#ifndef POSTERN_EVENTS_TRACKER_PRIVATE_H
#define POSTERN_EVENTS_TRACKER_PRIVATE_H

#include "core/store/delivery_writer.h"
#include "events/tracker.h"
#include "events/untracked.h"

/* A line, and what it is read with. */
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

/* The span as a text that can be stored, which the caller frees; NULL for none. */
char *line_text(struct span span);

/* A message that stands under its ticket, because the milter was not asked
 * (ticket_line.c). Stores what the line says of it: 1; 0 where that is nothing,
 * -1. */
int ticket_line(const struct line_context *context);

#endif
