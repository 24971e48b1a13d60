/*
 * cmd_exempt: who sends as an exclusive domain without a key.
 */
#include <string.h>

#include "cli/cmd.h"
#include "core/address/addr.h"
#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/policy/suggest.h"
#include "core/store/store_domain.h"
#include "core/store/store_exemption.h"

/* Strangers chose the value. */
static void add_quoted(struct buf *out, const char *value)
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

/* The command that makes the exemption, quoted for a shell; a new string. */
static char *suggest_command(const struct domain *domain, const struct suggestion *suggestion)
{
	struct buf out = BUF_INIT;

	buf_printf(&out, "postern exempt add %s --%s=", domain->name,
		store_exemption_kind_name(suggestion->kind));
	add_quoted(&out, suggestion->value);
	if (suggestion->local)
		buf_add_str(&out, " --local");
	return buf_take(&out);
}

static void fill_kind(struct report *report, size_t column, const void *item)
{
	const struct exemption *exemption = item;

	report_text(report, column, store_exemption_kind_name(exemption->kind));
}

static const struct column columns[] = {
	{"id", "ID", COLUMN_TEXT, COLUMN_OF(exemption, id)},
	{"domain", "DOMAIN", COLUMN_TEXT, COLUMN_OF(exemption, domain)},
	{"kind", "KIND", COLUMN_TEXT, .fill = fill_kind},
	{"value", "WHO", COLUMN_TEXT, COLUMN_OF(exemption, value)},
	{"local", "LOCAL", COLUMN_FLAG, COLUMN_OF(exemption, local)},
	{"created_at", "CREATED", COLUMN_TIME, .spare = 1, COLUMN_OF(exemption, created_us)},
	{0},
};

enum { REMOVED_ID, REMOVED };

static const struct column removed_columns[] = {
	[REMOVED_ID] = {"id", NULL, .type = COLUMN_TEXT},
	[REMOVED] = {"removed", "REMOVED", .type = COLUMN_FLAG},
	{0},
};

/* The one option that says who: 1, 0 when there is none, -1. */
static int read_who(const struct call *call, struct exemption_spec *spec, struct err *err)
{
	static const enum verb_option_id options[EXEMPTION_KINDS] = {
		[EXEMPT_LOGIN] = OPTION_LOGIN,
		[EXEMPT_CLIENT] = OPTION_CLIENT,
		[EXEMPT_SENDER] = OPTION_SENDER,
	};
	int given = 0;

	for (int i = 0; i < EXEMPTION_KINDS; i++) {
		const char *value = call_option(call, options[i]);

		if (value == NULL)
			continue;
		spec->kind = (enum exemption_kind)i;
		spec->value = value;
		given++;
	}
	if (given > 1)
		return err_set(err, ERR_INVALID, "give one of --login, --client and --sender");
	spec->local = call_option(call, OPTION_LOCAL) != NULL;
	if (spec->local && spec->kind != EXEMPT_SENDER)
		return err_set(err, ERR_INVALID,
			"--local goes with --sender: logins and clients name a place already");
	return given;
}

/* As exemptions have addresses: no name, the domain normalized. */
static int normalize_sender(struct exemption_spec *spec, char **address_r, struct err *err)
{
	_cleanup_addr_ struct addr addr = {0};

	if (spec->kind != EXEMPT_SENDER)
		return 0;
	if (addr_parse(spec->value, &addr, err) < 0)
		return err_prefix(err, "--sender");
	spec->value = *address_r = addr_spec(&addr);
	return 0;
}

/* The exemption that domain and option name; the strings are the caller's. */
struct named {
	struct exemption_spec spec;
	char *domain;
	char *address;
};

static int read_named(const struct call *call, struct named *named, struct err *err)
{
	if (addr_domain_normalize(call_argument(call), &named->domain, err) < 0 ||
		normalize_sender(&named->spec, &named->address, err) < 0)
		return -1;
	named->spec.domain = named->domain;
	return 0;
}

static void clear_named(struct named *named)
{
	free(named->domain);
	free(named->address);
}

static int run_add(const struct call *call, struct report *report, struct err *err)
{
	__attribute__((cleanup(clear_named))) struct named named = {0};
	struct exemption exemption;
	int given = read_who(call, &named.spec, err);

	if (given == 0)
		return err_set(err, ERR_INVALID, "give one of --login, --client and --sender");
	if (given < 0 || read_named(call, &named, err) < 0 ||
		store_exemption_add(call->db, &named.spec, call->now_us, &exemption, err) < 0)
		return -1;
	report_add(report, &exemption);
	store_exemption_clear(&exemption);
	return 0;
}

static int run_list(const struct call *call, struct report *report, struct err *err)
{
	const char *option = call_option(call, OPTION_DOMAIN);
	const char *given = call_argument(call) ? call_argument(call) : option;
	struct page page = CALL_FIRST_PAGE;
	struct page_end end = {.more = true};
	struct domain domain = {0};
	struct exemption_list list;
	int result = 0;

	if (option && option != given)
		return err_set(err, ERR_INVALID, "the domain is given twice");
	if (given && call_domain(call, given, &domain, err) < 0)
		return -1;
	while (end.more && result == 0) {
		if (store_exemption_list(call->db, NULL, domain.name, &page, &list, &end, err) <=
			0) {
			result = call_page_lost(err);
			break;
		}
		for (size_t i = 0; i < list.n; i++) {
			report_add(report, &list.items[i]);
			memcpy(page.after, list.items[i].id, ID_SIZE);
		}
		store_exemption_list_free(&list);
		result = report_flush(report, err);
	}
	store_domain_clear(&domain);
	return result;
}

static int find_named(
	const struct call *call, struct named *named, char id[static ID_SIZE], struct err *err)
{
	int found;

	if (read_named(call, named, err) < 0)
		return -1;
	found = store_exemption_find(call->db, &named->spec, id, err);
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "the %s %s is not exempt for %s",
			store_exemption_kind_name(named->spec.kind), named->spec.value,
			named->domain);
	return found < 0 ? -1 : 0;
}

/* By its id, or as it was added. */
static int find_one(const struct call *call, char id[static ID_SIZE], struct err *err)
{
	__attribute__((cleanup(clear_named))) struct named named = {0};
	int given = read_who(call, &named.spec, err);

	if (given == 0)
		return call_id_argument(call, id, err);
	return given < 0 ? -1 : find_named(call, &named, id, err);
}

static int run_remove(const struct call *call, struct report *report, struct err *err)
{
	char id[ID_SIZE];
	int removed;

	if (find_one(call, id, err) < 0)
		return -1;
	removed = store_exemption_remove(call->db, id, err);
	if (removed < 0)
		return -1;
	if (removed == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no exemption with the id %s", id);
	report_add_row(report);
	report_text(report, REMOVED_ID, id);
	report_number(report, REMOVED, true);
	report_note(report, "exemption %s removed", id);
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
	.run = run_add,
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
	.run = run_list,
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
	.run = run_remove,
};

enum { COMMAND, COUNT, LAST_AT };

static const struct column suggest_columns[] = {
	[COMMAND] = {"command", "COMMAND", .type = COLUMN_TEXT},
	[COUNT] = {"count", "MESSAGES", .type = COLUMN_INT},
	[LAST_AT] = {"last_at", "LAST", .type = COLUMN_TIME},
	{0},
};

/* What to do when there is nothing to run. */
static void note_nothing(struct report *report, const struct domain *domain)
{
	const char *name = domain->name;

	switch (domain->policy) {
	case POLICY_LEARN:
		report_note(report,
			"nothing to suggest: no mail without a key has used %s, or all of that is "
			"exempt. If it has been in use for long enough: postern domain set %s "
			"--policy exclusive",
			name, name);
		break;
	case POLICY_SHARED:
		report_note(report,
			"nothing to suggest: everybody here may send as %s. To learn who does: "
			"postern domain set %s --policy learn",
			name, name);
		break;
	default:
		report_note(report,
			"nothing to suggest: no mail without a key was refused for %s, or all of "
			"that is exempt: postern exempt list %s",
			name, name);
	}
}

static int run_suggest(const struct call *call, struct report *report, struct err *err)
{
	struct suggest_list list = {0};
	struct domain domain;
	int result;

	if (call_domain(call, call_argument(call), &domain, err) < 0)
		return -1;
	result = suggest_read(call->db, &domain, &list, err);
	for (size_t i = 0; i < list.n; i++) {
		_cleanup_free_ char *command = suggest_command(&domain, &list.items[i]);

		report_add_row(report);
		report_text(report, COMMAND, command);
		report_number(report, COUNT, list.items[i].count);
		report_time(report, LAST_AT, list.items[i].last_us);
	}
	if (list.hopeless > 0)
		report_note(report,
			"%s%lld%s would be refused whoever sends them: postern email list "
			"--refused --domain %s",
			list.n > 0 ? "" : "nothing to suggest: ", (long long)list.hopeless,
			list.n > 0 ? " more" : "", domain.name);
	if (result == 0 && list.n == 0 && list.hopeless == 0)
		note_nothing(report, &domain);
	suggest_list_free(&list);
	store_domain_clear(&domain);
	return result;
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
	.run = run_suggest,
};
