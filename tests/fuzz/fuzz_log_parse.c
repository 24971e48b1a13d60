/*
 * Fuzzes log_parse(): whatever stands in a log, line after line. What is found
 * lies within the line.
 */
#include <string.h>

#include "events/log_parse.h"
#include "tests/fuzz/fuzz.h"

static void check_span(struct span span, const char *from, const char *end)
{
	if (span.data)
		CHECK(span.data >= from && span.data + span.len <= end);
}

static void check_line(const char *from, size_t len)
{
	struct log_line line;
	bool forwarded;
	size_t glued;

	log_parse(from, len, "postfix postfix-out", &line);
	check_span(line.id, from, from + len);
	check_span(line.text, from, from + len);
	check_span(line.other, from, from + len);
	check_span(line.to, from, from + len);
	check_span(line.orig_to, from, from + len);
	check_span(line.relay, from, from + len);
	check_span(line.delays, from, from + len);
	check_span(line.dsn, from, from + len);
	if (line.kind == LOG_DELIVERY) {
		CHECK(line.id.len >= 6 && line.to.data && line.relay.data);
		CHECK(line.dsn.len >= 5 && line.text.data);
		check_span(log_queued_as(line.text, &forwarded), from, from + len);
	}
	if (line.kind != LOG_NOTHING && line.kind != LOG_BAD)
		log_stamp_time(&line.stamp, INT64_C(1795303870000000));
	glued = log_parse_glued(from, len, "postfix");
	CHECK(glued < len || len == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *from = (const char *)data, *end = from + size;

	while (from < end) {
		const char *newline = memchr(from, '\n', (size_t)(end - from));
		size_t len = newline ? (size_t)(newline - from) : (size_t)(end - from);

		check_line(from, len);
		from += len + 1;
	}
	return 0;
}
