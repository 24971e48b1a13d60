/*
 * reader: reads a source, and stores what its lines say.
 *
 * The position that is stored is not that of the last line but of the oldest
 * one that the tracker keeps in memory: what is read again changes nothing. So
 * after each batch the position behind it is noted, with the number of lines so
 * far, until the tracker needs no line before it.
 */
#include "events/reader.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/store/store_event.h"
#include "events/log_parse.h"

enum {
	BATCH_LINES = 2000,
	MARKS_MAX = 4096,
};

struct mark {
	uint64_t number; /* of the first line behind the position */
	char *position;
};

struct reader {
	struct reader_setup setup;
	struct source *source;
	struct tracker *tracker;
	uint64_t number;    /* of the next line */
	struct mark *marks; /* the oldest first; [0] is what is stored */
	size_t marks_n;
	bool gap;
};

static void clear_marks(struct reader *reader)
{
	for (size_t i = 0; i < reader->marks_n; i++)
		free(reader->marks[i].position);
	reader->marks_n = 0;
}

static int open_source(struct reader *reader, struct err *err)
{
	_cleanup_free_ char *position = NULL;

	if (!reader->setup.once && store_log_cursor(reader->setup.db,
					   reader->setup.name, &position, err) < 0)
		return -1;
	return reader->setup.open(
		reader->setup.arg, position, &reader->source, err);
}

int reader_new(const struct reader_setup *setup, struct reader **reader_r,
	struct err *err)
{
	struct reader *reader = mem_new(struct reader);

	reader->setup = *setup;
	reader->tracker = tracker_new();
	reader->marks = mem_alloc(MARKS_MAX, sizeof(*reader->marks));
	if (open_source(reader, err) < 0) {
		reader_free(reader);
		return -1;
	}
	*reader_r = reader;
	return 0;
}

void reader_free(struct reader *reader)
{
	if (reader == NULL)
		return;
	clear_marks(reader);
	free(reader->marks);
	source_free(reader->source);
	tracker_free(reader->tracker);
	free(reader);
}

const struct tracker_counts *reader_counts(const struct reader *reader)
{
	return tracker_counts(reader->tracker);
}

bool reader_had_gap(struct reader *reader)
{
	bool gap = reader->gap;

	reader->gap = false;
	return gap;
}

static int note_gap(struct reader *reader, const char *why, int64_t time_us,
	struct err *err)
{
	if (!reader->gap)
		log_warn(reader->setup.log, "lines_may_be_missing", "source",
			reader->setup.name, "why", why);
	reader->gap = true;
	return store_gap_add(reader->setup.db, reader->setup.name, why, time_us,
		time_us, err);
}

/* When the line was written: by our clock for one that has just come, whose own
 * may be local time, without a year, in whole seconds. */
static int64_t time_of(const struct source_line *from,
	const struct log_line *line, int64_t now_us)
{
	int64_t time_us;

	if (from->time_us)
		return from->time_us;
	if (from->live && !line->stamp.exact)
		return now_us;
	time_us = log_stamp_time(&line->stamp, from->anchor_us);
	return time_us < now_us ? time_us : now_us;
}

static int store_line(struct reader *reader, const struct source_line *from,
	const char *text, size_t len, int64_t now_us, struct err *err)
{
	const char *instances = reader->setup.instances;
	struct log_line line;
	size_t glued;

	if (from->tag)
		log_parse_payload(from->tag, text, len, instances, &line);
	else
		log_parse(text, len, instances, &line);
	if ((line.kind == LOG_BAD &&
		    note_gap(reader, "unreadable_line", now_us, err) < 0) ||
		(line.kind == LOG_DROPPED &&
			note_gap(reader, "log_dropped_lines", now_us, err) < 0))
		return -1;
	if (line.kind != LOG_NOTHING &&
		tracker_line(reader->tracker, reader->setup.db, &line,
			reader->number, time_of(from, &line, now_us), now_us,
			err) < 0)
		return -1;
	if (from->tag || !(line.kind == LOG_BAD || line.cut))
		return 0;
	glued = log_parse_glued(text, len, instances);
	return glued ? store_line(reader, from, text + glued, len - glued,
			       now_us, err)
		     : 0;
}

/* Drops the marks before the last one that is not behind what is needed. */
static const char *advance(struct reader *reader)
{
	uint64_t oldest = tracker_oldest(reader->tracker);
	_cleanup_buf_ struct buf position = BUF_INIT;
	size_t n = 0;

	reader->source->ops->position(reader->source, &position);
	if (reader->marks_n == MARKS_MAX) {
		/* Every second one is enough. */
		for (size_t i = 2; i < MARKS_MAX; i += 2) {
			free(reader->marks[i - 1].position);
			reader->marks[i / 2] = reader->marks[i];
		}
		free(reader->marks[MARKS_MAX - 1].position);
		reader->marks_n = MARKS_MAX / 2;
	}
	reader->marks[reader->marks_n++] = (struct mark){
		reader->number, buf_take(&position)};
	while (n + 1 < reader->marks_n && reader->marks[n + 1].number <= oldest)
		n++;
	for (size_t i = 0; i < n; i++)
		free(reader->marks[i].position);
	memmove(reader->marks, reader->marks + n,
		(reader->marks_n - n) * sizeof(*reader->marks));
	reader->marks_n -= n;
	/* A line before the first mark: what is stored has to stay. */
	return reader->marks[0].number <= oldest ? reader->marks[0].position
						 : NULL;
}

/* The lines that are there: how many, or -1. */
static int store_batch(struct reader *reader, struct err *err)
{
	int64_t now_us = clock_now_us(&clock_system);
	struct source_line line;
	const char *position;
	int n = 0, found;

	while ((found = source_next(reader->source, &line, err)) == 1) {
		if (n++ == 0 && db_begin(reader->setup.db, err) < 0)
			return -1;
		if (line.gap) {
			if (note_gap(reader, line.gap, now_us, err) < 0)
				return -1;
			continue;
		}
		if (line.live)
			now_us = clock_now_us(&clock_system);
		if (store_line(reader, &line, line.text, line.len, now_us, err) <
			0)
			return -1;
		reader->number++;
		if (n == BATCH_LINES)
			break;
	}
	/* What was read before the source failed is stored all the same. */
	if (n == 0)
		return found < 0 ? -1 : 0;
	if (tracker_settle(reader->tracker, reader->setup.db, err) < 0)
		return -1;
	if (!reader->setup.once) {
		position = advance(reader);
		if (position &&
			store_log_cursor_set(reader->setup.db,
				reader->setup.name, position, now_us, err) < 0)
			return -1;
	}
	return db_commit(reader->setup.db, err) < 0 ? -1 : n;
}

int reader_round(struct reader *reader, struct err *err)
{
	int n = -1;

	if (reader->source || open_source(reader, err) == 0)
		n = store_batch(reader, err);
	if (n >= 0)
		return n;
	/* All that memory has may be of what was undone. */
	db_rollback(reader->setup.db);
	tracker_reset(reader->tracker);
	clear_marks(reader);
	source_free(TAKE_PTR(reader->source));
	return -1;
}
