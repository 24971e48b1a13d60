/*
 * cmd_email_refused: what the milter stopped, or would have.
 *
 * Two lists, of emails and of other mail, each the newest first, are merged
 * into one.
 *
 * Threads: one, the command's.
 */
#include "cli/cmd.h"
#include "cli/cmd_email_private.h"
#include "core/policy/verdict.h"
#include "core/store/store_refusal.h"

enum {
	LAST_AT,
	FIRST_AT,
	OUTCOME,
	COUNT,
	DOMAIN_NAME,
	REASON,
	REASON_WORDS,
	ORIGIN,
	CLIENT,
	LOGIN,
	SENDER,
	FROM,
	EMAIL_ID,
	QUEUE_ID,
};

static const struct column columns[] = {
	[LAST_AT] = {"last_at", "LAST", .type = COLUMN_TIME},
	[FIRST_AT] = {"first_at", NULL, .type = COLUMN_TIME},
	[OUTCOME] = {"outcome", "OUTCOME", .type = COLUMN_TEXT},
	[COUNT] = {"count", "TIMES", .type = COLUMN_INT},
	[DOMAIN_NAME] = {"domain", "DOMAIN", COLUMN_TEXT, .width = 40},
	[REASON] = {"reason", NULL, .type = COLUMN_TEXT},
	[REASON_WORDS] = {"reason_text", "REASON", COLUMN_TEXT, .width = 60},
	[ORIGIN] = {"origin", NULL, .type = COLUMN_TEXT},
	[CLIENT] = {"client", "CLIENT", COLUMN_TEXT, .width = 40},
	[LOGIN] = {"login", "LOGIN", COLUMN_TEXT, .width = 40},
	[SENDER] = {"sender", "SENDER", COLUMN_TEXT, .width = 40},
	[FROM] = {"from", "FROM", COLUMN_TEXT, .width = 40},
	[EMAIL_ID] = {"email_id", "EMAIL ID", .type = COLUMN_TEXT},
	[QUEUE_ID] = {"queue_id", "QUEUE ID", COLUMN_TEXT, .width = 20},
	{0},
};

static void add_email(struct report *report, const struct email *email)
{
	report_add_row(report);
	report_time(report, LAST_AT, email->decided_us);
	report_time(report, FIRST_AT, email->decided_us);
	report_text(report, OUTCOME, store_email_state_name(email->state));
	report_number(report, COUNT, 1);
	report_text(report, DOMAIN_NAME, email->domain);
	report_text(report, REASON, email->refusal);
	report_text(report, REASON_WORDS, email->refusal);
	report_text(report, SENDER, email->sender);
	report_text(report, FROM, email->from);
	report_text(report, EMAIL_ID, email->id);
	report_text(report, QUEUE_ID, email->queue_id);
}

/* "" stands for none. */
static void add_text(struct report *report, size_t column, const char *text)
{
	report_text(report, column, *text ? text : NULL);
}

static void add_refusal(struct report *report, const struct refusal *refusal)
{
	report_add_row(report);
	report_time(report, LAST_AT, refusal->last_us);
	report_time(report, FIRST_AT, refusal->first_us);
	report_text(
		report, OUTCOME, store_refusal_outcome_name(refusal->outcome));
	report_number(report, COUNT, refusal->count);
	add_text(report, DOMAIN_NAME, refusal->domain);
	report_text(report, REASON, refusal->reason);
	report_text(report, REASON_WORDS, verdict_reason_words(refusal->reason));
	report_text(report, ORIGIN, refusal->origin);
	add_text(report, CLIENT, refusal->client);
	add_text(report, LOGIN, refusal->login);
	report_text(report, SENDER, refusal->sender);
	add_text(report, FROM, refusal->from);
	report_text(report, QUEUE_ID, refusal->queue_id);
}

static void merge(struct report *report, const struct email_list *emails,
	const struct refusal_list *refusals, size_t limit)
{
	size_t e = 0, r = 0;

	while (e + r < limit && (e < emails->n || r < refusals->n)) {
		bool email = r == refusals->n ||
			     (e < emails->n && emails->items[e].decided_us >=
						       refusals->items[r].last_us);

		if (email)
			add_email(report, &emails->items[e++]);
		else
			add_refusal(report, &refusals->items[r++]);
	}
}

static int fill(const struct call *call, const struct email_query *query,
	struct report *report, struct err *err)
{
	const struct refusal_scope scope = {
		.company_id = query->scope.company_id,
		.domain = query->scope.domain,
	};
	struct refusal_list refusals;
	struct email_list emails;

	if (store_email_list_refused(
		    call->db, &query->scope, query->limit, &emails, err) < 0)
		return -1;
	if (store_refusal_list(call->db, &scope, query->limit, &refusals, err) <
		0) {
		store_email_list_free(&emails);
		return -1;
	}
	merge(report, &emails, &refusals, (size_t)query->limit);
	store_email_list_free(&emails);
	store_refusal_list_free(&refusals);
	return 0;
}

static int run_refused(
	const struct call *call, struct report *report, struct err *err)
{
	_cleanup_email_query_ struct email_query query;

	if (email_query_read(call, &query, err) < 0)
		return -1;
	return fill(call, &query, report, err);
}

const struct verb cmd_email_refused = {
	.noun = "email",
	.name = "list",
	.variant = true,
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.options = {{OPTION_REFUSED, true,
			    "What was refused, in the place of all emails."},
		{OPTION_COMPANY, false,
			"Only emails of this company, and other mail that used "
			"a domain which it has now."},
		{OPTION_DOMAIN, false, "Only what used this domain."},
		{OPTION_LIMIT, false, EMAIL_LIMIT_HELP}},
	.help = "Lists what the rules refused, and what a domain with the "
		"policy learn would have refused, newest first: emails, and "
		"other mail that used a domain (postern domain set). Equal "
		"messages are shown once, with their number. An email can be "
		"shown by its id.",
	.run = run_refused,
};
