/*
 * cmd_held: mail that stays in Postfix's queue because of Postern: messages that the rules put on
 * hold, and messages that wait because Postfix did not ask the milter.
 *
 * Postfix shows a message to milters only when it arrives. So recheck does not requeue a held
 * message: it asks postern-milter as Postfix would, with the envelope and header of the queue file.
 * If the rules now accept it, it is released, which is one rename; otherwise nothing changes. So a
 * message never exists twice, whenever this process is killed. A waiting message must be submitted
 * again, see held_waiting.
 *
 * The dashboard's process may not read or change the queue. It stores the decisions of admins, and
 * serve carries them out; serve also stores the content of the queue files for the dashboard. Root
 * starts serve, and only its helper process keeps root's rights (queue_helper).
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/cmd.h"
#include "cli/held_waiting.h"
#include "cli/milter_ask.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/db/db_file.h"
#include "core/policy/ticket.h"
#include "core/read/mime_read.h"
#include "core/policy/verdict.h"
#include "core/postfix/postconf.h"
#include "core/postfix/postfix_queue.h"
#include "core/postfix/queue_helper.h"
#include "core/store/store_audit.h"
#include "core/store/store_email.h"
#include "core/store/store_held.h"

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

#define EVENT_KINDS                                                                                \
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

static const struct column list_columns[] = {EVENT_KINDS, {0}};

static const struct column show_columns[] = {
	EVENT_KINDS,
	[NEXT] = {"next", NULL, .type = COLUMN_TEXT},
	[HEADER] = {"header", NULL, .type = COLUMN_BODY},
	{0},
};

enum { DONE_ID, DONE_OUTCOME, DONE_DETAIL };

static const struct column done_columns[] = {
	[DONE_ID] = {"queue_id", "QUEUE ID", .type = COLUMN_TEXT},
	[DONE_OUTCOME] = {"outcome", "OUTCOME", .type = COLUMN_TEXT},
	[DONE_DETAIL] = {"detail", "DETAIL", .type = COLUMN_TEXT},
	{0},
};

/* The kind of a message in the queue. */
enum kind {
	KIND_OTHER,      /* not ours */
	KIND_OTHER_HELD, /* not ours, in the hold queue */
	KIND_HELD,       /* held by the rules */
	KIND_WAITING,    /* waits for the milter */
	KIND_PROBE, /* a probe of postern-httpd that Postfix accepted without asking the milter */
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

static bool find_ticket(const struct queue_item *item, char ticket_r[static SECRET_TICKET_SIZE])
{
	for (size_t i = 0; i < item->recipients.n; i++)
		if (ticket_read(item->recipients.items[i], ticket_r) == TICKET_READ)
			return true;
	return false;
}

/* Finds the kind of a message. With KIND_HELD, *held_r is its row in the store; held_r may be NULL.
 * Returns -1 on error. */
static int kind_of(const struct call *call, const struct queue_item *item, struct held *held_r,
	struct err *err)
{
	char ticket[SECRET_TICKET_SIZE];
	struct held held = {0};
	int found;

	if (!str_eq(item->queue, "hold")) {
		if (!find_ticket(item, ticket))
			return KIND_OTHER;
		if (*item->sender)
			return KIND_WAITING;
		/* A probe has a null sender. */
		return str_eq(item->queue, "deferred") ? KIND_PROBE : KIND_OTHER;
	}
	found = store_held_get(call->db, item->id, item->arrival_s, &held, err);
	if (found < 0)
		return -1;
	if (found && held_r)
		*held_r = held;
	else
		store_held_clear(&held);
	return found ? KIND_HELD : KIND_OTHER_HELD;
}

static void add_common(struct report *report, const struct queue_item *item)
{
	report_add_row(report);
	report_text(report, QUEUE_ID, item->id);
	report_text(report, SENDER, item->sender);
	report_number(report, SIZE, item->size);
}

static void add_held(struct report *report, const struct queue_item *item, const struct held *held)
{
	add_common(report, item);
	report_time(report, SINCE, held->held_us);
	report_text(report, STATE, "held");
	report_list(report, RECIPIENTS, &item->recipients);
	report_text(report, FROM, *held->from ? held->from : NULL);
	report_text(report, DOMAIN_NAME, *held->domain ? held->domain : NULL);
	report_text(report, REASON, verdict_reason_words(held->reason));
}

static void add_other_held(struct report *report, const struct queue_item *item)
{
	add_common(report, item);
	report_time(report, SINCE, item->arrival_s * SECOND_US);
	report_text(report, STATE, "held by others");
	report_list(report, RECIPIENTS, &item->recipients);
	report_text(report, REASON, "It is not on record that the rules have it held.");
}

static void add_email(
	struct report *report, const struct queue_item *item, const struct email *email)
{
	_cleanup_strv_ struct strv all = STRV_INIT;

	for (size_t i = 0; i < email->recipients.n; i++)
		strv_add(&all, recipient_text(&email->recipients.items[i]));
	report_list(report, RECIPIENTS, &all);
	report_text(report, FROM, email->from);
	report_text(report, DOMAIN_NAME, email->domain);
	report_text(report, EMAIL_ID, email->id);
	switch (email->state) {
	case EMAIL_STAGED:
		report_text(report, REASON, is_in_maildrop(item) ? unanswered : unasked);
		break;
	case EMAIL_SENT:
		report_text(report, REASON, "Its email has gone out: this message is left over.");
		break;
	case EMAIL_REFUSED:
		report_text(report, REASON, email->refusal);
	}
}

static int add_waiting(const struct call *call, struct report *report,
	const struct queue_item *item, struct err *err)
{
	static const struct email_scope everything = {0};
	char ticket[SECRET_TICKET_SIZE], id[ID_SIZE];
	struct email email;
	int found;

	find_ticket(item, ticket);
	add_common(report, item);
	report_time(report, SINCE, item->arrival_s * SECOND_US);
	report_text(report, STATE, "waiting");
	found = store_email_find_ticket(call->db, ticket, id, err);
	if (found > 0)
		found = store_email_get(call->db, id, &everything, &email, err);
	if (found < 0)
		return -1;
	if (found == 0) {
		report_text(report, REASON, "No email on record has its ticket.");
		return 0;
	}
	add_email(report, item, &email);
	store_email_clear(&email);
	return 0;
}

/* Adds the message, if it is ours. Returns its kind, or -1. */
static int add_ours(const struct call *call, struct report *report, const struct queue_item *item,
	struct err *err)
{
	struct held held;
	int kind = kind_of(call, item, &held, err);

	if (kind == KIND_HELD) {
		add_held(report, item, &held);
		store_held_clear(&held);
	}
	if (kind == KIND_WAITING && add_waiting(call, report, item, err) < 0)
		return -1;
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
		kind = kind_of(listing->call, item, NULL, err);
		listing->left_out += kind == KIND_HELD || kind == KIND_WAITING;
	}
	listing->others += kind == KIND_OTHER_HELD;
	return kind < 0 ? -1 : 0;
}

static void note_listing(const struct listing *listing)
{
	_cleanup_buf_ struct buf text = BUF_INIT;

	if (listing->left_out)
		buf_printf(&text, "%zu more, see --limit. ", listing->left_out);
	if (listing->others)
		buf_printf(&text,
			"Postfix holds %zu more for other reasons than the rules, or so long ago "
			"that it is not on record: postqueue -p",
			listing->others);
	if (text.len > 0)
		report_note(listing->report, "\n%s", buf_str(&text));
}

static int run_list(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	struct listing listing = {.call = call, .report = report};
	int64_t limit = DEFAULT_LIMIT;

	if (call_number_option(call, OPTION_LIMIT, MAX_LIMIT, &limit, err) < 0)
		return -1;
	listing.limit = (size_t)limit;
	if (postfix_queue_open(call->conf, &queue, err) < 0 ||
		postfix_queue_each(queue, on_listed, &listing, err) < 0)
		return -1;
	note_listing(&listing);
	return 0;
}

/* A message that the command acts on. */
struct target {
	struct queue_item item; /* only the id until it is found */
	enum kind kind;
	struct waiting waiting; /* for KIND_WAITING, during the submission */
	const struct held *row; /* for serve: the row with the decision; else NULL */
	const char *outcome;    /* for the report; NULL: none yet */
	struct err why;
};

struct targets {
	const struct call *call;
	struct target *items;
	size_t n;
	bool all_waiting; /* instead of named messages */
	bool served;      /* the dashboard made the decision, and wrote the audit entry */
};

static void clear_targets(struct targets *targets)
{
	for (size_t i = 0; i < targets->n; i++)
		queue_item_clear(&targets->items[i].item);
	free(targets->items);
}
#define _cleanup_targets_ __attribute__((cleanup(clear_targets)))

static struct target *find_target(struct targets *targets, const char *id)
{
	for (size_t i = 0; i < targets->n; i++)
		if (str_eq(targets->items[i].item.id, id))
			return &targets->items[i];
	return NULL;
}

static struct target *add_target(struct targets *targets, const char *id)
{
	struct target *target;

	targets->items = mem_append(targets->items, targets->n, sizeof(*targets->items));
	target = &targets->items[targets->n++];
	target->why = ERR_INIT;
	target->item.id = mem_strdup(id);
	return target;
}

static int on_searched(void *arg, struct queue_item *item, struct err *err)
{
	struct targets *targets = arg;
	bool all = targets->all_waiting;
	struct target *target = all ? NULL : find_target(targets, item->id);
	int kind;

	if (!all && target == NULL)
		return 0;
	kind = kind_of(targets->call, item, NULL, err);
	if (kind < 0)
		return -1;
	if (all && kind != KIND_WAITING && kind != KIND_PROBE)
		return 0;
	if (all)
		target = add_target(targets, item->id);
	target->kind = (enum kind)kind;
	queue_item_clear(&target->item);
	target->item = TAKE(*item);
	return 0;
}

/* Finds the messages that the words name, or all that wait. */
static int find_targets(const struct call *call, const struct postfix_queue *queue,
	struct targets *targets, struct err *err)
{
	targets->call = call;
	targets->all_waiting = call_option(call, OPTION_WAITING) != NULL;
	for (char *const *word = call->arguments->words; *word; word++)
		if (find_target(targets, *word) == NULL)
			add_target(targets, *word);
	if (postfix_queue_each(queue, on_searched, targets, err) < 0)
		return -1;
	for (size_t i = 0; i < targets->n; i++) {
		struct target *target = &targets->items[i];

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

static bool is_open(const struct target *target)
{
	return target->outcome == NULL && target->why.code == ERR_NONE;
}

static void report_targets(const struct targets *targets, struct report *report)
{
	for (size_t i = 0; i < targets->n; i++) {
		const struct target *target = &targets->items[i];
		const struct err *why = &target->why;

		report_add_row(report);
		report_text(report, DONE_ID, target->item.id);
		report_text(report, DONE_OUTCOME, target->outcome ? target->outcome : "failed");
		report_text(report, DONE_DETAIL, *why->text ? why->text : NULL);
		if (target->outcome && why->code != ERR_TEMPORARY)
			continue;
		if (report->failure.code != ERR_NONE)
			continue;
		err_copy(&report->failure, why);
		err_prefix(&report->failure, "%s", target->item.id);
	}
}

/* Removes the row of a message that is no longer held. A decision made by the command gets an audit
 * entry, like one made on the dashboard. */
static int forget(const struct targets *targets, const struct queue_item *item, const char *action,
	struct err *err)
{
	struct db *db = targets->call->db;
	_cleanup_free_ char *text = NULL;
	json_t *after;

	if (store_held_forget(db, item->id, err) < 0)
		return -1;
	if (targets->served)
		return 0;
	after = json_pack("{s:s, s:s}", "queue_id", item->id, "sender", item->sender);
	text = json_dumps(after, JSON_COMPACT);
	json_decref(after);
	return store_audit_add(db,
		&(struct audit_action){.action = action,
			.object_id = item->id,
			.object_name = item->id,
			.after = text},
		err);
}

/* Changes, in one call, those targets in Postfix's queue that have no outcome yet and for which
 * want is true; removes the rows of messages that are gone. */
static int change_queue(const struct postfix_queue *queue, enum queue_change change,
	struct targets *targets, bool (*want)(const struct target *target), const char *outcome,
	struct err *err)
{
	_cleanup_strv_ struct strv ids = STRV_INIT, done = STRV_INIT;

	for (size_t i = 0; i < targets->n; i++)
		if (is_open(&targets->items[i]) && want(&targets->items[i]))
			strv_add(&ids, targets->items[i].item.id);
	if (ids.n == 0)
		return 0;
	if (postfix_queue_change(queue, change, &ids, &done, err) < 0)
		return -1;
	for (size_t i = 0; i < done.n; i++) {
		struct target *target = find_target(targets, done.items[i]);

		if (target == NULL)
			continue;
		target->outcome = outcome;
		if (forget(targets, &target->item,
			    change == QUEUE_RELEASE ? "held.release" : "held.drop", err) < 0)
			return -1;
	}
	for (size_t i = 0; i < ids.n; i++) {
		struct target *target = find_target(targets, ids.items[i]);

		if (target->outcome == NULL)
			err_set(&target->why, ERR_NOT_FOUND, "it is gone from Postfix's queue");
	}
	return 0;
}

/* Sets the outcome of a resubmitted message. */
static void settle(struct target *target)
{
	static const char *const words[] = {
		[WAITING_SENT] = "sent",
		[WAITING_REFUSED] = "refused",
		[WAITING_UNJUDGED] = "submitted",
		[WAITING_REMOVED] = "removed",
	};
	enum waiting_outcome outcome = target->waiting.outcome;

	target->why = target->waiting.why;
	if (outcome == WAITING_FAILED)
		return;
	target->outcome = words[outcome];
	if (outcome == WAITING_UNJUDGED)
		err_set(&target->why, ERR_TEMPORARY,
			"Postfix has it anew, but postern-milter has not seen it");
	if (outcome == WAITING_REMOVED)
		snprintf(target->why.text, sizeof(target->why.text), "its email had gone out");
}

/* True if a waiting target can be resubmitted; otherwise its outcome says why not. */
static bool can_submit(struct target *target)
{
	if (target->item.recipients.n > 1)
		err_set(&target->why, ERR_TEMPORARY,
			"it has other recipients besides its ticket: Postfix has to be through "
			"with those first");
	else if (target->item.mended)
		err_set(&target->why, ERR_INVALID, "its sender is not UTF-8, as that of no email");
	return is_open(target);
}

/* Resubmits all waiting targets. */
static int submit_waiting(
	const struct postfix_queue *queue, struct targets *targets, struct err *err)
{
	_cleanup_free_ struct waiting **all = mem_alloc(targets->n, sizeof(struct waiting *));
	size_t n = 0;

	for (size_t i = 0; i < targets->n; i++) {
		struct target *target = &targets->items[i];

		if (!is_open(target) || target->kind != KIND_WAITING || !can_submit(target))
			continue;
		target->waiting.item = &target->item;
		find_ticket(&target->item, target->waiting.ticket);
		all[n++] = &target->waiting;
	}
	if (held_waiting_submit(targets->call, queue, all, n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		settle(CONTAINER_OF(all[i], struct target, waiting));
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

static bool is_in_hold(const struct target *target)
{
	return target->kind == KIND_HELD || target->kind == KIND_OTHER_HELD;
}

static bool is_probe(const struct target *target)
{
	return target->kind == KIND_PROBE;
}

static int run_release(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	_cleanup_targets_ struct targets targets = {0};

	if (postfix_queue_open(call->conf, &queue, err) < 0 ||
		find_targets(call, queue, &targets, err) < 0 ||
		change_queue(queue, QUEUE_RELEASE, &targets, is_in_hold, "released", err) < 0 ||
		change_queue(queue, QUEUE_REMOVE, &targets, is_probe, "removed", err) < 0 ||
		submit_waiting(queue, &targets, err) < 0)
		return -1;
	report_targets(&targets, report);
	return 0;
}

/* Reads the header of a message, as text. */
static int read_header(const struct postfix_queue *queue, const struct queue_item *item,
	struct buf *header, struct err *err)
{
	ssize_t n;
	int file;

	if (postfix_queue_read(queue, item, false, &file, err) < 0)
		return -1;
	lseek(file, 0, SEEK_SET);
	while ((n = read(file, buf_reserve(header, 65536), 65536)) > 0)
		buf_wrote(header, (size_t)n);
	close(file);
	return 0;
}

static int ask_rules(const struct call *call, const struct postfix_queue *queue,
	const struct queue_item *item, enum milter_answer *answer_r, char **text_r, struct err *err)
{
	_cleanup_buf_ struct buf header = BUF_INIT;
	struct milter_message message = {
		.queue_id = item->id,
		.sender = item->sender,
		.recipients = &item->recipients,
	};

	if (read_header(queue, item, &header, err) < 0)
		return -1;
	message.header = buf_str(&header);
	if (item->mended || strlen(message.header) != header.len)
		return err_set(err, ERR_INVALID,
			"its addresses or its header have bytes that the rules cannot be asked "
			"about: release it or drop it");
	return milter_ask(call->conf->milter.socket, &message, answer_r, text_r, err);
}

/* Asks for the present verdict; the outcome of accepted messages stays open. */
static void recheck(
	const struct call *call, const struct postfix_queue *queue, struct target *target)
{
	static const char *const details[] = {
		[MILTER_CHANGES] =
			"the rules would let it pass, but changed; that cannot be done to "
			"held mail",
		[MILTER_HOLDS] = "the rules still refuse it",
		[MILTER_REJECTS] = "the rules would reject it now",
		[MILTER_DISCARDS] = "the rules would discard it now",
	};
	_cleanup_free_ char *text = NULL;
	enum milter_answer answer;
	char ticket[SECRET_TICKET_SIZE];

	if (target->kind == KIND_OTHER_HELD) {
		err_set(&target->why, ERR_INVALID,
			"it is not on record that the rules have it held; release lets it go");
		return;
	}
	if (find_ticket(&target->item, ticket)) {
		err_set(&target->why, ERR_INVALID,
			"its ticket did not fit: it is a forgery, or Postfix rewrote its sender or "
			"From; drop it");
		return;
	}
	if (ask_rules(call, queue, &target->item, &answer, &text, &target->why) < 0 ||
		answer == MILTER_PASSES)
		return;
	target->outcome = "held";
	snprintf(target->why.text, sizeof(target->why.text), "%s%s%s", details[answer],
		text ? ": " : "", text ? text : "");
}

static int run_recheck(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	_cleanup_targets_ struct targets targets = {0};
	_cleanup_(conf) struct conf *conf = conf_copy(call->conf);
	struct call asking = *call;

	asking.conf = conf;
	if (postconf_find_milter_socket(conf, err) < 0 ||
		postfix_queue_open(conf, &queue, err) < 0 ||
		find_targets(call, queue, &targets, err) < 0)
		return -1;
	for (size_t i = 0; i < targets.n; i++) {
		struct target *target = &targets.items[i];

		if (is_open(target) && is_in_hold(target))
			recheck(&asking, queue, target);
		report_progress(i + 1, targets.n);
	}
	if (change_queue(queue, QUEUE_RELEASE, &targets, is_in_hold, "released", err) < 0 ||
		submit_waiting(queue, &targets, err) < 0)
		return -1;
	report_targets(&targets, report);
	return 0;
}

static int prepare_drop(struct arguments *arguments, const struct conf *conf, struct err *err)
{
	static const char *const words[] = {"no", "yes"};
	const char *answer;

	if (prepare_root(arguments, conf, err) < 0)
		return -1;
	if (arguments->values[OPTION_YES])
		return 0;
	if (!ask_is_possible())
		return err_set(err, ERR_INVALID, "what is dropped is gone for good: say --yes");
	answer = ask_choice("Remove these messages for good?", words, ARRAY_SIZE(words));
	if (answer && str_eq(answer, "yes"))
		return 0;
	return err_set(err, ERR_INVALID, "nothing was removed");
}

static bool is_any(const struct target *target)
{
	(void)target;
	return true;
}

static int run_drop(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	_cleanup_targets_ struct targets targets = {0};

	if (postfix_queue_open(call->conf, &queue, err) < 0 ||
		find_targets(call, queue, &targets, err) < 0 ||
		change_queue(queue, QUEUE_REMOVE, &targets, is_any, "dropped", err) < 0)
		return -1;
	report_targets(&targets, report);
	return 0;
}

static int run_show(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	_cleanup_targets_ struct targets targets = {0};
	_cleanup_buf_ struct buf header = BUF_INIT;
	const struct target *target;

	if (postfix_queue_open(call->conf, &queue, err) < 0 ||
		find_targets(call, queue, &targets, err) < 0)
		return -1;
	target = &targets.items[0];
	if (target->why.code != ERR_NONE) {
		err_copy(err, &target->why);
		return err_prefix(err, "%s", target->item.id);
	}
	if (read_header(queue, &target->item, &header, err) < 0)
		return -1;
	if (target->kind == KIND_OTHER_HELD)
		add_other_held(report, &target->item);
	else if (add_ours(call, report, &target->item, err) < 0)
		return -1;
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

enum {
	SERVED_MAX = 200, /* rows at once */
	/* Delay after a message that was not found, or a decision that cannot be carried out
	 * now. */
	SERVE_AGAIN_US = SECOND_US,
	/* For this long after its row was added, a message may still arrive. */
	COMING_US = 60 * SECOND_US,
	HEADER_KEPT = 64 * 1024,
};

/* The socket to the half of serve that keeps root's rights, see queue_helper.h. Set at the start of
 * serve. */
static int helper = -1;

/* Runs before the database is opened: the owner of its folder may put anything into it, so root
 * does not access it. */
static int prepare_serve(struct arguments *arguments, const struct conf *conf, struct err *err)
{
	_cleanup_free_ char *folder = db_file_folder(conf->store.database);

	if (prepare_root(arguments, conf, err) < 0)
		return -1;
	if (queue_helper_start(conf, folder, &helper, err) < 0)
		return -1;
	/* doctor and status look for this name. */
	prctl(PR_SET_NAME, "postern-held");
	return 0;
}

static enum held_decision decision_of(const struct target *target)
{
	return (enum held_decision)row_word(&held_decisions, target->row->decision);
}

static bool is_released(const struct target *target)
{
	return target->kind == KIND_HELD && target->row->decision &&
	       decision_of(target) != HELD_DROP;
}

static bool is_dropped(const struct target *target)
{
	return target->kind == KIND_HELD && target->row->decision &&
	       decision_of(target) == HELD_DROP;
}

/* Stores the content of its queue file, for the dashboard. */
static int note_content(const struct call *call, const struct postfix_queue *queue,
	struct target *target, int64_t now_us, struct err *err)
{
	_cleanup_buf_ struct buf header = BUF_INIT;
	struct mime_summary summary;
	struct held held = {
		.queue_id = target->item.id,
		.sender = target->item.sender,
		.recipients = target->item.recipients,
		.size = target->item.size,
		.read_us = now_us,
	};
	int result;

	if (read_header(queue, &target->item, &header, &target->why) < 0)
		return 0;
	mime_read(header.data, header.len, &summary);
	str_utf8_mend(header.data);
	header.data[str_utf8_cut(header.data, HEADER_KEPT)] = '\0';
	held.header = header.data;
	held.subject = summary.subject;
	result = store_held_set_read(call->db, &held, err);
	mime_summary_clear(&summary);
	return result;
}

/* A message that is not in the queue, or not on hold any more, is finished, unless it may still
 * arrive. Returns true if it may. */
static bool may_come(const struct target *target, int64_t now_us)
{
	int64_t age_us;

	if (target->item.queue || __builtin_sub_overflow(now_us, target->row->held_us, &age_us))
		return false;
	return age_us < COMING_US && age_us > -COMING_US;
}

/* Carries out the decisions of the open rows, and reads new messages. *again_r: something must be
 * tried again. */
static int serve_rows(const struct call *call, struct held_list *rows, struct report *report,
	struct buf *text, bool *again_r, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	_cleanup_targets_ struct targets targets = {.call = call, .served = true};
	int64_t now_us = clock_now_us(&clock_system);

	if (postfix_queue_open(call->conf, &queue, err) < 0)
		return -1;
	postfix_queue_use_helper(queue, helper);
	for (size_t i = 0; i < rows->n; i++)
		add_target(&targets, rows->items[i].queue_id);
	if (postfix_queue_each(queue, on_searched, &targets, err) < 0)
		return -1;
	for (size_t i = 0; i < targets.n; i++) {
		struct target *target = &targets.items[i];

		target->row = &rows->items[i];
		if (target->item.queue && target->kind == KIND_HELD) {
			if (target->row->read_us == 0 &&
				note_content(call, queue, target, now_us, err) < 0)
				return -1;
			if (target->row->decision && decision_of(target) == HELD_RECHECK)
				recheck(call, queue, target);
			continue;
		}
		if (may_come(target, now_us)) {
			*again_r = true;
			target->outcome = "waits";
			continue;
		}
		target->outcome = "gone";
		if (store_held_forget(call->db, target->item.id, err) < 0)
			return -1;
	}
	if (change_queue(queue, QUEUE_RELEASE, &targets, is_released, "released", err) < 0 ||
		change_queue(queue, QUEUE_REMOVE, &targets, is_dropped, "dropped", err) < 0)
		return -1;
	for (size_t i = 0; i < targets.n; i++) {
		struct target *target = &targets.items[i];
		bool stays = target->kind == KIND_HELD && target->row->decision &&
			     (target->outcome == NULL || str_eq(target->outcome, "held"));

		if (stays &&
			store_held_set_answer(call->db, target->item.id,
				*target->why.text ? target->why.text : "it is still held", err) < 0)
			return -1;
		if (target->row->decision == NULL || (target->outcome && *target->outcome == 'w'))
			continue;
		buf_printf(text, "%s: %s%s%s\n", target->item.id,
			target->outcome ? target->outcome : "failed", *target->why.text ? ": " : "",
			target->why.text);
		report_add_row(report);
		report_text(report, DONE_ID, target->item.id);
		report_text(report, DONE_OUTCOME, target->outcome ? target->outcome : "failed");
		report_text(report, DONE_DETAIL, *target->why.text ? target->why.text : NULL);
	}
	return 0;
}

static int run_serve(const struct call *call, struct report *report, struct err *err)
{
	struct following *following = call->following;
	struct held_list rows = {0};
	struct buf text = BUF_INIT;
	_cleanup_(conf) struct conf *conf = conf_copy(call->conf);
	struct call asking = *call;
	int64_t version, now_us = clock_monotonic_us();
	bool again = false;
	int result;

	if (db_same(conf_store(call->conf), &following->identity, err) < 0 ||
		db_version(call->db, &version, err) < 0)
		return -1;
	if (now_us < following->seq || (following->begun && version == following->version))
		return 1;
	if (store_held_open(call->db, SERVED_MAX, &rows, err) < 0)
		return -1;
	asking.conf = conf;
	result = rows.n == 0 ? 0 : postconf_find_milter_socket(conf, err);
	if (result == 0 && rows.n > 0)
		result = serve_rows(&asking, &rows, report, &text, &again, err);
	/* The handle's own changes do not change its version. */
	following->begun = !again && rows.n < SERVED_MAX;
	following->version = version;
	following->seq = again ? now_us + SERVE_AGAIN_US : 0;
	store_held_list_free(&rows);
	/* The report goes to the journal as lines. */
	report->note = buf_take(&text);
	return result < 0 ? -1 : 1;
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
	.columns = done_columns,
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
	.columns = done_columns,
	.help = "Asks the rules again, as after postern exempt add: what they let pass now "
		"goes, the rest stays held. postern-milter has to run. Mail that is "
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
	.columns = done_columns,
	.options = {{OPTION_YES, false, "Do not ask."}},
	.help = "Removes held or waiting mail for good, after asking.",
	.prepare = prepare_drop,
	.run = run_drop,
};

const struct verb cmd_held_serve = {
	.noun = "held",
	.name = "serve",
	.access = VERB_STEPS,
	.shape = VERB_FOLLOWS,
	.columns = done_columns,
	.help = "Carries out what admins decide on the dashboard about held mail, as recheck, "
		"release and drop do, and reads the headers of held messages, which the "
		"dashboard shows. It runs until it is ended; postern-held.service runs it. It is "
		"started by root, and all of it but the changes of Postfix's queue runs as "
		"the owner of the folder of the database. Without it decisions wait, and "
		"nothing is lost.",
	.prepare = prepare_serve,
	.run = run_serve,
};
