/*
 * cmd_held: mail that stays in Postfix's queue because of Postern: messages that the rules put on
 * hold, and messages that wait because Postfix did not ask the milter.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/cmd.h"
#include "cli/held_target.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/policy/verdict.h"
#include "core/postfix/postconf.h"
#include "core/postfix/postfix_queue.h"
#include "core/store/email/store_email.h"
#include "core/store/host/store_held.h"

enum {
	DEFAULT_LIMIT = 1000,
	MAX_LIMIT = 100000,
	HEADER_SHOWN = 256 * 1024,
};

enum {
	SINCE,
	STATE,
	QUEUE_ID,
	SENDER,
	FROM,
	DOMAIN_NAME,
	RECIPIENTS,
	REASON,
	EMAIL_ID,
	SIZE,
	NEXT,
	HEADER,
};

#define COLUMNS                                                                                    \
	[SINCE] = {"since", "SINCE", .type = COLUMN_TIME},                                         \
	[STATE] = {"state", "STATE", .type = COLUMN_TEXT},                                         \
	[QUEUE_ID] = {"queue_id", "QUEUE ID", .type = COLUMN_TEXT},                                \
	[SENDER] = {"sender", "SENDER", COLUMN_TEXT, .width = 40, .spare = 1},                     \
	[FROM] = {"from", "FROM", COLUMN_TEXT, .width = 40},                                       \
	[DOMAIN_NAME] = {"domain", "DOMAIN", COLUMN_TEXT, .width = 40, .spare = 2},                \
	[RECIPIENTS] = {"to", "TO", COLUMN_LIST, .width = 40},                                     \
	[REASON] = {"reason", "REASON", COLUMN_TEXT, .width = 80, .spare = 3},                     \
	[EMAIL_ID] = {"email_id", NULL, .type = COLUMN_TEXT},                                      \
	[SIZE] = {"size", NULL, .type = COLUMN_INT}

static const struct column list_columns[] = {COLUMNS, {0}};

static const struct column show_columns[] = {
	COLUMNS,
	[NEXT] = {"next", NULL, .type = COLUMN_TEXT},
	[HEADER] = {"header", NULL, .type = COLUMN_BODY},
	{0},
};

static const char held_next[] =
	"It stays until somebody decides: `postern held recheck` asks the rules again, `postern "
	"held release` lets it go without asking them, `postern held drop` removes it.";
static const char unasked[] = "Postfix took it without asking postern-milter.";
static const char unasked_next[] =
	"Postfix keeps it until it is too old (maximal_queue_lifetime), then returns it to the "
	"sender. Once Postfix asks postern-milter, `postern held release --waiting` submits it "
	"again; `postern held drop` removes it.";
static const char unanswered[] =
	"It is in Postfix's maildrop: postern-milter has not answered about it yet, or Postfix "
	"does not run.";
static const char unanswered_next[] =
	"Postfix, where it runs, tries again by itself, once a minute, until postern-milter "
	"answers; `postern held drop` removes it.";

/* pickup(8) keeps a message there while no milter answers. */
static bool is_in_maildrop(const struct queue_item *item)
{
	return str_eq(item->queue, "maildrop");
}

static void add_common(struct report *report, const struct queue_item *item)
{
	report_add_row(report);
	report_text(report, QUEUE_ID, item->id);
	report_text(report, SENDER, item->sender);
	report_number(report, SIZE, item->size);
}

/* Adds the message, if it is held by the rules or waits with a ticket. Returns its kind, or -1. */
static int add_ours(const struct call *call, struct report *report, const struct queue_item *item,
	struct err *err)
{
	static const struct email_scope everything = {0};
	_cleanup_strv_ struct strv all = STRV_INIT;
	char ticket[SECRET_TICKET_SIZE], id[ID_SIZE];
	struct email email;
	struct held held;
	int found, kind = held_kind_of(call, item, &held, err);

	if (kind != KIND_HELD && kind != KIND_WAITING)
		return kind;
	add_common(report, item);
	if (kind == KIND_HELD) {
		report_time(report, SINCE, held.held_us);
		report_text(report, STATE, "held");
		report_list(report, RECIPIENTS, &item->recipients);
		report_text(report, FROM, *held.from ? held.from : NULL);
		report_text(report, DOMAIN_NAME, *held.domain ? held.domain : NULL);
		report_text(report, REASON, verdict_reason_words(held.reason));
		store_held_clear(&held);
		return kind;
	}
	report_time(report, SINCE, item->arrival_s * SECOND_US);
	report_text(report, STATE, "waiting");
	held_find_ticket(item, ticket);
	found = store_email_find_ticket(call->db, ticket, id, err);
	if (found > 0)
		found = store_email_get(call->db, id, &everything, &email, err);
	if (found < 0)
		return -1;
	if (found == 0) {
		report_text(report, REASON, "No email on record has its ticket.");
		return kind;
	}
	for (size_t i = 0; i < email.recipients.n; i++)
		strv_add(&all, recipient_text(&email.recipients.items[i]));
	report_list(report, RECIPIENTS, &all);
	report_text(report, FROM, email.from);
	report_text(report, DOMAIN_NAME, email.domain);
	report_text(report, EMAIL_ID, email.id);
	switch (email.state) {
	case EMAIL_STAGED:
		report_text(report, REASON, is_in_maildrop(item) ? unanswered : unasked);
		break;
	case EMAIL_SENT:
		report_text(report, REASON, "Its email has gone out: this message is left over.");
		break;
	case EMAIL_REFUSED:
		report_text(report, REASON, email.refusal);
	}
	store_email_clear(&email);
	return kind;
}

struct listing {
	const struct call *call;
	struct report *report;
	size_t limit;
	size_t left_out;
	size_t others;
};

static int on_listed(void *arg, struct queue_item *item, struct err *err)
{
	struct listing *listing = arg;
	int kind;

	if (listing->report->rows_n < listing->limit) {
		kind = add_ours(listing->call, listing->report, item, err);
	} else {
		kind = held_kind_of(listing->call, item, NULL, err);
		listing->left_out += kind == KIND_HELD || kind == KIND_WAITING;
	}
	listing->others += kind == KIND_OTHER_HELD;
	return kind < 0 ? -1 : 0;
}

static int run_list(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	struct listing listing = {.call = call, .report = report};
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *host = NULL;
	int64_t limit = DEFAULT_LIMIT, elsewhere = 0;

	if (call_number_option(call, OPTION_LIMIT, MAX_LIMIT, &limit, err) < 0)
		return -1;
	listing.limit = (size_t)limit;
	if (postfix_queue_open(call->conf, &queue, err) < 0 ||
		postfix_queue_each(queue, on_listed, &listing, err) < 0)
		return -1;
	if (listing.left_out)
		buf_printf(&text, "%zu more, see --limit. ", listing.left_out);
	if (listing.others)
		buf_printf(&text,
			"Postfix holds %zu more for other reasons than the rules, or so long ago "
			"that it is not on record: postqueue -p",
			listing.others);
	if (store_held_elsewhere(call->db, &elsewhere, &host, NULL) == 0 && elsewhere > 0)
		buf_printf(&text,
			"%s%" PRId64
			" more on other hosts, such as %s: run postern held list there.",
			text.len ? ". " : "", elsewhere, host);
	if (text.len > 0)
		report_note(report, "\n%s", buf_str(&text));
	return 0;
}

/* Finds the messages that the words name, or all that wait. */
static int find_targets(const struct call *call, const struct postfix_queue *queue,
	struct held_targets *targets, struct err *err)
{
	targets->call = call;
	targets->all_waiting = call_option(call, OPTION_WAITING) != NULL;
	for (char *const *word = call->arguments->words; *word; word++)
		if (held_targets_find(targets, *word) == NULL)
			held_targets_add(targets, *word);
	if (held_targets_search(queue, targets, err) < 0)
		return -1;
	for (size_t i = 0; i < targets->n; i++) {
		struct held_target *target = &targets->items[i];

		if (target->item.queue == NULL)
			err_set(&target->why, ERR_NOT_FOUND,
				"Postfix has no such message (any more)");
		else if (target->kind == KIND_OTHER)
			err_set(&target->why, ERR_INVALID,
				"it is neither held nor waiting for the milter: Postfix is "
				"delivering it");
	}
	return 0;
}

static void report_targets(const struct held_targets *targets, struct report *report)
{
	for (size_t i = 0; i < targets->n; i++) {
		const struct held_target *target = &targets->items[i];
		const struct err *why = &target->why;

		held_target_report(target, report);
		if (target->outcome && why->code != ERR_TEMPORARY)
			continue;
		if (report->failure.code != ERR_NONE)
			continue;
		err_copy(&report->failure, why);
		err_prefix(&report->failure, "%s", target->item.id);
	}
}

/* Resubmits all waiting targets. */
static int submit_waiting(
	const struct postfix_queue *queue, struct held_targets *targets, struct err *err)
{
	static const char *const words[] = {
		[WAITING_SENT] = "sent",
		[WAITING_REFUSED] = "refused",
		[WAITING_UNJUDGED] = "submitted",
		[WAITING_REMOVED] = "removed",
	};
	_cleanup_free_ struct waiting **all = mem_alloc(targets->n, sizeof(struct waiting *));
	size_t n = 0;

	for (size_t i = 0; i < targets->n; i++) {
		struct held_target *target = &targets->items[i];

		if (!held_target_is_open(target) || target->kind != KIND_WAITING)
			continue;
		if (target->item.recipients.n > 1) {
			err_set(&target->why, ERR_TEMPORARY,
				"it has other recipients besides its ticket: Postfix has to be "
				"through with those first");
			continue;
		}
		if (target->item.mended) {
			err_set(&target->why, ERR_INVALID,
				"its sender is not UTF-8, as that of no email");
			continue;
		}
		target->waiting.item = &target->item;
		held_find_ticket(&target->item, target->waiting.ticket);
		all[n++] = &target->waiting;
	}
	if (held_waiting_submit(targets->call, queue, all, n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct held_target *target = CONTAINER_OF(all[i], struct held_target, waiting);

		target->why = all[i]->why;
		if (all[i]->outcome == WAITING_FAILED)
			continue;
		target->outcome = words[all[i]->outcome];
		if (all[i]->outcome == WAITING_UNJUDGED)
			err_set(&target->why, ERR_TEMPORARY,
				"Postfix has it anew, but postern-milter has not seen it");
		if (all[i]->outcome == WAITING_REMOVED)
			snprintf(target->why.text, sizeof(target->why.text),
				"its email had gone out");
	}
	return 0;
}

static int prepare_root(struct arguments *arguments, const struct conf *conf, struct err *err)
{
	(void)arguments;
	(void)conf;
	return postfix_queue_check_rights(err);
}

static int prepare_release(struct arguments *arguments, const struct conf *conf, struct err *err)
{
	bool waiting = arguments->values[OPTION_WAITING] != NULL;

	if (waiting == (arguments->argument != NULL))
		return err_set(err, ERR_INVALID,
			"give queue ids, or --waiting for all that waits for the milter");
	return prepare_root(arguments, conf, err);
}

static bool is_probe(const struct held_target *target)
{
	return target->kind == KIND_PROBE;
}

static int run_release(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	_cleanup_held_targets_ struct held_targets targets = {0};

	if (postfix_queue_open(call->conf, &queue, err) < 0 ||
		find_targets(call, queue, &targets, err) < 0 ||
		held_targets_change(queue, QUEUE_RELEASE, &targets, held_target_is_on_hold,
			"released", err) < 0 ||
		held_targets_change(queue, QUEUE_REMOVE, &targets, is_probe, "removed", err) < 0 ||
		submit_waiting(queue, &targets, err) < 0)
		return -1;
	report_targets(&targets, report);
	return 0;
}

static int run_recheck(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	_cleanup_held_targets_ struct held_targets targets = {0};
	_cleanup_(conf) struct conf *conf = conf_copy(call->conf);
	struct call asking = *call;

	asking.conf = conf;
	if (postconf_find_milter_socket(conf, err) < 0 ||
		postfix_queue_open(conf, &queue, err) < 0 ||
		find_targets(call, queue, &targets, err) < 0)
		return -1;
	for (size_t i = 0; i < targets.n; i++) {
		struct held_target *target = &targets.items[i];

		if (held_target_is_open(target) && held_target_is_on_hold(target))
			held_target_recheck(&asking, queue, target);
		report_progress(i + 1, targets.n);
	}
	if (held_targets_change(
		    queue, QUEUE_RELEASE, &targets, held_target_is_on_hold, "released", err) < 0 ||
		submit_waiting(queue, &targets, err) < 0)
		return -1;
	report_targets(&targets, report);
	return 0;
}

static int prepare_drop(struct arguments *arguments, const struct conf *conf, struct err *err)
{
	if (prepare_root(arguments, conf, err) < 0)
		return -1;
	if (arguments->values[OPTION_YES])
		return 0;
	if (!ask_is_possible())
		return err_set(err, ERR_INVALID, "what is dropped is gone for good: say --yes");
	return ask_removal("Remove these messages for good?", err);
}

static bool is_any(const struct held_target *target)
{
	(void)target;
	return true;
}

static int run_drop(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	_cleanup_held_targets_ struct held_targets targets = {0};

	if (postfix_queue_open(call->conf, &queue, err) < 0 ||
		find_targets(call, queue, &targets, err) < 0 ||
		held_targets_change(queue, QUEUE_REMOVE, &targets, is_any, "dropped", err) < 0)
		return -1;
	report_targets(&targets, report);
	return 0;
}

static int run_show(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	_cleanup_held_targets_ struct held_targets targets = {0};
	_cleanup_buf_ struct buf header = BUF_INIT;
	const struct held_target *target;

	if (postfix_queue_open(call->conf, &queue, err) < 0 ||
		find_targets(call, queue, &targets, err) < 0)
		return -1;
	target = &targets.items[0];
	if (target->why.code != ERR_NONE) {
		err_copy(err, &target->why);
		return err_prefix(err, "%s", target->item.id);
	}
	if (held_read_header(queue, &target->item, &header, err) < 0)
		return -1;
	if (target->kind == KIND_OTHER_HELD) {
		add_common(report, &target->item);
		report_time(report, SINCE, target->item.arrival_s * SECOND_US);
		report_text(report, STATE, "held by others");
		report_list(report, RECIPIENTS, &target->item.recipients);
		report_text(report, REASON, "It is not on record that the rules have it held.");
	} else if (add_ours(call, report, &target->item, err) < 0) {
		return -1;
	}
	if (report->rows_n == 0)
		return err_set(err, ERR_NOT_FOUND, "%s: it is gone", target->item.id);
	report_text(report, NEXT,
		target->kind != KIND_WAITING    ? held_next
		: is_in_maildrop(&target->item) ? unanswered_next
						: unasked_next);
	if (header.len > HEADER_SHOWN)
		header.data[str_utf8_cut(header.data, HEADER_SHOWN)] = '\0';
	report_text(report, HEADER, buf_str(&header));
	return 0;
}

const struct verb cmd_held_list = {
	.noun = "held",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = list_columns,
	.options = {{OPTION_LIMIT, false,
		"At most so many; 1000 unless given, and 100000 at most."}},
	.help = "Lists mail that stays in Postfix's queue because of Postern: what the "
		"rules have Postfix hold (held), and emails that Postfix took without "
		"asking postern-milter, which reach nobody before it was asked (waiting). "
		"Mail that is held for other reasons is counted, not listed.",
	.run = run_list,
};

const struct verb cmd_held_show = {
	.noun = "held",
	.name = "show",
	.argument = "QUEUEID",
	.access = VERB_READS,
	.shape = VERB_RECORD,
	.columns = show_columns,
	.help = "Shows such a message with its header, why it is where it is and what "
		"becomes of it.",
	.prepare = prepare_root,
	.run = run_show,
};

const struct verb cmd_held_release = {
	.noun = "held",
	.name = "release",
	.argument = "[QUEUEID...]",
	.access = VERB_STEPS,
	.shape = VERB_ROWS,
	.columns = held_done_columns,
	.options = {{OPTION_WAITING, false,
		"All that waits for the milter, in the place of queue ids; probes of "
		"postern-httpd that Postfix took without asking it are removed."}},
	.help = "Lets held mail go without asking the rules. An email that waits for the "
		"milter is submitted again, and so the rules are asked. When it is "
		"interrupted, or killed, nothing is lost and nothing sent twice: the same "
		"command again does the rest.",
	.prepare = prepare_release,
	.run = run_release,
};

const struct verb cmd_held_recheck = {
	.noun = "held",
	.name = "recheck",
	.argument = "QUEUEID...",
	.access = VERB_STEPS,
	.shape = VERB_ROWS,
	.columns = held_done_columns,
	.help = "Asks the rules again, as after postern exempt add: what passes them now "
		"goes out, the rest stays held. postern-milter has to run. Mail that is "
		"requeued with postsuper -r does not pass the milter again: it is "
		"delivered.",
	.prepare = prepare_root,
	.run = run_recheck,
};

const struct verb cmd_held_drop = {
	.noun = "held",
	.name = "drop",
	.argument = "QUEUEID...",
	.access = VERB_STEPS,
	.shape = VERB_ROWS,
	.columns = held_done_columns,
	.options = {{OPTION_YES, false, "Do not ask."}},
	.help = "Removes held or waiting mail for good, after asking.",
	.prepare = prepare_drop,
	.run = run_drop,
};
