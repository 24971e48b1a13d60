/*
 * doctor: what `postern doctor` looks at, and what it finds.
 *
 * A look fills in findings, each under a row of the table in doctor.c, which says
 * what such a finding means for mail and what mends it. Looks come in three
 * families: Postfix's settings, this host, and the store.
 */
#ifndef POSTERN_CLI_DOCTOR_H
#define POSTERN_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/strv.h"

struct conf;
struct db;

/* In the order of their weight. */
enum doctor_result { DOCTOR_GOOD, DOCTOR_UNKNOWN, DOCTOR_WARNING, DOCTOR_WRONG };
/* As `good`, `wrong`. */
const char *doctor_result_name(enum doctor_result result);

/* Whether a mend may be run without asking. */
enum doctor_mend {
	MEND_BY_HAND, /* a person decides; the words say how */
	MEND_ASK,     /* a command, which a person has to run */
	MEND_SAFE,    /* a command that cannot make mail worse */
};

struct doctor_row {
	const char *name;
	const char *means; /* for mail, while it is not good */
	const char *mend;  /* unless the finding has its own; or NULL */
	enum doctor_mend kind;
};

struct doctor_finding {
	const struct doctor_row *row;
	enum doctor_result result;
	char *text;
	struct strv mend; /* words of a command; none: that of the row */
};

/* Parameters of Postfix that looks compare. */
enum doctor_parameter {
	POSTFIX_CONFIG,
	POSTFIX_QUEUE,
	POSTFIX_OWNER,
	POSTFIX_GROUP,
	POSTFIX_SIZE,
	POSTFIX_MINFREE,
	POSTFIX_NETWORKS,
	POSTFIX_RELAY,
	POSTFIX_RECIPIENT,
	POSTFIX_LIFETIME,
	POSTFIX_SMTPD_MILTERS,
	POSTFIX_LOCAL_MILTERS,
	POSTFIX_ACTION,
	POSTFIX_GENERIC,
	POSTFIX_SMTP_CHECKS,
	POSTFIX_INSTANCES,
	POSTFIX_OTHERS,
	POSTFIX_LOG,
	POSTFIX_SENDMAIL,
	POSTFIX_LOG_NAME,
	POSTFIX_PARAMETERS
};

struct doctor {
	const char *conf_path;
	const struct conf *conf; /* the defaults where the file is refused */
	bool briefly;            /* only what takes no time and sends no message */
	bool mended;             /* something was mended a moment ago */
	const char *refused;     /* why it is; or NULL */
	const char *postfix;     /* configuration folder; "": Postfix's own */
	int64_t now_us;
	bool is_root;
	bool is_installed;                    /* the settings are those of the package's daemons */
	bool has_units;                       /* and systemd runs them */
	struct db *db;                        /* NULL: it cannot be read */
	char *parameters[POSTFIX_PARAMETERS]; /* NULL: Postfix cannot be asked */
	struct doctor_finding *findings;
	size_t n;
};

/* Whether these are the settings of the package's daemons, as units of systemd. */
void doctor_find_installation(struct doctor *doctor);

/* Looks at all. The members above `db` are the caller's. */
void doctor_run(struct doctor *doctor);
void doctor_clear(struct doctor *doctor);

/* Of a finding: its command in words, or NULL; and whether that is safe. */
char *doctor_mend_words(const struct doctor_finding *finding);
bool doctor_mend_is_safe(const struct doctor_finding *finding);

/* For the looks. */

/* Adds a finding. The name is one of the table. */
void doctor_say(struct doctor *doctor, const char *row, enum doctor_result result,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
/* What mends the last finding: words of a command, ended by NULL. */
void doctor_mend(struct doctor *doctor, ...) __attribute__((sentinel));

/* A file of postfix-conf, which is installed or built beside this program; a new
 * string, NULL when it is missing. */
char *doctor_script(const char *name);
/* Runs a program of words, ended by NULL, and gives its output without the last
 * newline as a new string; NULL when it fails without a word. */
char *doctor_output(const char *program, ...) __attribute__((sentinel));

/* The process of Postfix's master(8); 0 when it cannot be told. */
int64_t doctor_postfix_master(const struct doctor *doctor);

void doctor_look_at_postfix(struct doctor *doctor);
void doctor_look_at_host(struct doctor *doctor);
void doctor_look_at_store(struct doctor *doctor);
void doctor_look_at_dns(struct doctor *doctor);

#endif
