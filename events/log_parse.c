/*
 * log_parse: reads what a line of Postfix's log says about a message.
 *
 * Threads: any. Only localtime_r() and mktime() depend on the time zone.
 */
#include "events/log_parse.h"

#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"

/* The most that clocks are put back at the end of summer time. */
#define PUT_BACK_US (2 * HOUR_US)
/* A line may be dated up to this much later than it is read: its clock may be hours off. */
#define AHEAD_US DAY_US

/* The number of brackets tried as the end of an address. */
enum { ADDR_TRIES = 8 };

/* The part of the line that is still to be read. */
struct rest {
	const char *at;
	const char *end;
};

static size_t left(const struct rest *rest)
{
	return (size_t)(rest->end - rest->at);
}

/* If the rest begins with the text, moves past it. False if not. */
static bool skip(struct rest *rest, const char *text)
{
	size_t len = strlen(text);

	if (left(rest) < len || memcmp(rest->at, text, len) != 0)
		return false;
	rest->at += len;
	return true;
}

static const char *find_text(const struct rest *rest, const char *text)
{
	return memmem(rest->at, left(rest), text, strlen(text));
}

/* Reads up to the text and moves past it. False if the text is missing. */
static bool until(struct rest *rest, const char *text, struct span *span_r)
{
	const char *found = find_text(rest, text);

	if (found == NULL)
		return false;
	*span_r = (struct span){rest->at, (size_t)(found - rest->at)};
	rest->at = found + strlen(text);
	return true;
}

/* Reads up to the end of a value, which has no blank. A value with a blank was cut, and another
 * line is appended to it. */
static bool until_value(struct rest *rest, struct span *span_r)
{
	return until(rest, ", ", span_r) && memchr(span_r->data, ' ', span_r->len) == NULL;
}

static bool digits(struct rest *rest, size_t n, int *value_r)
{
	int value = 0;

	if (left(rest) < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!ascii_is_digit(rest->at[i]))
			return false;
		value = value * 10 + (rest->at[i] - '0');
	}
	rest->at += n;
	*value_r = value;
	return true;
}

/* Days from 1970-01-01 to a day of the Gregorian calendar. */
static int64_t days_until(int year, int month, int day)
{
	int64_t y = year - (month <= 2);
	int64_t era = y / 400, of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* RFC 3339, with the zone as +00:00, +0000 or Z. */
static bool read_exact_stamp(struct rest *rest, struct log_stamp *stamp_r)
{
	int year, month, day, hour, minute, second, zone_hour = 0, zone_minute = 0, sign = 1;
	int64_t fraction = 0, unit = SECOND_US;
	struct rest at = *rest;

	if (!digits(&at, 4, &year) || !skip(&at, "-") || !digits(&at, 2, &month) ||
		!skip(&at, "-") || !digits(&at, 2, &day) || !skip(&at, "T") ||
		!digits(&at, 2, &hour) || !skip(&at, ":") || !digits(&at, 2, &minute) ||
		!skip(&at, ":") || !digits(&at, 2, &second))
		return false;
	if (skip(&at, "."))
		for (; left(&at) && ascii_is_digit(*at.at); at.at++) {
			unit /= 10;
			fraction += (*at.at - '0') * unit;
		}
	if (!skip(&at, "Z")) {
		if (skip(&at, "-"))
			sign = -1;
		else if (!skip(&at, "+"))
			return false;
		if (!digits(&at, 2, &zone_hour))
			return false;
		skip(&at, ":");
		if (!digits(&at, 2, &zone_minute))
			return false;
	}
	if (month < 1 || month > 12 || day < 1 || day > 31)
		return false;
	*stamp_r = (struct log_stamp){.exact = true,
		.time_us = ((days_until(year, month, day) * 24 + hour - sign * zone_hour) * 3600 +
				   (minute - sign * zone_minute) * INT64_C(60) + second) *
				   SECOND_US +
			   fraction};
	*rest = at;
	return true;
}

static bool read_local_stamp(struct rest *rest, struct log_stamp *stamp_r)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct log_stamp stamp = {0};
	struct rest at = *rest;

	if (left(&at) < 4)
		return false;
	while (stamp.month < 12 && memcmp(at.at, months + 3 * stamp.month, 3))
		stamp.month++;
	at.at += 3;
	if (stamp.month == 12 || !skip(&at, " ") ||
		!(skip(&at, " ") ? digits(&at, 1, &stamp.day) : digits(&at, 2, &stamp.day)) ||
		!skip(&at, " ") || !digits(&at, 2, &stamp.hour) || !skip(&at, ":") ||
		!digits(&at, 2, &stamp.minute) || !skip(&at, ":") ||
		!digits(&at, 2, &stamp.second) || stamp.day < 1 || stamp.day > 31)
		return false;
	*stamp_r = stamp;
	*rest = at;
	return true;
}

/* Converts the stamp in that year. In an hour that occurs twice, at the end of summer time,
 * takes the later one: a line that seems older than the record of its message would match
 * nothing. mktime() returns either one, and is slow when asked for a specific one. False if
 * that year has no such day. */
static bool local_time(const struct log_stamp *stamp, int year, time_t *time_r)
{
	struct tm tm = {.tm_year = year,
		.tm_mon = stamp->month,
		.tm_mday = stamp->day,
		.tm_hour = stamp->hour,
		.tm_min = stamp->minute,
		.tm_sec = stamp->second,
		.tm_isdst = -1};
	time_t time = mktime(&tm), later = time + PUT_BACK_US / SECOND_US;
	struct tm there;

	localtime_r(&later, &there);
	later = time + tm.tm_gmtoff - there.tm_gmtoff;
	localtime_r(&later, &there);
	*time_r = later > time && there.tm_hour == stamp->hour && there.tm_min == stamp->minute
			  ? later
			  : time;
	return tm.tm_mon == stamp->month;
}

int64_t log_stamp_time(const struct log_stamp *stamp, int64_t anchor_us)
{
	time_t anchor = (time_t)(anchor_us / SECOND_US), time = 0;
	struct tm now;
	int64_t time_us = 0;

	if (stamp->exact)
		return stamp->time_us;
	localtime_r(&anchor, &now);
	/* Starts with next year, because a line may be dated ahead. Goes back eight years, for
	 * the 29th of February. */
	for (int year = now.tm_year + 1; year >= now.tm_year - 8; year--) {
		bool is_day = local_time(stamp, year, &time);

		time_us = (int64_t)time * SECOND_US;
		if (is_day && time_us <= anchor_us + AHEAD_US)
			return time_us;
	}
	return time_us;
}

/* Reads a queue id. Short ids are a time and an inode number in hexadecimal; long ones use
 * digits and letters without vowels (QUEUE_README, enable_long_queue_ids). */
static bool read_id(struct rest *rest, struct span *id_r)
{
	static const char vowels[] = "AEIOUaeiou";
	bool hex = true, consonants = true;
	size_t n = 0;

	for (; n < left(rest); n++) {
		char c = rest->at[n];
		bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');

		if (!ascii_is_digit(c) && !letter)
			break;
		hex = hex && (ascii_is_digit(c) || (c >= 'A' && c <= 'F'));
		consonants = consonants && memchr(vowels, c, 10) == NULL;
	}
	if (n > 32 || !((hex && n >= 6) || (consonants && n >= 10)))
		return false;
	*id_r = (struct span){rest->at, n};
	rest->at += n;
	return true;
}

/* Reads `<address>` up to what must follow it. A quoted local part may contain anything. */
static bool read_addr(struct rest *rest, const char *follow, struct span *addr_r)
{
	struct rest at = *rest;
	const char *start, *found;

	if (!skip(&at, "<"))
		return false;
	start = at.at;
	if (skip(&at, "\"")) {
		for (; left(&at) && *at.at != '"'; at.at++)
			if (*at.at == '\\' && left(&at) > 1)
				at.at++;
		if (!skip(&at, "\""))
			return false;
	}
	found = find_text(&at, follow);
	if (found == NULL)
		return false;
	*addr_r = (struct span){start, (size_t)(found - start)};
	rest->at = found + strlen(follow);
	return true;
}

static bool read_status(struct span word, enum log_status *status_r)
{
	static const struct {
		const char *word;
		enum log_status status;
	} words[] = {
		{"sent", LOG_SENT},
		{"deferred", LOG_DEFERRED},
		{"SOFTBOUNCE", LOG_DEFERRED},
		{"bounced", LOG_BOUNCED},
		{"deliverable", LOG_PROBED},
		{"undeliverable", LOG_PROBED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (span_is(word, words[i].word)) {
			*status_r = words[i].status;
			return true;
		}
	return false;
}

static bool is_dsn(struct span dsn)
{
	int dots = 0;

	for (size_t i = 0; i < dsn.len; i++)
		if (dsn.data[i] == '.')
			dots++;
		else if (!ascii_is_digit(dsn.data[i]))
			return false;
	return dsn.len >= 5 && dots == 2;
}

/* Reads an address and, with read(), what follows it. With info_log_address_format = internal
 * an address is not quoted: it may contain a bracket and a comma or begin with a quote. Then it
 * ends at the first bracket after which the rest parses. If it contains a colon and a blank,
 * the line was cut and another one follows. */
static bool read_addr_and(struct rest *rest, struct log_line *line, struct span *addr_r,
	bool (*read)(struct rest *rest, struct log_line *line))
{
	struct rest at = *rest;
	struct span addr;
	const char *end;

	if (read_addr(&at, ">, ", addr_r) && read(&at, line))
		return true;
	at = *rest;
	if (!skip(&at, "<"))
		return false;
	addr.data = at.at;
	for (int tries = 0; tries < ADDR_TRIES && (end = find_text(&at, ">, ")) != NULL; tries++) {
		addr.len = (size_t)(end - addr.data);
		if (memmem(addr.data, addr.len, ": ", 2))
			return false;
		at.at = end + strlen(">, ");
		*addr_r = addr;
		if (read(&(struct rest){at.at, at.end}, line))
			return true;
	}
	return false;
}

static bool read_outcome(struct rest *rest, struct log_line *line)
{
	struct span key, value;

	line->delays = line->dsn = (struct span){0};
	if (!skip(rest, "relay=") || !until_value(rest, &line->relay) ||
		(line->relay.len > 0 && line->relay.data[line->relay.len - 1] == '>'))
		return false;
	while (!skip(rest, "status=")) {
		if (!until(rest, "=", &key) || memchr(key.data, ' ', key.len) ||
			!until_value(rest, &value))
			return false;
		if (span_is(key, "delays"))
			line->delays = value;
		else if (span_is(key, "dsn"))
			line->dsn = value;
	}
	if (line->dsn.data == NULL || !is_dsn(line->dsn) || !until(rest, " (", &value) ||
		!read_status(value, &line->status))
		return false;
	line->cut = left(rest) == 0 || rest->end[-1] != ')';
	line->text = (struct span){rest->at, left(rest) - !line->cut};
	return true;
}

static bool read_attempt(struct rest *rest, struct log_line *line)
{
	line->orig_to = (struct span){0};
	return skip(rest, "orig_to=") ? read_addr_and(rest, line, &line->orig_to, read_outcome)
				      : read_outcome(rest, line);
}

/* Reads the rest after `to=`. */
static void read_delivery(struct rest *rest, struct log_line *line)
{
	line->kind = read_addr_and(rest, line, &line->to, read_attempt) ? LOG_DELIVERY : LOG_BAD;
}

/* Reads the matched text, `; from=<..> to=<..>` with the first recipient, and more. A matched
 * header field may contain the same pattern, so the last match counts. */
static void read_discarded(struct rest *rest, struct log_line *line)
{
	struct rest at = *rest;
	struct span before;

	line->kind = LOG_DISCARDED;
	line->text = (struct span){rest->at, left(rest)};
	while (until(&at, " to=", &before))
		read_addr(&at, ">", &line->to);
}

/* `milter-reject: END-OF-MESSAGE from ..: 5.7.1 ..; from=<..> to=<..>` */
static void read_refused(const struct rest *rest, struct log_line *line)
{
	static const char *const words[] = {
		"milter-reject: ", "reject: ", "milter-hold: ", "hold: "};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct rest at = *rest;

		if (!skip(&at, words[i]))
			continue;
		read_discarded(&at, line);
		line->kind = LOG_REFUSED;
		line->text = (struct span){rest->at, left(rest)};
	}
}

static void read_cleanup(struct rest *rest, struct log_line *line)
{
	struct span before;
	struct rest at;

	if (skip(rest, "message-id=")) {
		line->kind = LOG_MESSAGE_ID;
		line->text = (struct span){rest->at, left(rest)};
	} else if (skip(rest, "to=")) {
		read_delivery(rest, line);
	} else if (skip(rest, "discard: ") || skip(rest, "milter-discard: ")) {
		read_discarded(rest, line);
	} else if (skip(rest, "redirect: ")) {
		/* The address that gets the message instead of its recipients is at the end. */
		at = *rest;
		read_discarded(rest, line);
		while (until(&at, ">: ", &before))
			line->other = (struct span){at.at, left(&at)};
	} else if (skip(rest, "removed (discarded)")) {
		line->kind = LOG_DISCARDED;
	} else {
		read_refused(rest, line);
	}
}

/* The end of a line whose text is fixed; another line may be appended to it. */
static void read_end(const struct rest *rest, struct log_line *line)
{
	line->cut = left(rest) > 0 && *rest->at != ' ';
}

/* Reads nrcpt after `size=`; 0 if it is missing. */
static int read_recipients(struct rest *rest)
{
	struct span size;
	int n = 0;

	if (!until(rest, ", nrcpt=", &size))
		return 0;
	for (; left(rest) && ascii_is_digit(*rest->at) && n < 1000000; rest->at++)
		n = 10 * n + (*rest->at - '0');
	return n;
}

static void read_queue_manager(struct rest *rest, struct log_line *line)
{
	struct span sender;

	if (skip(rest, "to=")) {
		read_delivery(rest, line);
	} else if (skip(rest, "removed")) {
		line->kind = LOG_REMOVED;
		read_end(rest, line);
	} else if (skip(rest, "from=")) {
		line->kind = LOG_BAD;
		if (!read_addr(rest, ">, ", &sender))
			return;
		if (skip(rest, "size=")) {
			if (find_text(rest, "(queue active)")) {
				line->kind = LOG_ACTIVE;
				line->recipients = read_recipients(rest);
			}
		} else if (skip(rest, "status=expired, ") || skip(rest, "status=force-expired, ")) {
			line->kind = LOG_EXPIRED;
		}
	}
}

/* The client's name is a domain name or `unknown`, and has no blank. */
static void read_smtpd(struct rest *rest, struct log_line *line)
{
	size_t n = 0;

	if (!skip(rest, "client="))
		return;
	while (n < left(rest) && rest->at[n] != ' ' && rest->at[n] != ',')
		n++;
	line->kind = LOG_CLIENT;
	line->text = (struct span){rest->at, n};
	line->uid = -1;
}

/* The previous id stands at the end, where a sender cannot write: a line without it ends with
 * the sender's bracket. */
static void read_pickup(struct rest *rest, struct log_line *line)
{
	static const char mark[] = "> orig_id=";
	const char *last = NULL, *found;
	struct rest at;

	if (skip(rest, "uid=")) { /* up to a blank; -1: no user's id */
		int64_t uid = 0;

		for (at = *rest; left(&at) && ascii_is_digit(*at.at) && uid <= UINT32_MAX; at.at++)
			uid = 10 * uid + (*at.at - '0');
		line->kind = LOG_CLIENT;
		line->uid = at.at > rest->at && left(&at) && *at.at == ' ' && uid <= UINT32_MAX
				    ? uid
				    : -1;
	}
	at = *rest;
	while ((found = find_text(&at, mark)) != NULL) {
		last = found;
		at.at = found + 1;
	}
	if (last == NULL)
		return;
	at.at = last + strlen(mark);
	if (read_id(&at, &line->other) && left(&at) == 0)
		line->kind = LOG_PICKUP;
	else
		line->other = (struct span){0};
}

/* Reads the queue id at the end of a queue file's path. */
static bool read_path_id(struct span path, struct span *id_r)
{
	const char *slash = memrchr(path.data, '/', path.len);
	struct rest at = {slash ? slash + 1 : path.data, path.data + path.len};

	/* postsuper(1) first gives a name with this mark. */
	return read_id(&at, id_r) && (left(&at) == 0 || *at.at == '#');
}

/* `renamed file PATH as PATH`: postsuper(1) has given a queue file the name of its inode. */
static bool read_renamed(struct rest *rest, struct log_line *line)
{
	struct rest at = *rest;
	struct span from, id, other;

	if (!skip(&at, "renamed file ") || !until(&at, " as ", &from) ||
		!read_path_id(from, &other) || !read_path_id((struct span){at.at, left(&at)}, &id))
		return false;
	if (id.len == other.len && memcmp(id.data, other.data, id.len) == 0)
		return true;
	line->kind = LOG_PICKUP;
	line->id = id;
	line->other = other;
	return true;
}

static void read_admin(struct rest *rest, struct log_line *line)
{
	line->by_admin = true;
	if (skip(rest, "removed"))
		line->kind = LOG_REMOVED;
	else if (skip(rest, "requeued"))
		line->kind = LOG_REQUEUED;
	read_end(rest, line);
}

static void read_agent(struct rest *rest, struct log_line *line)
{
	if (skip(rest, "to="))
		read_delivery(rest, line);
}

/* Lines of master are about no message. */
static void read_master(struct rest *rest, struct log_line *line)
{
	if (skip(rest, "reload -- version ") || skip(rest, "daemon started -- version "))
		line->kind = LOG_RELOADED;
}

/* True if the name is in the list. */
static bool is_instance(struct span name, const char *instances)
{
	for (const char *at = instances; *at;) {
		size_t len = strcspn(at, " \t,");

		if (len == name.len && memcmp(at, name.data, len) == 0)
			return true;
		at += len;
		at += strspn(at, " \t,");
	}
	return false;
}

/* Reads the program from a tag of one of the instances. */
static bool read_program(struct span tag, const char *instances, struct span *program_r)
{
	const char *slash = memchr(tag.data, '/', tag.len);
	const char *last = memrchr(tag.data, '/', tag.len);

	if (slash == NULL ||
		!is_instance((struct span){tag.data, (size_t)(slash - tag.data)}, instances))
		return false;
	*program_r = (struct span){last + 1, (size_t)(tag.data + tag.len - last - 1)};
	return true;
}

static const struct {
	const char *program;
	void (*read)(struct rest *rest, struct log_line *line);
	enum log_agent agent;
} programs[] = {
	{"smtp", read_agent, LOG_AGENT_OTHER},
	{"lmtp", read_agent, LOG_AGENT_OTHER},
	{"qmgr", read_queue_manager, LOG_AGENT_OTHER},
	{"cleanup", read_cleanup, LOG_AGENT_OTHER},
	{"local", read_agent, LOG_AGENT_MAILBOX},
	{"virtual", read_agent, LOG_AGENT_MAILBOX},
	{"pipe", read_agent, LOG_AGENT_PIPE},
	{"error", read_agent, LOG_AGENT_OTHER},
	{"retry", read_agent, LOG_AGENT_OTHER},
	{"discard", read_agent, LOG_AGENT_DISCARD},
	{"bounce", read_agent, LOG_AGENT_OTHER},
	{"pickup", read_pickup, LOG_AGENT_OTHER},
	{"smtpd", read_smtpd, LOG_AGENT_OTHER},
	{"postsuper", read_admin, LOG_AGENT_OTHER},
	{"oqmgr", read_queue_manager, LOG_AGENT_OTHER},
	{"nqmgr", read_queue_manager, LOG_AGENT_OTHER},
	{"master", read_master, LOG_AGENT_OTHER},
};

static void read_payload(
	struct span tag, struct rest *rest, const char *instances, struct log_line *line)
{
	struct span program;

	if (span_is(tag, "systemd-journald")) {
		if (skip(rest, "Suppressed ") && find_text(rest, "postfix"))
			line->kind = LOG_DROPPED;
		return;
	}
	if (!read_program(tag, instances, &program))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		if (!span_is(program, programs[i].program))
			continue;
		line->agent = programs[i].agent;
		if (programs[i].read == read_admin && read_renamed(rest, line))
			return;
		if (programs[i].read == read_master ||
			(read_id(rest, &line->id) && skip(rest, ": ")))
			programs[i].read(rest, line);
		return;
	}
}

/* Reads up to the payload. The tag is absent if the line is not like Postfix's. */
static bool read_line_head(struct rest *rest, struct log_stamp *stamp_r, struct span *tag_r)
{
	bool exact = left(rest) && ascii_is_digit(*rest->at);
	struct span host, pid;
	struct rest at;

	if (!(exact ? read_exact_stamp(rest, stamp_r) : read_local_stamp(rest, stamp_r)) ||
		!skip(rest, " ") || !until(rest, " ", &host))
		return false;
	*tag_r = (struct span){0};
	at = *rest;
	if (until(&at, "]: ", &pid)) {
		const char *open = memchr(pid.data, '[', pid.len);

		if (open == NULL || memchr(pid.data, ' ', pid.len))
			return true;
		*tag_r = (struct span){pid.data, (size_t)(open - pid.data)};
		*rest = at;
	}
	return true;
}

void log_parse(const char *line, size_t len, const char *instances, struct log_line *line_r)
{
	struct rest rest = {line, line + len};
	struct log_line read = {0};
	struct span tag;

	if (len > 0 && !read_line_head(&rest, &read.stamp, &tag))
		read.kind = LOG_BAD;
	else if (len > 0 && tag.data)
		read_payload(tag, &rest, instances, &read);
	*line_r = read;
}

void log_parse_payload(const char *tag, const char *payload, size_t len, const char *instances,
	struct log_line *line_r)
{
	struct rest rest = {payload, payload + len};
	struct log_line read = {0};

	read_payload((struct span){tag, strlen(tag)}, &rest, instances, &read);
	*line_r = read;
}

size_t log_parse_glued(const char *line, size_t len, const char *instances)
{
	/* A quoted address may contain anything. */
	if (len > LOG_WHOLE_MAX || memmem(line, len, "to=<\"", 5))
		return 0;
	for (size_t i = 1; i < len; i++) {
		struct rest rest = {line + i, line + len};
		struct log_stamp stamp;
		struct span tag, program;

		if (!ascii_is_digit(line[i]) && !(line[i] >= 'A' && line[i] <= 'S'))
			continue;
		if (read_line_head(&rest, &stamp, &tag) && tag.data &&
			read_program(tag, instances, &program))
			return i;
	}
	return 0;
}

/* Amavis and others quote the reply of their next hop in their own, so the phrase may stand
 * anywhere. The id must be the last word. */
struct span log_queued_as(struct span text, bool *forwarded_r)
{
	static const char queued[] = "queued as ", forwarded[] = "forwarded as ";
	struct rest rest = {text.data, text.data + text.len};
	struct span id = {0};
	const char *found;

	*forwarded_r = skip(&rest, forwarded);
	if (!*forwarded_r) {
		found = find_text(&rest, queued);
		if (found == NULL)
			return id;
		rest.at = found + strlen(queued);
	}
	if (!read_id(&rest, &id))
		return (struct span){0};
	skip(&rest, ")");
	return left(&rest) == 0 ? id : (struct span){0};
}
