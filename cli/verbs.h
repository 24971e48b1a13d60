/*
 * verbs: what the command does, as a table of verbs, and the options that they
 * take.
 *
 * A verb never prints: it fills a report, and the row says how that is shown.
 * So nothing is told before it is committed, and every verb speaks JSON.
 */
#ifndef POSTERN_CLI_VERBS_H
#define POSTERN_CLI_VERBS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/report.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/ops/op.h"

struct arguments;
struct call;
struct conf;

/* The options that verbs may have; verbs.c has the table of their names. */
enum verb_option_id {
	OPTION_COMPANY,
	OPTION_DOMAIN,
	OPTION_NAME,
	OPTION_SCOPE,
	OPTION_INACTIVE,
	OPTION_LIMIT,
	OPTION_POLICY,
	OPTION_SUBDOMAINS,
	OPTION_RETURN_PATH,
	OPTION_UNSUBSCRIBE,
	OPTION_LOGIN,
	OPTION_CLIENT,
	OPTION_SENDER,
	OPTION_LOCAL,
	OPTION_REFUSED,
	OPTION_WAITING,
	OPTION_YES,
	OPTION_CONTENT,
	OPTION_TO,
	OPTION_FROM,
	OPTION_SUBJECT,
	OPTION_STATE,
	OPTION_UNTIL,
	OPTION_HOURS,
	OPTION_OLDER_THAN,
	OPTION_DRY_RUN,
	OPTION_SINCE,
	OPTION_OBJECT,
	OPTION_ROLE,
	OPTION_DAYS,
	OPTION_NO_PASSWORD,
	OPTION_OFF,
	OPTION_NO_BACKUP,
	OPTION_THROUGH,
	OPTION_NEW,
	OPTION_FORCE,
	OPTION_FIX,
	OPTION_QUIET,
	OPTION_POSTFIX,
	OPTION_UNDO,
	OPTION_SUBMISSION,
	OPTION_SMTP_AUTH,
	OPTION_USER,
	OPTION_KEY,
	OPTION_REASON,
	OPTION_SELECTOR,
	OPTION_KEY_FILE,
	OPTION_NOW,
	OPTION_ENDPOINT,
	OPTION_EVENTS,
	OPTION_EVENT,
	OPTION_TEXT,
	OPTION_ORIGIN,
	OPTIONS
};

enum { VERB_OPTIONS_MAX = 12 };

struct verb_option {
	enum verb_option_id id;
	bool required;
	const char *help; /* NULL ends the list */
};

/* What a verb does with the database. */
enum verb_access {
	VERB_NO_DATABASE,
	VERB_DIAGNOSES, /* opens nothing; settings that are refused do not keep it from running */
	VERB_READS,
	VERB_READS_ANY, /* whatever its schema, if it is ours */
	VERB_WRITES,    /* runs inside one transaction */
	VERB_STEPS,     /* writes in short transactions of its own */
	VERB_MIGRATES   /* inside one transaction, whatever its schema; made when
			 * missing */
};

enum verb_shape {
	VERB_ROWS,   /* a table; JSON: an array */
	VERB_RECORD, /* its only row, the note below; JSON: an object */
	VERB_NOTE,   /* the note alone; JSON: an object */
	VERB_LINES,  /* the note alone; JSON: an array */
	VERB_FOLLOWS /* run again and again while it gives 1, until a signal or
		      * the end of whoever reads the output; the note of each
		      * run, at once; JSON: an object on a line for each row */
};

struct verb {
	const char *noun;
	const char *name;     /* NULL: the noun alone */
	const char *argument; /* as `NAME`, `[NAME]`: may be left out;
			       * `NAME...`: one or more; NULL: takes none */
	bool variant;         /* of a row before it with the same words: this one is
			       * meant when the first of its options is given */
	enum verb_access access;
	enum verb_shape shape;
	const struct column *columns;
	struct verb_option options[VERB_OPTIONS_MAX];
	const char *help; /* whole sentences, for --help and the manual */
	/* Before the database is opened: asks for what is missing in the
	 * arguments, or does nothing (NULL). */
	int (*prepare)(struct arguments *arguments, const struct conf *conf, struct err *err);
	/* What takes time and may refuse the call: with the database, but
	 * before the transaction, which keeps all others from writing. Or
	 * NULL. */
	int (*check)(const struct call *call, struct err *err);
	/* NULL: it runs the operation. */
	int (*run)(const struct call *call, struct report *report, struct err *err);
	/* What it does (core/ops). The options that are named as members of its input
	 * are these; */
	const struct operation *operation;
	/* the word behind the verb is this member, unless it is what the verb is
	 * about (NULL); */
	const char *argument_is;
	/* a flag of the input that it sets (NULL: none); */
	const char *flag;
	enum op_flag flag_is;
	/* and other options are read by this, if it is not NULL. */
	int (*read)(const struct call *call, void *input, struct err *err);
	/* Adds to each of a list what is for people; NULL: nothing. */
	void (*add)(json_t *item);
	/* Of a list: how many without --limit, and with it at most; 0: all. */
	int64_t limit, limit_max;
	/* For people, in the place of rows: what it gives, with members in braces. */
	const char *note;
};

/* Ended by NULL; the verbs of a noun stand together. */
extern const struct verb *const verbs[];

struct verbs_option {
	const char *name;     /* without -- */
	const char *argument; /* as `ID`; NULL: takes none */
	const char *member;   /* of inputs; NULL: its name */
	bool is_no;           /* of a flag that it turns off */
};
extern const struct verbs_option verbs_options[OPTIONS];

bool verbs_has_noun(const char *noun);
/* name NULL finds a noun that is its own verb. NULL when there is none. */
const struct verb *verbs_find(const char *noun, const char *name);
/* The variant of the verb that is meant with these values of options, else the
 * verb itself. */
const struct verb *verbs_variant(const struct verb *verb, const char *const values[static OPTIONS]);
/* The option of the verb that is a member of its input; OPTIONS when there is none. */
enum verb_option_id verbs_option_of(const struct verb *verb, const char *member);
/* The row of the verb for an option, NULL when it does not take it. */
const struct verb_option *verbs_takes(const struct verb *verb, enum verb_option_id id);

/* What the command takes, in words. */

/* Appends all nouns, or all names of a noun's verbs, as `add, list, remove`. */
void usage_add_nouns(struct buf *out);
void usage_add_names(const char *noun, struct buf *out);

/* Appends `usage: postern domain add NAME --company ID [--inactive]`, in as
 * many lines as it needs. */
void usage_add_short(const struct verb *verb, struct buf *out);

/* Appends that, the help and the options of a verb. */
void usage_add_verb(const struct verb *verb, struct buf *out);

/* Appends the lines of all verbs of a noun, each with what it does; or of all
 * nouns, for NULL, the lines alone. */
void usage_add_all(const char *noun, struct buf *out);

#endif
