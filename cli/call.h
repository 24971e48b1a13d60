/*
 * call: what a verb has at hand while it runs.
 */
#ifndef POSTERN_CLI_CALL_H
#define POSTERN_CLI_CALL_H

#include <stdint.h>

#include "cli/verb.h"
#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/store_domain.h"

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

/* Reads --company as the id of a company that is there, else ERR_NOT_FOUND. Not
 * given, it leaves id empty. */
int call_company_option(
	const struct call *call, char id[static ID_SIZE], struct err *err);

/* The registered domain of the name; ERR_NOT_FOUND without. The caller clears
 * it. */
int call_domain(const struct call *call, const char *given,
	struct domain *domain_r, struct err *err);

#endif
