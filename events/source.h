/*
 * source: where the lines of Postfix's log come from. The seam between the
 * reader and the files and the journal.
 */
#ifndef POSTERN_EVENTS_SOURCE_H
#define POSTERN_EVENTS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"

/* Lives until the next call. */
struct source_line {
	const char *text; /* no NUL behind it */
	size_t len;
	const char *tag;   /* `postfix/smtp`, where the text is the payload alone;
			    * NULL: it is a whole line */
	int64_t time_us;   /* when it was written, if the source knows, or 0 */
	int64_t anchor_us; /* it was written at or before this */
	bool live;         /* it was written since the last look */
	const char *gap;   /* instead of a line: why some may be missing here, as
			    * one word */
};

struct source {
	const struct source_ops *ops;
};

struct source_ops {
	/* The next line: 1, 0 there is none yet, -1: it cannot be read now, or,
	 * with ERR_CONFIG, as long as nobody changes something. */
	int (*next)(struct source *source, struct source_line *line_r, struct err *err);
	/* Where to go on behind the last line; appended. */
	void (*position)(struct source *source, struct buf *position);
	void (*free)(struct source *source);
};

static inline int source_next(struct source *source, struct source_line *line_r, struct err *err)
{
	return source->ops->next(source, line_r, err);
}

static inline void source_free(struct source *source)
{
	if (source)
		source->ops->free(source);
}
DEFINE_CLEANUP(source, source_free)

struct conf;

/* Where the log of this host's Postfix is read. */
struct source_location {
	char *file; /* NULL: the journal */
	bool once;  /* to its end, and no further */
	const char *why;
	char *name;     /* under which the position is stored */
	char *journal;  /* its folder; "": the system's own */
	char *instance; /* the first part of Postfix's tags */
	char *owner;    /* the user as whom Postfix runs */
};
/* As the settings have it, or where Postfix logs to; once: NULL, or a file that
 * is read instead. ERR_CONFIG, with what to do about it: there is none, or this
 * user may not read it. A file need not be there yet. */
int source_choose(const struct conf *conf, const char *once, struct source_location *place_r,
	struct err *err);
void source_location_clear(struct source_location *location);
/* Whether the journal, if that is the location, has something of Postfix: 0, -1. */
int source_check(const struct source_location *location, struct err *err);
/* position: where to go on; NULL for the beginning. */
int source_open(const struct source_location *location, const char *position,
	struct source **source_r, struct err *err);

/* Follows a log file through its rotations: renamed, packed with gzip, or copied
 * and truncated; the rotated files lie in its folder, and their names begin
 * with its own. position: where to go on, NULL for the beginning of the file. */
int source_file_open(
	const char *path, const char *position, struct source **source_r, struct err *err);

/* Reads one file, packed or not, to its end, and no further. */
int source_file_once(const char *path, struct source **source_r, struct err *err);

/* The journal of systemd: what processes of these users have said under the
 * tags of Postfix. folder: "" for the system's own. position: NULL for the
 * beginning of the present boot. */
struct journal_match {
	const char *folder;
	int64_t uid;           /* that Postfix runs as */
	const char *instances; /* as in log_parse() */
};
int source_journal_open(const struct journal_match *match, const char *position,
	struct source **source_r, struct err *err);

#endif
