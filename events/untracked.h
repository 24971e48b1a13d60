/*
 * untracked: queue messages that may turn out to carry an email, with their log lines.
 *
 * They are kept for ten minutes of log time and up to a limit in bytes. Beyond that the oldest
 * are dropped.
 */
#ifndef POSTERN_EVENTS_UNTRACKED_H
#define POSTERN_EVENTS_UNTRACKED_H

#include "core/base/mem.h"
#include "events/log_parse.h"

/* The position of a line. */
struct line_position {
	uint64_t number;  /* number of lines before it in this run */
	int64_t time_us;  /* when it was written */
	int64_t order_us; /* time_us, made greater than that of the previous line */
	int64_t ahead_us; /* by our clock, its message may have been recorded this much later */
};

/* A line with its own copy of the text. */
struct kept_line {
	struct log_line line;
	struct line_position position;
	char *text;
};

struct untracked {
	char *queue_id;
	char *message_id;    /* NULL until cleanup logs it */
	bool is_past_milter; /* the milter would have recorded it by now */
	bool is_foreign;     /* its Message-ID is that of no email; its lines are not kept */
	bool is_ours;        /* its Message-ID is that of an email */
	bool is_local;       /* it came from a program of this host or a content filter */
	bool by_other;       /* a user other than root and our own ran sendmail(1) */
	int recipients;      /* number of recipients; 0: unknown */
	int64_t first_us;    /* order_us and number of its first line */
	uint64_t number;
	struct kept_line *lines;
	size_t n;
	/* Managed by the list. */
	size_t bytes;
	struct untracked *older, *newer;
};
void untracked_free(struct untracked *untracked);
DEFINE_CLEANUP(untracked, untracked_free)
/* Marks it as unrelated to emails and drops its lines. */
void untracked_set_foreign(struct untracked *untracked);

struct untracked_list;

struct untracked_list *untracked_list_new(void);
void untracked_list_free(struct untracked_list *list);
void untracked_list_clear(struct untracked_list *list);

/* Finds by queue id, or NULL. Owned by the list and valid until the next is added. */
struct untracked *untracked_find(const struct untracked_list *list, struct span queue_id);
/* Finds it, and adds it if it is missing. */
struct untracked *untracked_get(
	struct untracked_list *list, struct span queue_id, const struct line_position *position);
/* Removes it from the list; the caller frees it. NULL if there is none. */
struct untracked *untracked_remove(struct untracked_list *list, struct span queue_id);
/* Stores a copy of the line. */
void untracked_add_line(struct untracked_list *list, struct untracked *untracked,
	const struct log_line *line, const struct line_position *position);
void untracked_set_message_id(
	struct untracked_list *list, struct untracked *untracked, char *message_id);
/* Notes that it has the Message-ID of an email. */
void untracked_set_ours(struct untracked_list *list, struct untracked *untracked);

/* The number of the oldest line of all; UINT64_MAX if there is none. */
uint64_t untracked_oldest(const struct untracked_list *list);
/* Iterates over those with the Message-ID of an email, newest first. after: the previous
 * result, NULL to start. */
const struct untracked *untracked_next_ours(
	const struct untracked_list *list, const struct untracked *after);

#endif
