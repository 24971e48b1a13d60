/*
 * cmd_exempt: who may send as an exclusive domain without a key.
 */
#include <string.h>

#include "cli/cmd.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/ops/op_exemption.h"

static const struct column columns[] = {
	{"id", "ID", .type = COLUMN_TEXT},
	{"domain", "DOMAIN", .type = COLUMN_TEXT},
	{"kind", "KIND", .type = COLUMN_TEXT},
	{"value", "WHO", .type = COLUMN_TEXT},
	{"local", "LOCAL", .type = COLUMN_FLAG},
	{"created_at", "CREATED", COLUMN_TIME, .spare = 1},
	{0},
};

static const struct column removed_columns[] = {
	{"id", NULL, .type = COLUMN_TEXT},
	{"removed", "REMOVED", .type = COLUMN_FLAG},
	{0},
};

/* Reads the option that gives the kind. Returns 1, 0 if there is none, -1 on error. */
static int read_kind(const struct call *call, struct op_exemption *input, struct err *err)
{
	static const enum verb_option_id options[] = {OPTION_LOGIN, OPTION_CLIENT, OPTION_SENDER};
	int given = 0;

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const char *value = call_option(call, options[i]);

		if (value == NULL)
			continue;
		input->kind = verbs_options[options[i]].name;
		input->value = value;
		given++;
	}
	if (given > 1)
		return err_set(err, ERR_INVALID, "give one of --login, --client and --sender");
	return given;
}

static int read_who(const struct call *call, void *input, struct err *err)
{
	int given = read_kind(call, input, err);

	if (given == 0)
		return err_set(err, ERR_INVALID, "give one of --login, --client and --sender");
	return given < 0 ? -1 : 0;
}

/* Reads which exemption: by id, or by the options that it was added with. */
static int read_which(const struct call *call, void *input, struct err *err)
{
	int given = read_kind(call, input, err);
	char id[ID_SIZE];

	return given == 0 ? call_id_argument(call, id, err) : given < 0 ? -1 : 0;
}

static int check_twice(const struct call *call, void *input, struct err *err)
{
	(void)input;
	if (call_argument(call) && call_option(call, OPTION_DOMAIN))
		return err_set(err, ERR_INVALID, "the domain is given twice");
	return 0;
}

const struct verb cmd_exempt_add = {
	.noun = "exempt",
	.name = "add",
	.argument = "DOMAIN",
	.access = VERB_WRITES,
	.shape = VERB_RECORD,
	.columns = columns,
	.options = {{OPTION_LOGIN, false, "Whoever logs in to Postfix (SASL) with this name."},
		{OPTION_CLIENT, false,
			"SMTP clients with this address or in this network, as 10.1.2.3 or "
			"10.1.2.0/24. This is not mail from sendmail(1)."},
		{OPTION_SENDER, false,
			"Anybody here, but as this address of the domain alone: neither envelope "
			"sender nor From may be another one of the domain."},
		{OPTION_LOCAL, false,
			"With --sender: only mail that is submitted on this host, by sendmail(1) "
			"or a client with a loopback address, and not mail from other hosts of the "
			"network."}},
	.help = "Lets somebody send as an exclusive domain without a key; one of the three "
		"options says who. A message that could be taken for one of several "
		"senders is refused all the same.",
	.operation = &op_exemption_add,
	.argument_is = "domain",
	.read = read_who,
};

const struct verb cmd_exempt_list = {
	.noun = "exempt",
	.name = "list",
	.argument = "[DOMAIN]",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.options = {{OPTION_DOMAIN, false, "The same as the word DOMAIN."}},
	.help = "Lists who is exempt, newest first, or those for one domain.",
	.operation = &op_exemption_list,
	.argument_is = "domain",
	.read = check_twice,
};

#define REMOVE_HELP "The exemption of the domain that was added with this."

const struct verb cmd_exempt_remove = {
	.noun = "exempt",
	.name = "remove",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = removed_columns,
	.options = {{OPTION_LOGIN, false, REMOVE_HELP}, {OPTION_CLIENT, false, REMOVE_HELP},
		{OPTION_SENDER, false, REMOVE_HELP}},
	.help = "Removes an exemption. In the place of its id there may be its domain, "
		"with the option that it was added with. It holds for the next message.",
	.operation = &op_exemption_remove,
	.read = read_which,
	.note = "exemption {id} removed",
};

/* The value is untrusted. */
static void add_shell_quoted(struct buf *out, const char *value)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_";

	if (*value && value[strspn(value, plain)] == '\0') {
		buf_add_str(out, value);
		return;
	}
	buf_add_char(out, '\'');
	for (; *value; value++)
		if (*value == '\'')
			buf_add_str(out, "'\\''");
		else
			buf_add_char(out, *value);
	buf_add_char(out, '\'');
}

static const struct column suggest_columns[] = {
	{"command", "COMMAND", .type = COLUMN_TEXT},
	{"count", "MESSAGES", .type = COLUMN_INT},
	{"last_at", "LAST", .type = COLUMN_TIME},
	{0},
};

static int run_suggest(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_free_ void *input = NULL;
	const char *domain, *policy;
	json_int_t hopeless;
	json_t *list, *item;
	size_t i, n;

	if (call_input(call, &input, err) < 0 || call_operate(call, input, &list, err) < 0)
		return -1;
	domain = row_json_text(list, "domain");
	policy = row_json_text(list, "policy");
	n = json_array_size(json_object_get(list, "data"));
	json_array_foreach(json_object_get(list, "data"), i, item) {
		_cleanup_buf_ struct buf command = BUF_INIT;

		buf_printf(&command, "postern exempt add %s --%s=", row_json_text(item, "domain"),
			row_json_text(item, "kind"));
		add_shell_quoted(&command, row_json_text(item, "value"));
		if (json_is_true(json_object_get(item, "local")))
			buf_add_str(&command, " --local");
		json_object_set_new(item, "command", json_string(buf_str(&command)));
		report_json(report, item);
	}
	hopeless = json_integer_value(json_object_get(list, "hopeless"));
	if (hopeless > 0)
		report_note(report,
			"%s%" JSON_INTEGER_FORMAT
			"%s would be refused whoever sends them: postern email list "
			"--refused --domain %s",
			n > 0 ? "" : "nothing to suggest: ", hopeless, n > 0 ? " more" : "",
			domain);
	else if (n == 0 && str_eq(policy, "learn"))
		report_note(report,
			"nothing to suggest: no mail without a key has used %s, or all of that is "
			"exempt. If it has been in use for long enough: postern domain set %s "
			"--policy exclusive",
			domain, domain);
	else if (n == 0 && str_eq(policy, "shared"))
		report_note(report,
			"nothing to suggest: everybody here may send as %s. To learn who does: "
			"postern domain set %s --policy learn",
			domain, domain);
	else if (n == 0)
		report_note(report,
			"nothing to suggest: no mail without a key was refused for %s, or all of "
			"that is exempt: postern exempt list %s",
			domain, domain);
	json_decref(list);
	return 0;
}

const struct verb cmd_exempt_suggest = {
	.noun = "exempt",
	.name = "suggest",
	.argument = "DOMAIN",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = suggest_columns,
	.help = "Tells which exemptions the mail would need that the domain refused, or "
		"would have while its policy was learn, as commands to run, with the "
		"number of messages. Run those that are meant, then set the policy to "
		"exclusive.",
	.operation = &op_exemption_suggest,
	.argument_is = "domain",
	.run = run_suggest,
};
