/*
 * untracked: queue messages of which it is not known yet whether they carry an
 * email, with the lines that are about them.
 *
 * They are kept for ten minutes of the log's time, and up to a bound in bytes;
 * beyond it the oldest give way.
 */
#ifndef POSTERN_EVENTS_UNTRACKED_H
#define POSTERN_EVENTS_UNTRACKED_H

#include "core/base/mem.h"
#include "events/log_parse.h"

/* Where a line stands. */
struct line_position {
	uint64_t number;  /* how many lines came before it in this run */
	int64_t time_us;  /* when it was written */
	int64_t order_us; /* the same, but later than that of the line before */
	int64_t ahead_us; /* so much later its message may have been recorded,
			   * by our clock */
};

/* A line, with its own copy of what it points to. */
struct kept_line {
	struct log_line line;
	struct line_position position;
	char *text;
};

struct untracked {
	char *queue_id;
	char *message_id; /* NULL until cleanup tells */
	bool is_recorded; /* the milter would have recorded it by now */
	bool is_foreign;  /* its Message-ID is that of no email: no line is kept */
	bool is_ours;     /* it has the Message-ID of an email */
	bool is_local;    /* a program of this host or a content filter sent it */
	int recipients;   /* as many it has; 0: not told yet */
	int64_t first_us; /* order_us and number of its first line */
	uint64_t number;
	struct kept_line *lines;
	size_t n;
	/* The list's. */
	size_t bytes;
	struct untracked *in_bucket;
	struct untracked *older, *newer;
};
void untracked_free(struct untracked *untracked);
DEFINE_CLEANUP(untracked, untracked_free)
/* It is no email's: what was kept of it is dropped. */
void untracked_set_foreign(struct untracked *untracked);

struct untracked_list;

struct untracked_list *untracked_list_new(void);
void untracked_list_free(struct untracked_list *list);
void untracked_list_clear(struct untracked_list *list);

/* The one with the queue id, or NULL. The list's, until the next is added. */
struct untracked *untracked_find(const struct untracked_list *list, struct span queue_id);
/* The same; it is added where there is none. */
struct untracked *untracked_get(
	struct untracked_list *list, struct span queue_id, const struct line_position *position);
/* Takes it off the list: the caller frees it. NULL: there is none. */
struct untracked *untracked_remove(struct untracked_list *list, struct span queue_id);
/* Keeps a copy of the line. */
void untracked_add_line(struct untracked_list *list, struct untracked *untracked,
	const struct log_line *line, const struct line_position *position);
void untracked_set_message_id(
	struct untracked_list *list, struct untracked *untracked, char *message_id);
/* It has the Message-ID of an email. */
void untracked_set_ours(struct untracked_list *list, struct untracked *untracked);

/* The number of the first line of any; UINT64_MAX: there is none. */
uint64_t untracked_oldest(const struct untracked_list *list);
/* Those with the Message-ID of an email, the newest first: the one behind that,
 * NULL: the first. */
const struct untracked *untracked_next_ours(
	const struct untracked_list *list, const struct untracked *after);

#endif
