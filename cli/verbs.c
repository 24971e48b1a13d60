/*
 * verbs: the table of all verbs, and of the options that they take.
 */
#include "cli/verbs.h"

#include <stddef.h>
#include <string.h>

#include "cli/cmd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"

const struct verb *const verbs[] = {
	&cmd_company_add,
	&cmd_company_list,
	&cmd_company_show,
	&cmd_company_remove,
	&cmd_domain_add,
	&cmd_domain_activate,
	&cmd_domain_deactivate,
	&cmd_domain_set,
	&cmd_domain_list,
	&cmd_domain_show,
	&cmd_domain_remove,
	&cmd_domain_check,
	&cmd_dkim_enable,
	&cmd_dkim_rotate,
	&cmd_dkim_disable,
	&cmd_dkim_list,
	&cmd_exempt_add,
	&cmd_exempt_list,
	&cmd_exempt_remove,
	&cmd_exempt_suggest,
	&cmd_suppression_add,
	&cmd_suppression_list,
	&cmd_suppression_remove,
	&cmd_key_create,
	&cmd_key_list,
	&cmd_key_revoke,
	&cmd_key_revoke_all,
	&cmd_webhook_add,
	&cmd_webhook_list,
	&cmd_webhook_show,
	&cmd_webhook_enable,
	&cmd_webhook_disable,
	&cmd_webhook_rotate,
	&cmd_webhook_test,
	&cmd_webhook_events,
	&cmd_webhook_attempts,
	&cmd_webhook_replay,
	&cmd_webhook_remove,
	&cmd_email_show,
	&cmd_email_list,
	&cmd_email_refused,
	&cmd_email_watch,
	&cmd_email_raw,
	&cmd_email_cancel,
	&cmd_email_resend,
	&cmd_email_purge,
	&cmd_outbox_list,
	&cmd_outbox_pause,
	&cmd_outbox_resume,
	&cmd_outbox_cancel,
	&cmd_stats,
	&cmd_stats_reasons,
	&cmd_stats_providers,
	&cmd_stats_delays,
	&cmd_stats_backlog,
	&cmd_held_list,
	&cmd_held_show,
	&cmd_held_release,
	&cmd_held_recheck,
	&cmd_held_drop,
	&cmd_held_serve,
	&cmd_hosts,
	&cmd_hosts_remove,
	&cmd_probe_add,
	&cmd_probe_show,
	&cmd_user_add,
	&cmd_user_list,
	&cmd_user_set,
	&cmd_user_passwd,
	&cmd_user_totp,
	&cmd_user_link,
	&cmd_user_remove,
	&cmd_token_create,
	&cmd_token_list,
	&cmd_token_revoke,
	&cmd_audit_list,
	&cmd_db_migrate,
	&cmd_db_check,
	&cmd_db_backup,
	&cmd_db_copy,
	&cmd_db_restore,
	&cmd_db_rehearse,
	&cmd_config,
	&cmd_setup,
	&cmd_doctor,
	&cmd_status,
	NULL,
};

const struct verbs_option verbs_options[OPTIONS] = {
	[OPTION_COMPANY] = {"company", "ID", "company_id", false},
	[OPTION_DOMAIN] = {"domain", "NAME", NULL, false},
	[OPTION_NAME] = {"name", "TEXT", NULL, false},
	[OPTION_SCOPE] = {"scope", "SCOPES", "scopes", false},
	[OPTION_INACTIVE] = {"inactive", NULL, "active", true},
	[OPTION_LIMIT] = {"limit", "N", NULL, false},
	[OPTION_POLICY] = {"policy", "P", NULL, false},
	[OPTION_SUBDOMAINS] = {"subdomains", "S", NULL, false},
	[OPTION_RETURN_PATH] = {"return-path", "DOMAIN", "return_path", false},
	[OPTION_UNSUBSCRIBE] = {"unsubscribe", "on|off", "unsubscribe", false},
	[OPTION_LOGIN] = {"login", "LOGIN", NULL, false},
	[OPTION_CLIENT] = {"client", "NETWORK", NULL, false},
	[OPTION_SENDER] = {"sender", "ADDRESS", NULL, false},
	[OPTION_LOCAL] = {"local", NULL, NULL, false},
	[OPTION_REFUSED] = {"refused", NULL, NULL, false},
	[OPTION_WAITING] = {"waiting", NULL, NULL, false},
	[OPTION_YES] = {"yes", NULL, NULL, false},
	[OPTION_CONTENT] = {"content", NULL, NULL, false},
	[OPTION_TO] = {"to", "ADDRESS", NULL, false},
	[OPTION_FROM] = {"from", "ADDRESS", NULL, false},
	[OPTION_SUBJECT] = {"subject", "TEXT", NULL, false},
	[OPTION_STATE] = {"state", "STATE", "status", false},
	[OPTION_UNTIL] = {"until", "TIME", NULL, false},
	[OPTION_HOURS] = {"hours", NULL, NULL, false},
	[OPTION_OLDER_THAN] = {"older-than", "AGE", NULL, false},
	[OPTION_DRY_RUN] = {"dry-run", NULL, NULL, false},
	[OPTION_SINCE] = {"since", "TIME", NULL, false},
	[OPTION_OBJECT] = {"object", "OBJECT", NULL, false},
	[OPTION_ROLE] = {"role", "ROLE", NULL, false},
	[OPTION_DAYS] = {"days", "N", NULL, false},
	[OPTION_NO_PASSWORD] = {"no-password", NULL, NULL, false},
	[OPTION_OFF] = {"off", NULL, NULL, false},
	[OPTION_NO_BACKUP] = {"no-backup", NULL, NULL, false},
	[OPTION_THROUGH] = {"through", NULL, NULL, false},
	[OPTION_TIMEOUT] = {"timeout", "SECONDS", NULL, false},
	[OPTION_NEW] = {"new", NULL, NULL, false},
	[OPTION_FORCE] = {"force", NULL, NULL, false},
	[OPTION_FIX] = {"fix", NULL, NULL, false},
	[OPTION_QUIET] = {"quiet", NULL, NULL, false},
	[OPTION_POSTFIX] = {"postfix", "DIR", NULL, false},
	[OPTION_UNDO] = {"undo", NULL, NULL, false},
	[OPTION_SUBMISSION] = {"submission", "METHOD", NULL, false},
	[OPTION_SERVICE] = {"service", "NAME", NULL, false},
	[OPTION_SMTP_AUTH] = {"smtp-auth", "PLACES", NULL, false},
	[OPTION_USER] = {"user", "LOGIN", NULL, false},
	[OPTION_KEY] = {"key", "ID", "key_id", false},
	[OPTION_REASON] = {"reason", "TEXT", NULL, false},
	[OPTION_SELECTOR] = {"selector", "NAME", NULL, false},
	[OPTION_KEY_FILE] = {"key-file", "FILE", NULL, false},
	[OPTION_NOW] = {"now", NULL, NULL, false},
	[OPTION_ENDPOINT] = {"endpoint", "URL", NULL, false},
	[OPTION_EVENTS] = {"events", "TYPES", NULL, false},
	[OPTION_EVENT] = {"event", "EVENT", "event_id", false},
	[OPTION_TEXT] = {"text", "TEXT", NULL, false},
	[OPTION_ORIGIN] = {"origin", "ORIGIN", NULL, false},
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
		if (str_eq(verbs[i]->noun, noun) && same_name(verbs[i]->name, name))
			return verbs[i];
	return NULL;
}

const struct verb *verbs_variant(const struct verb *verb, const char *const values[static OPTIONS])
{
	for (size_t i = 0; verbs[i]; i++)
		if (verbs[i]->variant && str_eq(verbs[i]->noun, verb->noun) &&
			same_name(verbs[i]->name, verb->name) && values[verbs[i]->options[0].id])
			return verbs[i];
	return verb;
}

enum verb_option_id verbs_option_of(const struct verb *verb, const char *member)
{
	for (size_t i = 0; verb->options[i].help; i++) {
		const struct verbs_option *option = &verbs_options[verb->options[i].id];

		if (str_eq(option->member ? option->member : option->name, member))
			return verb->options[i].id;
	}
	return OPTIONS;
}

const struct verb_option *verbs_takes(const struct verb *verb, enum verb_option_id id)
{
	for (size_t i = 0; verb->options[i].help; i++)
		if (verb->options[i].id == id)
			return &verb->options[i];
	return NULL;
}

/* Usage texts, generated from the table. */

enum { LINE_WIDTH = 76 };

static const char general[] =
	"Options of every command:\n"
	"  -c FILE, --config FILE  the settings (" CONF_DEFAULT_PATH
	")\n"
	"  --json                  print JSON\n"
	"  -h, --help              explain the command\n"
	"  -V, --version           print the version\n"
	"\n"
	"Postern sends email over HTTP through Postfix; see man postern.\n";

static void add_usage_word(struct buf *out, size_t start, const char *word)
{
	buf_printf(out, "%s%s", out->len > start ? ", " : "", word);
}

void usage_add_nouns(struct buf *out)
{
	size_t start = out->len;

	for (size_t i = 0; verbs[i]; i++)
		if (i == 0 || !str_eq(verbs[i - 1]->noun, verbs[i]->noun))
			add_usage_word(out, start, verbs[i]->noun);
}

void usage_add_names(const char *noun, struct buf *out)
{
	size_t start = out->len;

	for (size_t i = 0; verbs[i]; i++)
		if (verbs[i]->name && !verbs[i]->variant && str_eq(verbs[i]->noun, noun))
			add_usage_word(out, start, verbs[i]->name);
}

static void add_option(const struct verb_option *taken, struct buf *out)
{
	const struct verbs_option *option = &verbs_options[taken->id];

	buf_printf(out, "--%s", option->name);
	if (option->argument)
		buf_printf(out, " %s", option->argument);
}

/* Adds the usage line, wrapped before an option that would exceed LINE_WIDTH; continuation lines
 * are aligned with the verb's arguments. at: the column at which it begins. */
static void add_usage(const struct verb *verb, size_t at, struct buf *out)
{
	size_t indent = at + 4, start = out->len;

	buf_printf(out, "postern %s", verb->noun);
	if (verb->name)
		buf_printf(out, " %s", verb->name);
	if (verb->argument)
		buf_printf(out, " %s", verb->argument);
	at += out->len - start;
	for (size_t i = 0; verb->options[i].help; i++) {
		const struct verb_option *taken = &verb->options[i];
		_cleanup_buf_ struct buf option = BUF_INIT;

		buf_add_str(&option, taken->required ? "" : "[");
		add_option(taken, &option);
		buf_add_str(&option, taken->required ? "" : "]");
		if (at + 1 + option.len > LINE_WIDTH) {
			buf_printf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else {
			buf_add_char(out, ' ');
			at++;
		}
		buf_add(out, option.data, option.len);
		at += option.len;
	}
}

void usage_add_short(const struct verb *verb, struct buf *out)
{
	buf_add_str(out, "usage: ");
	add_usage(verb, strlen("usage: "), out);
	buf_add_char(out, '\n');
}

/* Adds the usage of a verb, and the first sentence of its help. */
static void add_summary(const struct verb *verb, struct buf *out)
{
	const char *end = strstr(verb->help, ". ");
	_cleanup_free_ char *sentence = end ? mem_dup(verb->help, (size_t)(end + 1 - verb->help))
					    : mem_strdup(verb->help);

	buf_add_str(out, "  ");
	add_usage(verb, 2, out);
	buf_add_char(out, '\n');
	visible_add_wrapped(out, sentence, 10, LINE_WIDTH);
}

void usage_add_verb(const struct verb *verb, struct buf *out)
{
	const char *heading = "See also:\n";

	usage_add_short(verb, out);
	buf_add_char(out, '\n');
	visible_add_wrapped(out, verb->help, 0, LINE_WIDTH);
	buf_add_char(out, '\n');
	for (size_t i = 0; verb->options[i].help; i++) {
		buf_add_str(out, "  ");
		add_option(&verb->options[i], out);
		buf_add_char(out, '\n');
		visible_add_wrapped(out, verb->options[i].help, 6, LINE_WIDTH);
	}
	if (verb->options[0].help)
		buf_add_char(out, '\n');
	/* What is shown for a noun that is a verb itself names its other verbs. */
	for (size_t i = 0; verb->name == NULL && verbs[i]; i++)
		if (verbs[i]->name && str_eq(verbs[i]->noun, verb->noun)) {
			buf_add_str(out, heading);
			add_summary(verbs[i], out);
			heading = "";
		}
	if (*heading == '\0')
		buf_add_char(out, '\n');
	buf_add_str(out, general);
}

void usage_add_all(const char *noun, struct buf *out)
{
	buf_add_str(out, "usage:\n");
	for (size_t i = 0; verbs[i]; i++) {
		if (noun && !str_eq(noun, verbs[i]->noun))
			continue;
		if (noun) {
			add_summary(verbs[i], out);
			continue;
		}
		buf_add_str(out, "  ");
		add_usage(verbs[i], 2, out);
		buf_add_char(out, '\n');
	}
	if (noun == NULL)
		buf_add_str(out, "\nMore: postern NOUN --help, postern NOUN VERB --help.\n");
	buf_printf(out, "\n%s", general);
}
