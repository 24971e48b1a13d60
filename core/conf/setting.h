/*
 * setting: the table of all settings, a row for each, and the value of one
 * between text and struct conf. The documentation is printed from the rows.
 */
#ifndef POSTERN_CONF_SETTING_H
#define POSTERN_CONF_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct conf;

/* The types up to SETTING_CODES are kept as text (a char * in struct conf,
 * bounds are those of its length in bytes), the others as int64_t. */
enum setting_type {
	SETTING_PATH,      /* absolute */
	SETTING_ADDRESS,   /* 127.0.0.1:80, [::1]:80, unix:/path; or empty */
	SETTING_ORIGIN,    /* https://host, http://host:port; or empty */
	SETTING_SMTP_URL,  /* smtp://host:port, smtps://host; or empty */
	SETTING_STORE_URL, /* postgresql://...; or empty */
	SETTING_SERVER,    /* unix:/path, inet:127.0.0.1:25; or empty */
	SETTING_MODE,      /* octal permissions */
	SETTING_GROUP,     /* of users of this host; or empty */
	SETTING_RECIPIENT, /* an address, or a user of this host */
	SETTING_NETWORKS,  /* as cidr_list_parse_excepting(); several
			    * lines add up */
	SETTING_PEERS,     /* the same, and the word unix */
	SETTING_DOMAINS,   /* names with blanks or commas between; they add up */
	SETTING_CODES,     /* enhanced status codes (RFC 3463) 5.x.x, or beginnings of them, but
			    * none of 5.7.x, and not 5.2.2 */
	SETTING_INT,
	SETTING_BYTES,    /* 512, 64K, 40M, 1G */
	SETTING_DURATION, /* milliseconds: 250ms, 5s, 2m or 2min, 1h, 30d */
	SETTING_AGE,      /* the same where months are likely: without `m` */
	SETTING_CHOICE,   /* one of choices; its index is the value, max
			   * the last one's */
};

/* sun_path of struct sockaddr_un has 108 bytes, with the NUL. */
enum { SETTING_SOCKET_PATH = 107 };

struct setting {
	const char *section;
	const char *name;
	enum setting_type type;
	size_t offset;        /* in struct conf */
	const char *fallback; /* the default, as setting_format() writes it */
	int64_t min;
	int64_t max;
	const char *const *choices; /* ended by NULL */
	bool reload;                /* SIGHUP changes it */
	const char *help;           /* whole sentences, for the manual */
};

/* The table (settings.c), grouped by section. */
extern const struct setting settings[];
extern const size_t settings_n;

/* The row of the table, or NULL. */
const struct setting *setting_find(const char *section, const char *name);

/* Whether the table has such a section. */
bool setting_section_known(const char *section);

/* Reads the text as the new value. ERR_CONFIG quotes it and says what is
 * expected; conf is then as it was. */
int setting_parse(
	const struct setting *setting, const char *text, struct conf *conf, struct err *err);

/* Appends the value as a person would write it: a size or a duration in the
 * largest unit in which it is a whole number, 60s as 1m. */
void setting_format(const struct setting *setting, const struct conf *conf, struct buf *out);

/* Appends what values the setting takes, as `a duration from 1s to 1h (as
 * 250ms, 5s, 2m, 1h)`. */
void setting_describe(const struct setting *setting, struct buf *out);

/* Whether the setting may come in several lines, which make one list. */
bool setting_adds_up(const struct setting *setting);

/* The value of a setting that is kept as text, and of one that is not. */
const char *setting_text(const struct setting *setting, const struct conf *conf);
int64_t setting_number(const struct setting *setting, const struct conf *conf);

/* Whether both have the same value. */
bool setting_equal(const struct setting *setting, const struct conf *a, const struct conf *b);
/* Gives `to` the value of `from`, a text as a copy of its own. */
void setting_copy(const struct setting *setting, struct conf *to, const struct conf *from);
/* Frees a value that is a text, and makes it NULL. */
void setting_clear(const struct setting *setting, struct conf *conf);

#endif
