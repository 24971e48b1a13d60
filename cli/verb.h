/*
 * verb: one thing that the command does, as a row of a table.
 *
 * A verb never prints: it fills a report, and the row says how that is shown.
 * So nothing is told before it is committed, and every verb speaks JSON.
 */
#ifndef POSTERN_CLI_VERB_H
#define POSTERN_CLI_VERB_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/report.h"
#include "core/base/err.h"

struct arguments;
struct call;
struct conf;

/* The options that verbs may have; arguments.c has the table of their names. */
enum verb_option_id {
	OPTION_COMPANY,
	OPTION_DOMAIN,
	OPTION_NAME,
	OPTION_SCOPE,
	OPTION_INACTIVE,
	OPTION_LIMIT,
	OPTION_POLICY,
	OPTION_SUBDOMAINS,
	OPTION_LOGIN,
	OPTION_CLIENT,
	OPTION_SENDER,
	OPTION_REFUSED,
	OPTIONS
};

enum { VERB_OPTIONS_MAX = 5 };

struct verb_option {
	enum verb_option_id id;
	bool required;
	const char *help; /* NULL ends the list */
};

/* What a verb does with the database. */
enum verb_access {
	VERB_NO_DATABASE,
	VERB_READS,
	VERB_WRITES,  /* runs inside one transaction */
	VERB_MIGRATES /* whatever its schema, made when missing */
};

enum verb_shape {
	VERB_ROWS,   /* a table; JSON: an array */
	VERB_RECORD, /* its only row, the note below; JSON: an object */
	VERB_NOTE,   /* the note alone; JSON: an object */
	VERB_LINES   /* the note alone; JSON: an array */
};

struct verb {
	const char *noun;
	const char *name;     /* NULL: the noun alone */
	const char *argument; /* as `NAME`, `[NAME]`: may be left out; NULL:
			       * takes none */
	bool variant; /* of a row before it with the same words: this one is
		       * meant when the first of its options is given */
	enum verb_access access;
	enum verb_shape shape;
	const struct column *columns;
	struct verb_option options[VERB_OPTIONS_MAX];
	const char *help; /* whole sentences, for --help and the manual */
	/* Before the database is opened: asks for what is missing in the
	 * arguments, or does nothing (NULL). */
	int (*prepare)(struct arguments *arguments, const struct conf *conf,
		struct err *err);
	/* What takes time and may refuse the call: with the database, but
	 * before the transaction, which keeps all others from writing. Or
	 * NULL. */
	int (*check)(const struct call *call, struct err *err);
	int (*run)(const struct call *call, struct report *report,
		struct err *err);
};

#endif
