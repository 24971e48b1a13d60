/*
 * clock: the time and its text forms. Independent of locale and time zone.
 */
#include "core/base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"

/* A clock that was put back by more was set, not adjusted. */
#define STEP_US (2 * SECOND_US)

static int64_t read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * SECOND_US + now.tv_nsec / 1000;
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

int64_t clock_put_back_us(int64_t *offset_us, int64_t now_us)
{
	int64_t before_us = *offset_us, back_us;

	*offset_us = now_us - clock_monotonic_us();
	back_us = before_us - *offset_us;
	return before_us != 0 && back_us > STEP_US ? back_us : 0;
}

/* Splits into broken-down whole seconds and the remaining microseconds. Rounds down for times
 * before 1970. */
static int split(int64_t time_us, struct tm *tm)
{
	int64_t rest = time_us % SECOND_US;
	time_t seconds = (time_t)(time_us / SECOND_US);

	if (rest < 0) {
		rest += SECOND_US;
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

/* Reads an optional fraction of a second, `.123456`, in microseconds. Returns the text after
 * it. */
static const char *parse_fraction(const char *text, int64_t *us_r)
{
	int64_t scale = SECOND_US;

	*us_r = 0;
	if (*text != '.' || !ascii_is_digit(text[1]))
		return text;
	for (text++; ascii_is_digit(*text); text++) {
		scale /= 10;
		*us_r += scale * (*text - '0');
	}
	return text;
}

/* Reads `Z`, an offset (`+01:00`, `+0100` or `+01`) or nothing, as seconds east of UTC. False if
 * anything else follows. */
static bool parse_zone(const char *text, int64_t *east_s_r)
{
	int digits[4] = {0}, n = 0;
	const char *at = text;

	*east_s_r = 0;
	if (*text == '\0' || ((*text == 'Z' || *text == 'z') && !text[1]))
		return true;
	if (*text != '+' && *text != '-')
		return false;
	while (n < 4 && ascii_is_digit(at[1])) {
		digits[n++] = *++at - '0';
		if (n == 2 && at[1] == ':' && at[2])
			at++;
	}
	if (at[1] || (n != 2 && n != 4) || digits[0] * 10 + digits[1] > 23 || digits[2] > 5)
		return false;
	*east_s_r = (*text == '-' ? -1 : 1) *
		    ((digits[0] * 10 + digits[1]) * 3600 + (digits[2] * 10 + digits[3]) * 60);
	return true;
}

bool clock_parse(const char *text, int64_t now_us, int64_t *time_us_r)
{
	/* The longest format comes first, because a shorter one would leave a rest. */
	static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
	static const struct unit units[] = {{"s", SECOND_US}, {"m", 60 * SECOND_US},
		{"min", 60 * SECOND_US}, {"h", HOUR_US}, {"d", DAY_US}, {0}};
	static const char blanks[] = " \t\r\n\v\f";
	_cleanup_free_ char *copy = NULL;
	int64_t span_us, east_s, us = 0;
	size_t date_len;

	if (str_amount(text, units, &span_us) == 0) {
		*time_us_r = now_us > span_us ? now_us - span_us : 0;
		return true;
	}
	copy = mem_strdup(text);
	date_len = strcspn(copy, blanks);
	if (date_len == strlen("2026-11-21") && copy[date_len] == ' ')
		copy[date_len] = 'T';
	/* strptime() would skip other blanks. */
	if (strpbrk(copy, blanks))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		struct tm tm = {0}, given;
		const char *rest = strptime(copy, formats[i], &tm);
		int64_t time_us;

		if (rest == NULL)
			continue;
		if (i == 0)
			rest = parse_fraction(rest, &us);
		given = tm;
		time_us = (int64_t)timegm(&tm) * SECOND_US + us;
		/* timegm() turns a day that the month does not have into another day. */
		if (!parse_zone(rest, &east_s) || tm.tm_mday != given.tm_mday)
			continue;
		time_us -= east_s * SECOND_US;
		if (time_us < 0)
			return false;
		*time_us_r = time_us;
		return true;
	}
	return false;
}

void clock_add(struct buf *out, int64_t time_us)
{
	char text[CLOCK_TEXT_SIZE];
	struct tm tm = {0};

	split(time_us, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%SZ", &tm);
	buf_add_str(out, text);
}

void clock_stamp(int64_t time_us, char text[static CLOCK_TEXT_SIZE])
{
	struct tm tm = {0};

	split(time_us, &tm);
	strftime(text, CLOCK_TEXT_SIZE, "%Y%m%dT%H%M%SZ", &tm);
}

void clock_rfc5322(int64_t time_us, char text[static CLOCK_TEXT_SIZE])
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct tm tm = {0};

	split(time_us, &tm);
	snprintf(text, CLOCK_TEXT_SIZE, "%.3s, %d %.3s %04d %02d:%02d:%02d +0000",
		days + (ptrdiff_t)tm.tm_wday * 3, tm.tm_mday, months + (ptrdiff_t)tm.tm_mon * 3,
		(tm.tm_year + 1900) % 10000, tm.tm_hour, tm.tm_min, tm.tm_sec);
}
