/*
 * clock: the time, replaceable in tests, and its text forms.
 *
 * All times are microseconds since 1970-01-01 UTC in an int64_t (`_us`).
 */
#ifndef POSTERN_BASE_CLOCK_H
#define POSTERN_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define SECOND_US INT64_C(1000000)
#define HOUR_US   (3600 * SECOND_US)
#define DAY_US    (24 * HOUR_US)

struct buf;

/* A source of time. Tests use one that returns a time they set. */
struct clock {
	int64_t (*now_us)(const struct clock *clock);
};

/* The system's real-time clock. */
extern const struct clock clock_system;

static inline int64_t clock_now_us(const struct clock *clock)
{
	return clock->now_us(clock);
}

/* Microseconds of the monotonic clock; only for differences. */
int64_t clock_monotonic_us(void);

/* Returns by how much the clock, which says now_us, was put back since the last call with this
 * offset; 0 if it was not, or only adjusted. *offset_us is 0 before the first call. */
int64_t clock_put_back_us(int64_t *offset_us, int64_t now_us);

enum { CLOCK_TEXT_SIZE = 40 };

/* Formats as `2026-11-21T02:43:18.123456+00:00` (RFC 3339). */
void clock_iso8601(int64_t time_us, char text[static CLOCK_TEXT_SIZE]);

/* Appends `2026-11-21 02:43:18Z`, for people; the dashboard shows such times of a text by the
 * viewer's clock. */
void clock_add(struct buf *out, int64_t time_us);

/* Formats as `Sat, 21 Nov 2026 02:43:18 +0000` (RFC 5322 3.3). */
void clock_rfc5322(int64_t time_us, char text[static CLOCK_TEXT_SIZE]);

/* Formats as `20261121T024318Z` (the basic format of ISO 8601), for names of files; the first eight
 * characters are the date. */
void clock_stamp(int64_t time_us, char text[static CLOCK_TEXT_SIZE]);

/* Parses a time: `2026-11-21`, `2026-11-21T02:43` or with seconds, as clock_iso8601() writes
 * it, also with a blank for the T (RFC 3339 5.6), as clock_add() does; followed by `Z`, an offset
 * from UTC, or nothing, which means UTC; or a span before now_us: `30m` or `30min`, `2h`, `7d`.
 * False for anything else and for times before 1970. */
bool clock_parse(const char *text, int64_t now_us, int64_t *time_us_r);

#endif
