/*
 * cmd_held_serve: `postern held serve`, which carries out what admins decide on the dashboard.
 *
 * The dashboard's process may not read or change Postfix's queue. It stores the decisions of
 * admins, and serve carries them out; serve also stores the content of the queue files for the
 * dashboard. Root starts serve, and only its helper process keeps root's rights (queue_helper).
 */
#include <string.h>
#include <sys/prctl.h>

#include "cli/cmd.h"
#include "cli/held_target.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/db/db_file.h"
#include "core/postfix/postconf.h"
#include "core/postfix/queue_helper.h"
#include "core/read/mime_read.h"

enum {
	SERVED_MAX = 200, /* rows at once */
	/* Delay after a message that was not found, or a decision that cannot be carried out
	 * now. */
	SERVE_AGAIN_US = SECOND_US,
	/* For this long after its row was added, a message may still arrive. */
	COMING_US = 60 * SECOND_US,
	HEADER_KEPT = 64 * 1024,
};

/* The socket to the process that keeps root's rights, see queue_helper.h. Set at the start. */
static int helper = -1;

/* Runs before the database is opened: the owner of its folder may put anything into it, so root
 * does not access it. */
static int prepare_serve(struct arguments *arguments, const struct conf *conf, struct err *err)
{
	_cleanup_free_ char *folder = db_file_folder(conf->store.database);

	(void)arguments;
	if (postfix_queue_check_rights(err) < 0 ||
		queue_helper_start(conf, folder, &helper, err) < 0)
		return -1;
	/* doctor and status look for this name. */
	prctl(PR_SET_NAME, "postern-held");
	return 0;
}

static enum held_decision decision_of(const struct held_target *target)
{
	return (enum held_decision)row_word(&held_decisions, target->row->decision);
}

static bool is_released(const struct held_target *target)
{
	return target->kind == KIND_HELD && target->row->decision &&
	       decision_of(target) != HELD_DROP;
}

static bool is_dropped(const struct held_target *target)
{
	return target->kind == KIND_HELD && target->row->decision &&
	       decision_of(target) == HELD_DROP;
}

/* Stores the content of its queue file, for the dashboard. */
static int note_content(const struct call *call, const struct postfix_queue *queue,
	struct held_target *target, int64_t now_us, struct err *err)
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

	if (held_read_header(queue, &target->item, &header, &target->why) < 0)
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
static bool may_come(const struct held_target *target, int64_t now_us)
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
	_cleanup_held_targets_ struct held_targets targets = {.call = call, .served = true};
	int64_t now_us = clock_now_us(&clock_system);

	if (postfix_queue_open(call->conf, &queue, err) < 0)
		return -1;
	postfix_queue_use_helper(queue, helper);
	for (size_t i = 0; i < rows->n; i++)
		held_targets_add(&targets, rows->items[i].queue_id);
	if (held_targets_search(queue, &targets, err) < 0)
		return -1;
	for (size_t i = 0; i < targets.n; i++) {
		struct held_target *target = &targets.items[i];

		target->row = &rows->items[i];
		if (target->item.queue && target->kind == KIND_HELD) {
			if (target->row->read_us == 0 &&
				note_content(call, queue, target, now_us, err) < 0)
				return -1;
			if (target->row->decision && decision_of(target) == HELD_RECHECK)
				held_target_recheck(call, queue, target);
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
	if (held_targets_change(queue, QUEUE_RELEASE, &targets, is_released, "released", err) < 0 ||
		held_targets_change(queue, QUEUE_REMOVE, &targets, is_dropped, "dropped", err) < 0)
		return -1;
	for (size_t i = 0; i < targets.n; i++) {
		struct held_target *target = &targets.items[i];
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
		held_target_report(target, report);
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

	if (queue_helper_has_ended(helper))
		return 0;
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

const struct verb cmd_held_serve = {
	.noun = "held",
	.name = "serve",
	.access = VERB_STEPS,
	.shape = VERB_FOLLOWS,
	.columns = held_done_columns,
	.help = "Carries out what admins decide on the dashboard about held mail, as recheck, "
		"release and drop do, and reads the headers of held messages, which the "
		"dashboard shows. It runs until it is ended; postern-held.service runs it. It is "
		"started by root, and all of it but the changes of Postfix's queue runs as "
		"the owner of the folder of the database. Without it decisions wait, and "
		"nothing is lost.",
	.prepare = prepare_serve,
	.run = run_serve,
};
