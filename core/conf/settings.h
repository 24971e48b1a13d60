/*
 * settings: the table of all settings, for conf and for the documentation.
 */
#ifndef POSTERN_CONF_SETTINGS_H
#define POSTERN_CONF_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The types up to SETTING_DOMAINS are kept as text (a char * in struct conf,
 * bounds are those of its length in bytes), the others as int64_t. */
enum setting_type {
	SETTING_PATH,     /* absolute */
	SETTING_ADDRESS,  /* 127.0.0.1:80, [::1]:80 */
	SETTING_SERVER,   /* unix:/path, inet:127.0.0.1:25; or empty */
	SETTING_MODE,     /* octal permissions */
	SETTING_NETWORKS, /* as cidr reads them; several lines add up */
	SETTING_DOMAINS,  /* names with blanks or commas between; they add up */
	SETTING_INT,
	SETTING_BYTES,    /* 512, 64K, 40M, 1G */
	SETTING_DURATION, /* milliseconds: 250ms, 5s, 2m, 1h */
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

/* Grouped by section. */
extern const struct setting settings[];
extern const size_t settings_n;

#endif
