/*
 * verbs: the table of all verbs, and of the options that they take.
 *
 * Threads: any; the tables are constant.
 */
#include "cli/verbs.h"

#include <stddef.h>

#include "cli/cmd.h"
#include "core/base/str.h"

const struct verb *const verbs[] = {
	&cmd_company_add,
	&cmd_company_list,
	&cmd_company_remove,
	&cmd_domain_add,
	&cmd_domain_activate,
	&cmd_domain_deactivate,
	&cmd_domain_set,
	&cmd_domain_list,
	&cmd_domain_remove,
	&cmd_exempt_add,
	&cmd_exempt_list,
	&cmd_exempt_remove,
	&cmd_exempt_suggest,
	&cmd_key_create,
	&cmd_key_list,
	&cmd_key_revoke,
	&cmd_email_show,
	&cmd_email_list,
	&cmd_email_refused,
	&cmd_db_migrate,
	&cmd_db_check,
	&cmd_db_backup,
	&cmd_config,
	NULL,
};

const struct verbs_option verbs_options[OPTIONS] = {
	[OPTION_COMPANY] = {"company", "ID"},
	[OPTION_DOMAIN] = {"domain", "NAME"},
	[OPTION_NAME] = {"name", "TEXT"},
	[OPTION_SCOPE] = {"scope", "SCOPES"},
	[OPTION_INACTIVE] = {"inactive", NULL},
	[OPTION_LIMIT] = {"limit", "N"},
	[OPTION_POLICY] = {"policy", "P"},
	[OPTION_SUBDOMAINS] = {"subdomains", "S"},
	[OPTION_LOGIN] = {"login", "LOGIN"},
	[OPTION_CLIENT] = {"client", "NETWORK"},
	[OPTION_SENDER] = {"sender", "ADDRESS"},
	[OPTION_REFUSED] = {"refused", NULL},
};

bool verbs_has_noun(const char *noun)
{
	for (size_t i = 0; verbs[i]; i++)
		if (str_eq(verbs[i]->noun, noun))
			return true;
	return false;
}

static bool same_name(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : str_eq(a, b);
}

const struct verb *verbs_find(const char *noun, const char *name)
{
	for (size_t i = 0; verbs[i]; i++)
		if (str_eq(verbs[i]->noun, noun) &&
			same_name(verbs[i]->name, name))
			return verbs[i];
	return NULL;
}

const struct verb *verbs_variant(
	const struct verb *verb, const char *const values[static OPTIONS])
{
	for (size_t i = 0; verbs[i]; i++)
		if (verbs[i]->variant && str_eq(verbs[i]->noun, verb->noun) &&
			same_name(verbs[i]->name, verb->name) &&
			values[verbs[i]->options[0].id])
			return verbs[i];
	return verb;
}

const struct verb_option *verbs_takes(
	const struct verb *verb, enum verb_option_id id)
{
	for (size_t i = 0; verb->options[i].help; i++)
		if (verb->options[i].id == id)
			return &verb->options[i];
	return NULL;
}
