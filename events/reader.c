/*
 * reader: reads a source and stores what its lines say.
 *
 * A batch is read and parsed before the write lock is taken, because programs that send mail
 * wait for that lock. Lines without news of any message do not take it.
 *
 * The stored position is not that of the last line but of the oldest line that the tracker
 * keeps in memory, because reading a line again changes nothing. So each batch adds a mark, the
 * position after it with its line number, which is kept until the tracker needs no line before
 * it.
 */
#include "events/reader.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/store/host/store_log.h"
#include "events/log_parse.h"
#include "events/probe_notes.h"

enum {
	BATCH_LINES = 1000,
	BATCH_BYTES = 1024 * 1024,
	HELD_MAX = 4000, /* recipients per transaction */
	LOOK_AHEAD_LINES = 100,
	MARKS_MAX = 4096,
	CURSOR_US = 5000000,                /* how often the position is stored without news */
	END_US = STORE_LOG_END_S * 1000000, /* how often it is stored that nothing is left to
					     * read */
};

struct mark {
	uint64_t number; /* number of the first line after the position */
	char *position;
};

/* A line of the batch; its text is in bytes. */
struct held_line {
	struct source_line from;
	size_t text, tag; /* their offsets in bytes */
	struct log_line line;
};

struct reader {
	struct reader_setup setup;
	struct source *source;
	struct next_hops *next_hops;
	bool next_hops_failed; /* reading Postfix's settings failed */
	struct tracker *tracker;
	struct probe_notes *probes;
	struct held_line *lines; /* the batch */
	size_t n;
	struct buf bytes;
	int64_t now_us;         /* when the batch was read */
	int64_t order_us;       /* of the previous line, see struct line_position */
	struct log_stamp stamp; /* of the previous line: its stamp, anchor and resulting time */
	int64_t anchor_us;
	int64_t stamp_us;
	bool news;          /* a line of the batch says something about a message */
	uint64_t number;    /* of the next line */
	struct mark *marks; /* oldest first; [0] is the stored position */
	size_t marks_n;
	int64_t cursor_us; /* when the position was stored */
	int64_t end_us;    /* when it was last stored that nothing is left to read */
	bool synced;       /* everything stored is durable */
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
	struct buf begin = BUF_INIT;

	if (!reader->setup.location->once &&
		store_log_cursor(reader->setup.db, reader->setup.location->name, &position, err) <
			0)
		return -1;
	if (source_open(reader->setup.location, position, &reader->source, err) < 0)
		return -1;
	/* The first mark: no line before it is needed. */
	if (position == NULL)
		reader->source->ops->position(reader->source, &begin);
	clear_marks(reader);
	reader->marks[reader->marks_n++] = (struct mark){
		reader->number, position ? TAKE_PTR(position) : buf_take(&begin)};
	return 0;
}

int reader_new(const struct reader_setup *setup, struct reader **reader_r, struct err *err)
{
	struct reader *reader = mem_new(struct reader);

	reader->setup = *setup;
	reader->next_hops = next_hops_new(setup->config_dir, setup->location->instance);
	reader->tracker = tracker_new(setup->db, reader->next_hops);
	tracker_set_suppression(reader->tracker, &setup->suppression);
	reader->probes = probe_notes_new(setup->db);
	reader->lines = mem_alloc(BATCH_LINES, sizeof(*reader->lines));
	reader->synced = true;
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
	free(reader->lines);
	buf_free(&reader->bytes);
	source_free(reader->source);
	tracker_free(reader->tracker);
	probe_notes_free(reader->probes);
	next_hops_free(reader->next_hops);
	free(reader);
}

const struct tracker_counts *reader_counts(const struct reader *reader)
{
	return tracker_counts(reader->tracker);
}

size_t reader_lines(const struct reader *reader)
{
	return reader->n;
}

bool reader_had_gap(struct reader *reader)
{
	bool gap = reader->gap;

	reader->gap = false;
	return gap;
}

static int note_gap(struct reader *reader, const char *why, int64_t time_us, struct err *err)
{
	if (!reader->gap)
		log_warn(reader->setup.log, "lines_may_be_missing", "source",
			reader->setup.location->name, "why", why);
	reader->gap = true;
	return store_gap_add(
		reader->setup.db, reader->setup.location->name, why, time_us, time_us, err);
}

/* The time of the line. For a line that has just come it is our clock, if the stamp is local
 * time without a year in whole seconds. */
static int64_t time_of(
	struct reader *reader, const struct source_line *from, const struct log_line *line)
{
	const struct log_stamp *stamp = &line->stamp, *last = &reader->stamp;

	if (from->time_us)
		return from->time_us;
	if (from->live && !stamp->exact)
		return reader->now_us;
	/* Most stamps equal that of the previous line. */
	if (stamp->exact || stamp->second != last->second || stamp->minute != last->minute ||
		stamp->hour != last->hour || stamp->day != last->day ||
		stamp->month != last->month || from->anchor_us != reader->anchor_us) {
		reader->stamp_us = log_stamp_time(stamp, from->anchor_us);
		reader->stamp = *stamp;
		reader->anchor_us = from->anchor_us;
	}
	return reader->stamp_us < reader->now_us ? reader->stamp_us : reader->now_us;
}

/* How much later than the line its message may have been recorded. A line that has just come is
 * current, whatever its time stamp says. In a file that is read once, the clock may have been hours
 * off. */
static int64_t ahead_of(const struct reader *reader, const struct source_line *from)
{
	return from->live ? 366 * DAY_US : reader->setup.location->once ? DAY_US : 0;
}

static void parse_line(const struct source_line *from, const char *text, size_t len,
	const char *instances, struct log_line *line_r)
{
	if (from->tag)
		log_parse_payload(from->tag, text, len, instances, line_r);
	else
		log_parse(text, len, instances, line_r);
}

/* Reads a batch. Returns 1 if there may be more, 0 if there is none yet, -1 on error. Lines
 * that were read before an error count as a batch. */
static int read_batch(struct reader *reader, struct err *err)
{
	const char *instances = next_hops_instances(reader->next_hops);
	struct source_line from;
	int found = 1;

	reader->n = 0;
	reader->news = false;
	buf_clear(&reader->bytes);
	while (reader->n < BATCH_LINES && reader->bytes.len < BATCH_BYTES &&
		(found = source_next(reader->source, &from, err)) == 1) {
		struct held_line *held = &reader->lines[reader->n++];

		held->from = from;
		held->text = reader->bytes.len;
		if (from.gap == NULL)
			buf_add(&reader->bytes, from.text, from.len);
		held->tag = reader->bytes.len;
		if (from.tag)
			buf_add(&reader->bytes, from.tag, strlen(from.tag) + 1);
	}
	for (size_t i = 0; i < reader->n; i++) {
		struct held_line *held = &reader->lines[i];
		const char *bytes = buf_str(&reader->bytes);

		held->line.kind = LOG_NOTHING;
		held->from.text = bytes + held->text;
		if (held->from.tag)
			held->from.tag = bytes + held->tag;
		if (held->from.gap == NULL)
			parse_line(&held->from, held->from.text, held->from.len, instances,
				&held->line);
		if (held->from.gap || held->line.kind != LOG_NOTHING)
			reader->news = true;
	}
	reader->now_us = clock_now_us(&clock_system);
	return found < 0 && reader->n > 0 ? 1 : found;
}

static int store_line(struct reader *reader, const struct source_line *from,
	const struct log_line *line, const char *text, size_t len, struct err *err)
{
	const char *instances = next_hops_instances(reader->next_hops);
	int64_t now_us = reader->now_us;
	struct line_position position;
	struct log_line next;
	size_t glued;

	if ((line->kind == LOG_BAD && note_gap(reader, "unreadable_line", now_us, err) < 0) ||
		(line->kind == LOG_DROPPED &&
			note_gap(reader, "log_dropped_lines", now_us, err) < 0))
		return -1;
	if (!(tracker_is_by_other(reader->tracker, line->id) && line->kind != LOG_ACTIVE) &&
		probe_notes_line(reader->probes, line, now_us, err) < 0)
		return -1;
	if (line->kind != LOG_NOTHING) {
		int64_t time_us = time_of(reader, from, line);

		/* Stamps have whole seconds, so lines of the same second are ordered by adding
		 * microseconds. After a clock was put back, order continues from the new time. */
		if (time_us <= reader->order_us && time_us > reader->order_us - SECOND_US)
			reader->order_us++;
		else
			reader->order_us = time_us;
		position = (struct line_position){
			reader->number, time_us, reader->order_us, ahead_of(reader, from)};
		if (tracker_line(reader->tracker, line, &position, now_us, err) < 0)
			return -1;
	}
	if (from->tag || !(line->kind == LOG_BAD || line->cut))
		return 0;
	/* The text of a reply may have another line appended to it, but the remote server may
	 * as well have written that text itself. */
	if (line->kind == LOG_DELIVERY)
		return len > LOG_WHOLE_MAX ? 0 : note_gap(reader, "unreadable_line", now_us, err);
	glued = log_parse_glued(text, len, instances);
	if (glued == 0)
		return 0;
	parse_line(from, text + glued, len - glued, instances, &next);
	return store_line(reader, from, &next, text + glued, len - glued, err);
}

/* Adds a mark, and drops all marks before the last one that the tracker still needs. Returns
 * the position to store. */
static const char *advance(struct reader *reader)
{
	uint64_t oldest = tracker_oldest(reader->tracker);
	_cleanup_buf_ struct buf position = BUF_INIT;
	size_t n = 0;

	reader->source->ops->position(reader->source, &position);
	if (reader->marks_n == MARKS_MAX) {
		/* Keeps every second mark. */
		for (size_t i = 2; i < MARKS_MAX; i += 2) {
			free(reader->marks[i - 1].position);
			reader->marks[i / 2] = reader->marks[i];
		}
		free(reader->marks[MARKS_MAX - 1].position);
		reader->marks_n = MARKS_MAX / 2;
	}
	reader->marks[reader->marks_n++] = (struct mark){reader->number, buf_take(&position)};
	while (n + 1 < reader->marks_n && reader->marks[n + 1].number <= oldest)
		n++;
	for (size_t i = 0; i < n; i++)
		free(reader->marks[i].position);
	memmove(reader->marks, reader->marks + n, (reader->marks_n - n) * sizeof(*reader->marks));
	reader->marks_n -= n;
	/* If the tracker needs a line before the first mark, the stored position stays. */
	return reader->marks[0].number <= oldest ? reader->marks[0].position : NULL;
}

/* Looks up what the next lines of the batch are about. */
static int look_ahead(struct reader *reader, size_t i, struct err *err)
{
	int64_t ahead_us = ahead_of(reader, &reader->lines[i].from);

	for (size_t end = i + LOOK_AHEAD_LINES; i < end && i < reader->n; i++) {
		const struct held_line *held = &reader->lines[i];

		if (held->from.gap == NULL && held->line.kind != LOG_NOTHING &&
			ahead_of(reader, &held->from) == ahead_us)
			tracker_expect(reader->tracker, &held->line,
				time_of(reader, &held->from, &held->line));
	}
	return tracker_look_ahead(reader->tracker, ahead_us, HELD_MAX / 2, err);
}

/* Stores the batch inside a transaction, and starts a new one when it gets long. */
static int store_lines(struct reader *reader, struct err *err)
{
	struct db *db = reader->setup.db;

	for (size_t i = 0; i < reader->n; i++) {
		const struct held_line *held = &reader->lines[i];

		if (i % LOOK_AHEAD_LINES == 0 && look_ahead(reader, i, err) < 0)
			return -1;
		if (held->from.gap) {
			if (note_gap(reader, held->from.gap, reader->now_us, err) < 0)
				return -1;
			continue;
		}
		if (store_line(reader, &held->from, &held->line, held->from.text, held->from.len,
			    err) < 0)
			return -1;
		reader->number++;
		if (tracker_held(reader->tracker) <= HELD_MAX)
			continue;
		if (tracker_settle(reader->tracker, err) < 0 || db_commit_lazy(db, err) < 0)
			return -1;
		tracker_kept(reader->tracker);
		if (db_begin(db, err) < 0)
			return -1;
	}
	return tracker_settle(reader->tracker, err) < 0
		       ? -1
		       : probe_notes_settle(reader->probes, reader->now_us, err);
}

/* True if at_us is that long ago, or in the future because the clock was put back. */
static bool is_past(int64_t at_us, int64_t after_us, const struct reader *reader)
{
	return reader->now_us - at_us >= after_us || reader->now_us < at_us;
}

/* Stores the batch. After a power failure lost lines are read again, because the position is
 * lost with them. So only the last batch is committed durably, to limit how long users see data
 * that could be lost. */
static int store_batch(struct reader *reader, bool more, struct err *err)
{
	struct db *db = reader->setup.db;
	bool keeps = !reader->setup.location->once;
	bool moved = keeps && reader->n > 0;
	bool due = (moved && is_past(reader->cursor_us, CURSOR_US, reader)) ||
		   (keeps && !more && is_past(reader->end_us, END_US, reader));
	bool lazy = more || (!reader->news && reader->synced);
	const char *position = NULL;

	if (!reader->news && (more || reader->synced) && !due) {
		reader->number += reader->n;
		if (moved)
			advance(reader);
		return 0;
	}
	if (db_begin(db, err) < 0 || store_lines(reader, err) < 0)
		return -1;
	if (keeps)
		position = moved ? advance(reader) : reader->marks[0].position;
	if (position) {
		if (store_log_cursor_set(db, reader->setup.location->name, position, reader->now_us,
			    !more, err) < 0)
			return -1;
		reader->cursor_us = reader->now_us;
		if (!more)
			reader->end_us = reader->now_us;
	}
	if (!lazy || more)
		reader->synced = !more;
	if ((lazy ? db_commit_lazy(db, err) : db_commit(db, err)) < 0)
		return -1;
	tracker_kept(reader->tracker);
	return 0;
}

int reader_round(struct reader *reader, struct err *err)
{
	struct err why = ERR_INIT;
	bool failed = next_hops_refresh(reader->next_hops, &why) < 0;
	int more = -1;

	/* If Postfix cannot be asked, the previous settings stay in use. */
	if (failed && !reader->next_hops_failed && !reader->setup.location->once)
		log_warn(reader->setup.log, "settings_not_read", "error", why.text);
	reader->next_hops_failed = failed;
	if (reader->source || open_source(reader, err) == 0)
		more = read_batch(reader, err);
	if (more >= 0 && store_batch(reader, more, err) == 0)
		return more;
	/* The tracker may hold state that was rolled back. */
	db_rollback(reader->setup.db);
	tracker_reset(reader->tracker);
	clear_marks(reader);
	source_free(TAKE_PTR(reader->source));
	return -1;
}
