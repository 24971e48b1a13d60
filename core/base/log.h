/*
 * log: one line of key=value pairs for each event.
 *
 * Programs log, libraries return errors: main() makes the log and passes it to those who
 * decide. Values are quoted where necessary, so that no input can forge a line. Never log a
 * secret or a body.
 */
#ifndef POSTERN_BASE_LOG_H
#define POSTERN_BASE_LOG_H

#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

enum log_target { LOG_TARGET_STDERR, LOG_TARGET_SYSLOG };

struct log;

/* program is a constant that starts each line. The caller calls log_free(). */
struct log *log_new(const char *program, enum log_target target, enum log_level level);
void log_free(struct log *log);

/* Thread-safe. */
void log_set_level(struct log *log, enum log_level level);

/* Logs one line: the event, then key-value pairs, then NULL. A pair with a NULL value is left
 * out. With log NULL nothing is logged. Thread-safe. */
void log_event(struct log *log, enum log_level level, const char *event, ...)
	__attribute__((sentinel));

#define log_error(log, ...) log_event(log, LOG_LEVEL_ERROR, __VA_ARGS__, NULL)
#define log_warn(log, ...)  log_event(log, LOG_LEVEL_WARN, __VA_ARGS__, NULL)
#define log_info(log, ...)  log_event(log, LOG_LEVEL_INFO, __VA_ARGS__, NULL)
#define log_debug(log, ...) log_event(log, LOG_LEVEL_DEBUG, __VA_ARGS__, NULL)

/* A number as a value: log_info(log, "start", "workers", LOG_INT(n)). The text is valid until
 * the end of the enclosing block. */
#define LOG_INT(number) log_int((char[24]){""}, (number))
const char *log_int(char text[static 24], int64_t number);

#endif
