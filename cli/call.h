/*
 * call: what a verb has at hand while it runs.
 */
#ifndef POSTERN_CLI_CALL_H
#define POSTERN_CLI_CALL_H

#include <stdint.h>

#include "cli/verb.h"
#include "core/base/id.h"
#include "core/db/db.h"

struct arguments;
struct conf;

struct call {
	const struct arguments *arguments;
	const struct conf *conf;
	struct db *db; /* as the row's access says; else NULL */
	int64_t now_us;
};

/* The word behind the verb. */
const char *call_argument(const struct call *call);

/* The value of an option, "" for a flag that is set, NULL when not given. */
const char *call_option(const struct call *call, enum verb_option_id id);

/* Reads the word, or the option, as the id of a noun. ERR_INVALID when it is
 * no id. An option that is not given leaves id empty. */
int call_id_argument(
	const struct call *call, char id[static ID_SIZE], struct err *err);
int call_id_option(const struct call *call, enum verb_option_id option,
	char id[static ID_SIZE], struct err *err);

#endif
