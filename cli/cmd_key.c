/*
 * cmd_key: API keys.
 */
#include <string.h>

#include "cli/cmd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/ops/op_domain.h"
#include "core/ops/op_key.h"

#define COLUMNS                                                                                    \
	{"id", "ID", .type = COLUMN_TEXT}, {"company_id", "COMPANY", COLUMN_TEXT, .spare = 2},     \
		{"domain", "DOMAIN", .type = COLUMN_TEXT},                                         \
		{"name", "NAME", .type = COLUMN_TEXT, .width = 40},                                \
		{"scopes", "SCOPES", COLUMN_LIST, .spare = 3},                                     \
	{                                                                                          \
		"created_at", "CREATED", COLUMN_TIME, .spare = 1                                   \
	}

static const struct column columns[] = {
	COLUMNS,
	{"last_used_at", "LAST USED", COLUMN_TIME, .spare = 4},
	{"revoked_at", "REVOKED", .type = COLUMN_TIME},
	{0},
};

static const struct column created_columns[] = {COLUMNS, {"token", "TOKEN", .type = COLUMN_TEXT},
	{"smtp_host", "SMTP HOST", .type = COLUMN_TEXT},
	{"smtp_port", "SMTP PORT", .type = COLUMN_INT},
	{"smtp_security", "SMTP SECURITY", .type = COLUMN_TEXT},
	{"smtp_user", "SMTP USER", .type = COLUMN_TEXT}, {0}};

/* Finds the domain that the key sends as, or the first active one of its company. Returns 1, 0 if
 * there is none, -1 on error. */
static int find_sender(
	const struct call *call, const json_t *made, char **domain_r, struct err *err)
{
	const struct op_domain active = {
		.company_id = row_json_text(made, "company_id"), .active = OP_YES};
	const char *own = json_string_value(json_object_get(made, "domain"));
	json_t *domain;
	int found;

	if (own) {
		*domain_r = mem_strdup(own);
		return 1;
	}
	found = call_first(call, &op_domain_list, &active, &domain, err);
	if (found <= 0)
		return found;
	*domain_r = mem_strdup(row_json_text(domain, "name"));
	json_decref(domain);
	return 1;
}

static bool has_scope(const json_t *made, const char *scope)
{
	const json_t *scopes = json_object_get(made, "scopes"), *item;
	size_t i;

	json_array_foreach(scopes, i, item)
		if (str_eq(json_string_value(item), scope))
			return true;
	return false;
}

/* Adds a line for a shell of this host, where a server that listens everywhere is reached over
 * loopback. */
static void add_curl(
	const struct conf *conf, const json_t *made, const char *domain, struct buf *out)
{
	static const char everywhere[] = "http://0.0.0.0:", everywhere6[] = "http://[::]:";
	bool sends = has_scope(made, "sending");
	const char *socket, *path = sends || has_scope(made, "reading") ? "emails" : "domains";
	_cleanup_free_ char *url = conf_api_url(conf, &socket);

	buf_add_str(out,
		sends ? "\nSend an email over HTTP:\n\n  curl " : "\nUse it over HTTP:\n\n  curl ");
	if (socket)
		buf_printf(out, "--unix-socket %s \\\n    ", socket);
	if (str_starts(url, everywhere))
		buf_printf(out, "http://127.0.0.1:%s", url + strlen(everywhere));
	else if (str_starts(url, everywhere6))
		buf_printf(out, "http://[::1]:%s", url + strlen(everywhere6));
	else
		buf_add_str(out, url);
	buf_printf(out, "/%s \\\n    -H \"Authorization: Bearer %s\"", path,
		row_json_text(made, "token"));
	if (sends)
		buf_printf(out,
			" \\\n    -H \"Content-Type: application/json\" \\\n"
			"    -d '{\"from\":\"hello@%s\",\n"
			"         \"to\":\"you@example.net\",\n"
			"         \"subject\":\"Hello\",\"text\":\"It works.\"}'",
			domain);
	buf_add_char(out, '\n');
}

/* Reports the key, and for people how programs send with it. */
static int run_create(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_free_ void *input = NULL;
	_cleanup_free_ char *domain = NULL;
	struct buf text = BUF_INIT;
	struct err unknown = ERR_INIT;
	const char *smtp_host;
	json_t *made;
	int has_domain;

	if (call_input(call, &input, err) < 0 || call_operate(call, input, &made, err) < 0)
		return -1;
	report_json(report, made);
	/* The key is made: its token is shown whatever else fails. */
	has_domain = find_sender(call, made, &domain, &unknown);
	buf_add_str(&text, "\nThe token is shown only once: it is not stored.\n");
	if (has_domain == 0 && has_scope(made, "sending"))
		buf_add_str(&text,
			"The company has no active domain yet: until it has one, emails of "
			"this key\nare refused.\n");
	add_curl(call->conf, made, has_domain > 0 ? domain : "your-domain.example", &text);
	smtp_host = json_string_value(json_object_get(made, "smtp_host"));
	if (smtp_host)
		buf_printf(&text,
			"\nSettings of a program that sends over SMTP:\n\n"
			"  Host      %s\n  Port      %" JSON_INTEGER_FORMAT
			"\n  Security  %s\n"
			"  User      %s\n  Password  %s\n",
			smtp_host, json_integer_value(json_object_get(made, "smtp_port")),
			str_eq(row_json_text(made, "smtp_security"), "tls") ? "TLS from the start"
									    : "STARTTLS",
			row_json_text(made, "smtp_user"), row_json_text(made, "token"));
	report->note = buf_take(&text);
	json_decref(made);
	return 0;
}

const struct verb cmd_key_create = {
	.noun = "key",
	.name = "create",
	.access = VERB_WRITES,
	.shape = VERB_RECORD,
	.columns = created_columns,
	.options = {{OPTION_COMPANY, true, "The company that it belongs to."},
		{OPTION_NAME, true, "What people call it."},
		{OPTION_SCOPE, false,
			"What it may do: sending, reading, managing, with commas between. Who may "
			"manage may create keys over HTTP with any scope, also those that it "
			"lacks. Without this, sending and reading."},
		{OPTION_DOMAIN, false,
			"Restrict it to this domain of the company. The key is removed with the "
			"domain."}},
	.help = "Creates an API key and prints its token, once: only a hash of it is stored. A "
		"curl command that sends a first email with it follows, and the settings for "
		"programs that send over SMTP, where the token is the password, if auth.url is "
		"set, as postern setup --smtp-auth does. --json has no command.",
	.run = run_create,
	.operation = &op_key_create,
};

const struct verb cmd_key_list = {
	.noun = "key",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.options = {{OPTION_COMPANY, false, "Only those of this company."}},
	.help = "Lists the keys, newest first, with the revoked ones. When a key was last "
		"used is kept to the minute or so.",
	.operation = &op_key_list,
};

const struct verb cmd_key_revoke = {
	.noun = "key",
	.name = "revoke",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = columns,
	.help = "Makes a key invalid, at once and for good. What it sent and Postfix has "
		"not yet passed on to the milter is refused.",
	.operation = &op_key_revoke,
	.note = "key {id} ({name}) revoked",
};

static const struct column revoked_columns[] = {
	{"revoked", "REVOKED", .type = COLUMN_INT},
	{0},
};

const struct verb cmd_key_revoke_all = {
	.noun = "key",
	.name = "revoke",
	.variant = true,
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = revoked_columns,
	.options = {{OPTION_COMPANY, true, "All valid keys of this company, in the place of one."},
		{OPTION_DOMAIN, false, "Only those that are restricted to this domain."}},
	.help = "With a company and no id, makes all of its keys invalid, at once and for good, as "
		"after a leak.",
	.operation = &op_key_revoke_all,
	.note = "{revoked} keys revoked",
};
