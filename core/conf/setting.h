/*
 * setting: the table of all settings, and conversion of a value between text and struct conf.
 * The documentation is generated from the table.
 */
#ifndef POSTERN_CONF_SETTING_H
#define POSTERN_CONF_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct conf;

/* Types up to SETTING_CODES are stored as text (char * in struct conf; min and max limit the
 * length in bytes), the others as int64_t. */
enum setting_type {
	SETTING_PATH,      /* absolute */
	SETTING_ADDRESS,   /* 127.0.0.1:80, [::1]:80, unix:/path; or empty */
	SETTING_ORIGIN,    /* https://host, http://host:port; or empty */
	SETTING_SMTP_URL,  /* smtp://host:port, smtps://host; or empty */
	SETTING_STORE_URL, /* postgresql://...; or empty */
	SETTING_HOST,      /* a name of letters, digits, `-`, `_` and dots; or empty */
	SETTING_SERVER,    /* unix:/path, inet:127.0.0.1:25; or empty */
	SETTING_MODE,      /* octal permissions */
	SETTING_GROUP,     /* a group of this host; or empty */
	SETTING_RECIPIENT, /* an address, or a user of this host */
	SETTING_NETWORKS,  /* see cidr_list_parse_excepting(); several lines add up */
	SETTING_PEERS,     /* networks, and the word unix */
	SETTING_DOMAINS,   /* names separated by blanks or commas; lines add up */
	SETTING_CODES,     /* enhanced status codes (RFC 3463) 5.x.x or prefixes of them, but
			    * not 5.7.x and 5.2.2 */
	SETTING_INT,
	SETTING_BYTES,    /* 512, 64K, 40M, 1G */
	SETTING_DURATION, /* milliseconds: 250ms, 5s, 2m or 2min, 1h, 30d */
	SETTING_AGE,      /* as SETTING_DURATION, but without `m`, which could mean months */
	SETTING_CHOICE,   /* one of choices; the value is its index, max the last index */
};

/* struct sockaddr_un: sun_path has 108 bytes including the NUL. */
enum { SETTING_SOCKET_PATH = 107 };

struct setting {
	const char *section;
	const char *name;
	enum setting_type type;
	size_t offset;        /* in struct conf */
	const char *fallback; /* the default, in the form of setting_format() */
	int64_t min;
	int64_t max;
	const char *const *choices; /* max + 1 names */
	bool reload;                /* SIGHUP changes it */
	const char *help;           /* full sentences for the manual */
};

/* The table (settings.c), grouped by section. */
extern const struct setting settings[];
extern const size_t settings_n;

/* Returns the row of the table, or NULL. */
const struct setting *setting_find(const char *section, const char *name);

/* True if the table has this section. */
bool setting_section_known(const char *section);

/* Parses the text as the new value. Returns 0, or -1 with ERR_CONFIG that quotes the text and
 * says what is expected; then conf is unchanged. */
int setting_parse(
	const struct setting *setting, const char *text, struct conf *conf, struct err *err);

/* Appends the value as a person would write it: a size or duration in the largest unit that
 * gives a whole number, so 60s is written as 1m. */
void setting_format(const struct setting *setting, const struct conf *conf, struct buf *out);

/* Appends a description of valid values, such as `a duration from 1s to 1h (as 250ms, 5s, 2m,
 * 1h)`. */
void setting_describe(const struct setting *setting, struct buf *out);

/* True if the setting may be given on several lines, which form one list. */
bool setting_adds_up(const struct setting *setting);

/* The value of a setting that is stored as text, or as a number. */
const char *setting_text(const struct setting *setting, const struct conf *conf);
int64_t setting_number(const struct setting *setting, const struct conf *conf);

/* True if both have the same value. */
bool setting_equal(const struct setting *setting, const struct conf *a, const struct conf *b);
/* Copies the value from `from` to `to`, including text. */
void setting_copy(const struct setting *setting, struct conf *to, const struct conf *from);
/* Frees a text value and sets it to NULL. */
void setting_clear(const struct setting *setting, struct conf *conf);

#endif
