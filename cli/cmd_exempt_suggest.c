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
			"%lld more would be refused whoever sends them: "
			"postern email list --refused",
			(long long)list.hopeless);
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
	.help = "Tells which exemptions the mail would need that was recorded "
		"while the policy of the domain was learn, as commands to run, "
		"with the number of messages. Run those that are meant, then "
		"set the policy to exclusive.",
	.run = run_suggest,
};
