/*
 * doctor: the checks of `postern doctor`, and their findings.
 *
 * A check adds findings, each with a row of the table in doctor.c, which says what the finding
 * means for mail and how to fix it. Checks come in three families: Postfix's settings, this host,
 * and the store.
 */
#ifndef POSTERN_CLI_DOCTOR_H
#define POSTERN_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/process.h"
#include "core/base/strv.h"

struct conf;
struct db;

/* In order of severity. */
enum doctor_result { DOCTOR_GOOD, DOCTOR_UNKNOWN, DOCTOR_WARNING, DOCTOR_WRONG };
/* Such as `good`, `wrong`. */
const char *doctor_result_name(enum doctor_result result);

/* How a fix is made. */
enum doctor_mend {
	MEND_BY_HAND, /* a person decides; the text says how */
	MEND_ASK,     /* a command that a person must run */
	MEND_SAFE,    /* a command that cannot harm mail */
};

struct doctor_row {
	const char *name;
	const char *means; /* the consequence for mail while it is not good */
	const char *mend;  /* the fix, unless the finding has its own; or NULL */
	enum doctor_mend kind;
};

struct doctor_finding {
	const struct doctor_row *row;
	enum doctor_result result;
	char *text;
	struct strv mend; /* words of a command; empty: the row's fix */
};

/* The parameters of Postfix that the checks use. */
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
	const struct conf *conf; /* the defaults if the file is invalid */
	bool briefly;            /* only quick checks that send no message */
	bool mended;             /* something has just been fixed */
	const char *refused;     /* why the file is invalid; or NULL */
	const char *postfix;     /* configuration folder; "": Postfix's own */
	int64_t now_us;
	bool is_root;
	bool is_installed;                    /* the settings are those of the package's daemons */
	bool has_units;                       /* and systemd runs these daemons */
	bool is_set_up;                       /* see doctor_run() */
	struct db *db;                        /* NULL: the database cannot be read */
	char *parameters[POSTFIX_PARAMETERS]; /* NULL: Postfix cannot be asked */
	struct strv services;                 /* options of master.cf that are looked at */
	struct process_list processes;
	struct doctor_finding *findings;
	size_t n;
};

/* Finds out if the settings are those of the package's daemons, run as units of systemd. */
void doctor_find_installation(struct doctor *doctor);

/* Runs all checks; before `postern setup`, and after its undo, only those that make sense then.
 * The caller sets the members above `is_set_up`. */
void doctor_run(struct doctor *doctor);
void doctor_clear(struct doctor *doctor);

/* Return the command of a finding as text, for the Postfix that was checked, or NULL; and if it is
 * safe to run. */
char *doctor_mend_words(const struct doctor *doctor, const struct doctor_finding *finding);
bool doctor_mend_is_safe(const struct doctor_finding *finding);

/* For the checks. */

/* Adds a finding. row is a name in the table. */
void doctor_say(struct doctor *doctor, const char *row, enum doctor_result result,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Sets the fix of the last finding: the words of a command, ended by NULL. */
void doctor_mend(struct doctor *doctor, ...) __attribute__((sentinel));

/* Returns the path of a file of postfix-conf, installed or built beside this program; NULL if it is
 * missing. The caller frees it. */
char *doctor_script(const char *name);
/* Runs a program with its arguments, ended by NULL, and returns its output without the last
 * newline; NULL if it fails without output. The caller frees it. */
char *doctor_output(const char *program, ...) __attribute__((sentinel));

void doctor_look_at_postfix(struct doctor *doctor);
void doctor_look_at_host(struct doctor *doctor);
void doctor_look_at_store(struct doctor *doctor);
void doctor_look_at_dns(struct doctor *doctor);

#endif
