/*
 * setting: the value of one setting, between text and struct conf.
 */
#ifndef POSTERN_CONF_SETTING_H
#define POSTERN_CONF_SETTING_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/conf/settings.h"

struct conf;

/* The row of the table, or NULL. */
const struct setting *setting_find(const char *section, const char *name);

/* Whether the table has such a section. */
bool setting_section_known(const char *section);

/* Reads the text as the new value. ERR_CONFIG quotes it and says what is
 * expected; conf is then as it was. */
int setting_parse(const struct setting *setting, const char *text,
	struct conf *conf, struct err *err);

/* Appends the value as a person would write it: a size or a duration in the
 * largest unit in which it is a whole number, 60s as 1m. */
void setting_format(const struct setting *setting, const struct conf *conf,
	struct buf *out);

/* Appends what values the setting takes, as `a duration from 1s to 1h (as
 * 250ms, 5s, 2m, 1h)`. */
void setting_describe(const struct setting *setting, struct buf *out);

/* Whether the value is kept as text, a char * at the setting's offset. */
bool setting_is_text(const struct setting *setting);

/* Whether the setting may come in several lines, which make one list. */
bool setting_adds_up(const struct setting *setting);

/* The value of a setting that is kept as text, and of one that is not. */
const char *setting_text(const struct setting *setting, const struct conf *conf);
int64_t setting_number(const struct setting *setting, const struct conf *conf);

/* Whether both have the same value. */
bool setting_equal(const struct setting *setting, const struct conf *a,
	const struct conf *b);
/* Gives `to` the value of `from`, a text as a copy of its own. */
void setting_copy(const struct setting *setting, struct conf *to,
	const struct conf *from);
/* Frees a value that is a text, and makes it NULL. */
void setting_clear(const struct setting *setting, struct conf *conf);

#endif
