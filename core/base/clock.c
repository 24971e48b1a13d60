/*
 * clock: the time, as a seam, and as text. No locale, no time zone but UTC.
 */
#include "core/base/clock.h"

#include <stdio.h>
#include <time.h>

enum { US_PER_SECOND = 1000000 };

static int64_t read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * US_PER_SECOND + now.tv_nsec / 1000;
}

static int64_t system_now_us(const struct clock *clock)
{
	(void)clock;
	return read_clock(CLOCK_REALTIME);
}

const struct clock clock_system = {.now_us = system_now_us};

int64_t clock_monotonic_us(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

struct timespec clock_deadline(clockid_t id, int64_t wait_ms)
{
	int64_t end_us = read_clock(id) + wait_ms * 1000;

	return (struct timespec){
		.tv_sec = end_us / US_PER_SECOND,
		.tv_nsec = end_us % US_PER_SECOND * 1000,
	};
}

/* Splits into whole seconds, broken down, and the rest; floor for times before
 * 1970. */
static int split(int64_t time_us, struct tm *tm)
{
	int64_t rest = time_us % US_PER_SECOND;
	time_t seconds = (time_t)(time_us / US_PER_SECOND);

	if (rest < 0) {
		rest += US_PER_SECOND;
		seconds--;
	}
	gmtime_r(&seconds, tm);
	return (int)rest;
}

void clock_iso8601(int64_t time_us, char text[static CLOCK_TEXT_SIZE])
{
	struct tm tm = {0};
	int rest = split(time_us, &tm);

	size_t len = strftime(text, CLOCK_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);

	snprintf(text + len, CLOCK_TEXT_SIZE - len, ".%06d+00:00", rest);
}

void clock_rfc5322(int64_t time_us, char text[static CLOCK_TEXT_SIZE])
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct tm tm = {0};

	split(time_us, &tm);
	snprintf(text, CLOCK_TEXT_SIZE, "%.3s, %d %.3s %04d %02d:%02d:%02d +0000",
		days + (ptrdiff_t)tm.tm_wday * 3, tm.tm_mday,
		months + (ptrdiff_t)tm.tm_mon * 3, (tm.tm_year + 1900) % 10000,
		tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/*
 * pace: now and then.
 */

bool pace_is_time(struct pace *pace, int64_t every_us, int64_t now_us)
{
	int64_t next_us = atomic_load(&pace->next_us);

	return now_us >= next_us && atomic_compare_exchange_strong(&pace->next_us,
					    &next_us, now_us + every_us);
}
