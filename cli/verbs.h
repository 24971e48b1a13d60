/*
 * verbs: the table of all verbs, and of the options that they take.
 */
#ifndef POSTERN_CLI_VERBS_H
#define POSTERN_CLI_VERBS_H

#include "cli/verb.h"
#include "core/base/buf.h"

/* Ended by NULL; the verbs of a noun stand together. */
extern const struct verb *const verbs[];

struct verbs_option {
	const char *name;     /* without -- */
	const char *argument; /* as `ID`; NULL: takes none */
};
extern const struct verbs_option verbs_options[OPTIONS];

bool verbs_has_noun(const char *noun);
/* name NULL finds a noun that is its own verb. NULL when there is none. */
const struct verb *verbs_find(const char *noun, const char *name);
/* The variant of the verb that is meant with these values of options, else the
 * verb itself. */
const struct verb *verbs_variant(
	const struct verb *verb, const char *const values[static OPTIONS]);
/* The row of the verb for an option, NULL when it does not take it. */
const struct verb_option *verbs_takes(
	const struct verb *verb, enum verb_option_id id);

#endif
