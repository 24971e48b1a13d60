/*
 * verbs: the table of the command's verbs, and their options.
 *
 * A verb never prints: it fills a report, and its row says how that is shown. So nothing is printed
 * before it is committed, and every verb supports JSON.
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

/* The options of verbs; verbs.c has the table of their names. */
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
	OPTION_TIMEOUT,
	OPTION_NEW,
	OPTION_FORCE,
	OPTION_FIX,
	OPTION_QUIET,
	OPTION_POSTFIX,
	OPTION_UNDO,
	OPTION_SUBMISSION,
	OPTION_SERVICE,
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

enum { VERB_OPTIONS_MAX = 13 };

struct verb_option {
	enum verb_option_id id;
	bool required;
	const char *help; /* NULL ends the list */
};

/* How a verb uses the database. */
enum verb_access {
	VERB_NO_DATABASE,
	VERB_DIAGNOSES, /* opens nothing; runs even with invalid settings */
	VERB_READS,
	VERB_READS_ANY, /* with any schema version, if it is ours */
	VERB_WRITES,    /* runs inside one transaction */
	VERB_STEPS,     /* writes in short transactions of its own */
	/* Inside one transaction, with any schema version; creates a missing database. */
	VERB_MIGRATES
};

enum verb_shape {
	VERB_ROWS,   /* a table; JSON: an array */
	VERB_RECORD, /* its only row, and the note below; JSON: an object */
	VERB_NOTE,   /* only the note; JSON: an object */
	VERB_LINES,  /* only the note; JSON: an array */
	/* Runs repeatedly while it returns 1, until a signal or until the reader closes the
	 * output; prints the note of each run at once; JSON: an object on a line for each row. */
	VERB_FOLLOWS
};

struct verb {
	const char *noun;
	const char *name; /* NULL: only the noun */
	/* Such as `NAME`; `[NAME]`: optional; `NAME...`: one or more; NULL: takes none. */
	const char *argument;
	/* A variant of an earlier row with the same words, selected when the first of its
	 * options is given. */
	bool variant;
	enum verb_access access;
	enum verb_shape shape;
	const struct column *columns;
	struct verb_option options[VERB_OPTIONS_MAX];
	const char *help; /* whole sentences, for --help and the manual */
	/* Runs before the database is opened: asks for missing arguments. May be NULL. */
	int (*prepare)(struct arguments *arguments, const struct conf *conf, struct err *err);
	/* For work that takes time and may refuse the call: runs with the database, but before the
	 * transaction, which blocks all other writers. May be NULL. */
	int (*check)(const struct call *call, struct err *err);
	/* NULL: runs the operation. */
	int (*run)(const struct call *call, struct report *report, struct err *err);
	/* The operation (core/ops). Options with the name of a member of its input set that
	 * member; */
	const struct operation *operation;
	/* the argument sets this member, or is the object of the operation (NULL); */
	const char *argument_is;
	/* the verb sets this flag of the input (NULL: none); */
	const char *flag;
	enum op_flag flag_is;
	/* and this function reads other options. May be NULL. */
	int (*read)(const struct call *call, void *input, struct err *err);
	/* Adds members for people to each item of a list. May be NULL. */
	void (*add)(json_t *item);
	/* For a list: the default and the maximum of --limit; 0: all. */
	int64_t limit, limit_max;
	/* For people, instead of rows: a text with result members in braces. */
	const char *note;
};

/* Ended by NULL; the verbs of a noun are adjacent. */
extern const struct verb *const verbs[];

struct verbs_option {
	const char *name;     /* without -- */
	const char *argument; /* such as `ID`; NULL: takes none */
	const char *member;   /* member of inputs; NULL: same as its name */
	bool is_no;           /* it turns the flag off */
};
extern const struct verbs_option verbs_options[OPTIONS];

bool verbs_has_noun(const char *noun);
/* A NULL name finds a noun that is its own verb. Returns NULL if there is none. */
const struct verb *verbs_find(const char *noun, const char *name);
/* Returns the variant of the verb for these option values, else the verb itself. */
const struct verb *verbs_variant(const struct verb *verb, const char *const values[static OPTIONS]);
/* Returns the option of the verb for a member of its input; OPTIONS if there is none. */
enum verb_option_id verbs_option_of(const struct verb *verb, const char *member);
/* Returns the row of the verb for an option, NULL if the verb does not take it. */
const struct verb_option *verbs_takes(const struct verb *verb, enum verb_option_id id);

/* Usage texts. */

/* Appends all nouns, or all names of a noun's verbs, as `add, list, remove`. */
void usage_add_nouns(struct buf *out);
void usage_add_names(const char *noun, struct buf *out);

/* Appends `usage: postern domain add NAME --company ID [--inactive]`, in as
 * many lines as it needs. */
void usage_add_short(const struct verb *verb, struct buf *out);

/* Appends the usage, the help and the options of a verb. */
void usage_add_verb(const struct verb *verb, struct buf *out);

/* Appends the lines of all verbs of a noun, each with its summary; for NULL the lines of all nouns,
 * without summaries. */
void usage_add_all(const char *noun, struct buf *out);

#endif
