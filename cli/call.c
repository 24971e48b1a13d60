/*
 * call: what a verb has at hand while it runs.
 *
 * Threads: any; changes nothing.
 */
#include "cli/call.h"

#include "cli/arguments.h"
#include "cli/verbs.h"
#include "core/base/secret.h"
#include "core/base/str.h"

const char *call_argument(const struct call *call)
{
	return call->arguments->argument;
}

const char *call_option(const struct call *call, enum verb_option_id id)
{
	return call->arguments->values[id];
}

static int read_id(const char *noun, const char *text, char id[static ID_SIZE],
	struct err *err)
{
	if (id_parse(text, id))
		return 0;
	if (str_starts(text, SECRET_TOKEN_PREFIX))
		return err_set(err, ERR_INVALID,
			"this is the token of a key, which is a secret; the id "
			"is expected, which `postern key list` shows");
	return err_set(err, ERR_INVALID,
		"\"%s\" is no %s id: a UUID is expected, as `postern %s list` "
		"shows it",
		text, noun, noun);
}

int call_id_argument(
	const struct call *call, char id[static ID_SIZE], struct err *err)
{
	return read_id(call->arguments->verb->noun, call_argument(call), id, err);
}

int call_id_option(const struct call *call, enum verb_option_id option,
	char id[static ID_SIZE], struct err *err)
{
	const char *text = call_option(call, option);

	id[0] = '\0';
	if (text == NULL)
		return 0;
	return read_id(verbs_options[option].name, text, id, err);
}
