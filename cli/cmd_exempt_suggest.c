/*
 * cmd_exempt_suggest: the exemptions that recorded mail would need.
 *
 * Threads: one, the command's.
 */
#include "cli/cmd.h"
#include "cli/suggest.h"
#include "core/store/store_domain.h"

enum { COMMAND, COUNT, LAST_AT };

static const struct column columns[] = {
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
			"nothing to suggest: no mail without a key has used "
			"%s, or all of that is exempt. If it has been in use "
			"for long enough: postern domain set %s --policy "
			"exclusive",
			name, name);
		break;
	case POLICY_SHARED:
		report_note(report,
			"nothing to suggest: everybody here may send as %s. To "
			"learn who does: postern domain set %s --policy learn",
			name, name);
		break;
	default:
		report_note(report,
			"nothing to suggest: no mail without a key was refused "
			"for %s, or all of that is exempt: postern exempt list "
			"%s",
			name, name);
	}
}

static int run_suggest(
	const struct call *call, struct report *report, struct err *err)
{
	struct suggest_list list = {0};
	struct domain domain;
	int result;

	if (call_domain(call, call_argument(call), &domain, err) < 0)
		return -1;
	result = suggest_read(call->db, &domain, &list, err);
	for (size_t i = 0; i < list.n; i++) {
		_cleanup_free_ char *command = suggest_command(
			&domain, &list.items[i]);

		report_add_row(report);
		report_text(report, COMMAND, command);
		report_number(report, COUNT, list.items[i].count);
		report_time(report, LAST_AT, list.items[i].last_us);
	}
	if (list.hopeless > 0)
		report_note(report,
			"%s%lld%s would be refused whoever sends them: postern "
			"email list --refused --domain %s",
			list.n > 0 ? "" : "nothing to suggest: ",
			(long long)list.hopeless, list.n > 0 ? " more" : "",
			domain.name);
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
	.columns = columns,
	.help = "Tells which exemptions the mail would need that the domain "
		"refused, or would have while its policy was learn, as "
		"commands to run, with the number of messages. Run those that "
		"are meant, then set the policy to exclusive.",
	.run = run_suggest,
};
