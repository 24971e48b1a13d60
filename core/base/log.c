/*
 * log: writes one line of key=value pairs for each event to stderr or syslog.
 *
 * Threads: log_event() from any. Each line is a single write().
 */
#include "core/base/log.h"

#include <glib.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"

struct log {
	const char *program;
	enum log_target target;
	_Atomic enum log_level level;
};

static const struct {
	const char *name;
	int syslog;
} levels[] = {
	[LOG_LEVEL_ERROR] = {"error", LOG_ERR},
	[LOG_LEVEL_WARN] = {"warn", LOG_WARNING},
	[LOG_LEVEL_INFO] = {"info", LOG_INFO},
	[LOG_LEVEL_DEBUG] = {"debug", LOG_DEBUG},
};

struct log *log_new(const char *program, enum log_target target, enum log_level level)
{
	struct log *log = mem_new(struct log);

	log->program = program;
	log->target = target;
	log->level = level;
	if (target == LOG_TARGET_SYSLOG)
		openlog(program, LOG_PID | LOG_NDELAY, LOG_MAIL);
	return log;
}

void log_free(struct log *log)
{
	if (log && log->target == LOG_TARGET_SYSLOG)
		closelog();
	free(log);
}

void log_set_level(struct log *log, enum log_level level)
{
	log->level = level;
}

const char *log_int(char text[static 24], int64_t number)
{
	snprintf(text, 24, "%lld", (long long)number);
	return text;
}

static void add_log_quoted(struct buf *line, const char *value)
{
	buf_add_char(line, '"');
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;

		if (c == '"' || c == '\\')
			buf_printf(line, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			buf_printf(line, "\\x%02x", c);
		else if (c == 0xc2 && (value[1] & 0xe0) == 0x80) /* C1 controls also act on
								  * terminals */
			buf_printf(line, "\\x%02x", (unsigned char)*++value);
		else
			buf_add_char(line, *value);
	}
	buf_add_char(line, '"');
}

static bool is_plain(char c)
{
	return g_ascii_isalnum(c) || (c != '\0' && strchr("-._:/@+<>,[]", c));
}

static void add_log_value(struct buf *line, const char *value)
{
	const char *end = value;

	while (is_plain(*end))
		end++;
	if (end > value && *end == '\0')
		buf_add_str(line, value);
	else
		add_log_quoted(line, value);
}

static void write_stderr(const struct log *log, enum log_level level, const struct buf *text)
{
	struct buf line = BUF_INIT;
	char now[CLOCK_TEXT_SIZE];

	clock_iso8601(clock_now_us(&clock_system), now);
	buf_printf(&line, "%s %s[%d] %s ", now, log->program, (int)getpid(), levels[level].name);
	buf_add(&line, text->data, text->len);
	buf_add_char(&line, '\n');
	if (write(STDERR_FILENO, line.data, line.len) < 0) {
		/* There is nobody to report this to. */
	}
	buf_free(&line);
}

void log_event(struct log *log, enum log_level level, const char *event, ...)
{
	struct buf text = BUF_INIT;
	const char *key, *value;
	va_list args;

	if (log == NULL || level > log->level)
		return;
	buf_add_str(&text, "event=");
	buf_add_str(&text, event);
	va_start(args, event);
	while ((key = va_arg(args, const char *)) != NULL) {
		value = va_arg(args, const char *);
		if (value) {
			buf_add_char(&text, ' ');
			buf_add_str(&text, key);
			buf_add_char(&text, '=');
			add_log_value(&text, value);
		}
	}
	va_end(args);
	if (log->target == LOG_TARGET_SYSLOG)
		syslog(levels[level].syslog, "%s", text.data);
	else
		write_stderr(log, level, &text);
	buf_free(&text);
}
