/*
 * source: where the lines of Postfix's log come from: a file or the journal. The reader does
 * not know which.
 */
#ifndef POSTERN_EVENTS_SOURCE_H
#define POSTERN_EVENTS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"

/* Valid until the next call. */
struct source_line {
	const char *text; /* not NUL-terminated */
	size_t len;
	const char *tag;   /* `postfix/smtp`, if text is the payload alone; NULL: text is a
			    * whole line */
	int64_t time_us;   /* when it was written; 0 if the source does not know */
	int64_t anchor_us; /* it was written at or before this time */
	bool live;         /* it came after everything before it had been read once */
	const char *gap;   /* not a line but a gap: one word that says why lines may be
			    * missing here */
};

struct source {
	const struct source_ops *ops;
};

struct source_ops {
	/* The next line. Returns 1 if there is one, 0 if none yet, -1 on error. ERR_CONFIG: an
	 * error that lasts until an admin changes something. */
	int (*next)(struct source *source, struct source_line *line_r, struct err *err);
	/* Appends the position after the last line. */
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

/* Where this host's Postfix log is read from. */
struct source_location {
	char *file; /* NULL: the journal */
	bool once;  /* read to the end, then stop */
	const char *why;
	char *name;     /* the key of the stored position */
	char *journal;  /* directory of the journal; "": the system journal */
	char *instance; /* the first part of Postfix's syslog tags */
	char *owner;    /* the user that Postfix runs as */
};
/* Chooses the location from the settings, or where Postfix logs to. once: a file to read
 * instead, or NULL. ERR_CONFIG, with advice, if there is no log or this user may not read it. A
 * file need not exist yet. */
int source_choose(const struct conf *conf, const char *once, struct source_location *place_r,
	struct err *err);
void source_location_clear(struct source_location *location);
/* Checks that the disk of the file has room, or that the journal has lines of Postfix. Returns 0,
 * or -1 on error. */
int source_check(const struct source_location *location, struct err *err);
/* position: where to continue; NULL for the beginning. */
int source_open(const struct source_location *location, const char *position,
	struct source **source_r, struct err *err);

/* Follows a log file through rotation by renaming, gzip, or copy and truncate. Rotated files
 * are expected in the same directory, with names that begin with the file's name. position:
 * where to continue, NULL for the beginning of the file. */
int source_file_open(
	const char *path, const char *position, struct source **source_r, struct err *err);

/* Reads one file to its end, gzipped or not. */
int source_file_once(const char *path, struct source **source_r, struct err *err);

/* The systemd journal: messages of these users with Postfix's tags. folder: "" for the system
 * journal. position: NULL or "" for the beginning of the journal. */
struct journal_match {
	const char *folder;
	int64_t uid;           /* the user that Postfix runs as */
	const char *instances; /* as in log_parse() */
};
int source_journal_open(const struct journal_match *match, const char *position,
	struct source **source_r, struct err *err);

#endif
