/*
 * held_waiting: resubmits messages with a ticket that wait in Postfix's queue.
 *
 * Postfix shows a message to milters only when it arrives. So the content goes through sendmail(1)
 * once more, and the old message is removed. This process, and sendmail, may be killed at any
 * moment. An email is neither lost nor duplicated, because each submission has a ticket of its own,
 * and the milter accepts only the email's present one:
 *
 *   1. a staged email gets a new ticket, in one durable commit with the check of its state.
 *      All messages with older tickets are superseded
 *   2. sendmail(1) gets the content, addressed to the new ticket. Its 250 (sendmail -bs) says that
 *      the message is in the maildrop, on the disk
 *   3. the old message is removed
 *
 *   killed       what exists                      what a repeat does
 *   before 1     the old message                  starts anew
 *   1 to 2       the old message; maybe a new     gives another new ticket; the
 *                one, or a running sendmail       milter discards a message with
 *                                                 this one
 *   2 to 3       both; the email staged           the same
 *   2 to 3       both; the email decided          removes the old one
 *
 * Not lost: an old message is removed only when its copy with the newest ticket is in Postfix or
 * the email is decided. Meanwhile nobody else gives it a newer ticket (the lock), except httpd for
 * a repeated request, and httpd has the message. Not duplicated: the milter records an email for
 * one ticket only, the present one, and a ticket is the address of one submission.
 */
#include "cli/held_waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/policy/ticket.h"
#include "core/store/email/store_email.h"

enum {
	JUDGED_MS = 30 * 1000, /* how long the verdicts may take */
	LOOK_EVERY_MS = 20,
	/* The size of a batch. */
	BATCH = 16,
	BATCH_BYTES = 64 * 1024 * 1024,
};

/* Locks the folder: closing a descriptor of the database file itself would drop SQLite's locks. The
 * descriptor is not inherited, and stays open until the process ends. */
static int lock(const struct call *call, struct err *err)
{
	_cleanup_free_ char *path = mem_strdup(call->conf->store.database);
	const char *folder = dirname(path);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_CONFIG, "%s: %s", folder, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	close(fd);
	return err_set(err, ERR_TEMPORARY, "another postern held is at work on waiting mail");
}

/* Step 1 for one message. A message with a final outcome is skipped. */
static int take_ticket(struct db *db, struct waiting *waiting, struct err *err)
{
	_cleanup_free_ char *refusal = NULL;
	enum email_state state;
	int found = store_email_find_ticket(db, waiting->ticket, waiting->email_id, err);

	if (found > 0)
		found = store_email_outcome(db, waiting->email_id, &state, &refusal, err);
	if (found < 0)
		return -1;
	if (found > 0 && refusal)
		err_set(&waiting->why, ERR_INVALID, "%s", refusal);
	if (found == 0) {
		err_set(&waiting->why, ERR_NOT_FOUND, "no email on record has its ticket");
		return 0;
	}
	if (state != EMAIL_STAGED) {
		waiting->outcome = state == EMAIL_SENT ? WAITING_REMOVED : WAITING_REFUSED;
		waiting->done = true;
		return 0;
	}
	secret_ticket(waiting->new_ticket);
	found = store_email_reissue(db, waiting->email_id, waiting->new_ticket, err);
	return found < 0 ? -1 : 0;
}

/* Checks if the milter has decided about all submitted messages. */
static int look_at_verdicts(struct db *db, struct waiting *const *batch, size_t n, struct err *err)
{
	int all = 1;

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *refusal = NULL;
		enum email_state state = EMAIL_STAGED;

		if (batch[i]->outcome != WAITING_UNJUDGED)
			continue;
		if (store_email_outcome(db, batch[i]->email_id, &state, &refusal, err) < 0)
			return -1;
		if (state == EMAIL_STAGED)
			all = 0;
		if (state == EMAIL_SENT)
			batch[i]->outcome = WAITING_SENT;
		if (state != EMAIL_REFUSED)
			continue;
		batch[i]->outcome = WAITING_REFUSED;
		err_set(&batch[i]->why, ERR_INVALID, "%s", refusal);
	}
	return all;
}

/* The three steps, with the files of the messages open. */
static int take_steps(const struct call *call, const struct postfix_queue *queue,
	struct waiting *const *batch, size_t n, struct err *err)
{
	_cleanup_strv_ struct strv ids = STRV_INIT, removed = STRV_INIT;
	int64_t end_us;
	int all;

	if (db_begin(call->db, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (batch[i]->file >= 0 && take_ticket(call->db, batch[i], err) < 0) {
			db_rollback(call->db);
			return -1;
		}
	}
	if (db_commit(call->db, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct waiting *waiting = batch[i];
		_cleanup_free_ char *address = NULL;

		if (*waiting->new_ticket) {
			address = ticket_address(waiting->new_ticket);
			if (postfix_queue_submit(queue, waiting->item->sender, address,
				    waiting->file, &waiting->why) == 0) {
				waiting->outcome = WAITING_UNJUDGED;
				waiting->done = true;
			}
		}
		if (waiting->done)
			strv_add(&ids, waiting->item->id);
	}
	/* A message that is gone already was removed by somebody else. */
	if (postfix_queue_change(queue, QUEUE_REMOVE, &ids, &removed, err) < 0)
		return -1;
	end_us = clock_monotonic_us() + JUDGED_MS * 1000;
	while ((all = look_at_verdicts(call->db, batch, n, err)) == 0 &&
		clock_monotonic_us() < end_us)
		usleep(LOOK_EVERY_MS * 1000);
	return all < 0 ? -1 : 0;
}

static int submit_batch(const struct call *call, const struct postfix_queue *queue,
	struct waiting *const *batch, size_t n, struct err *err)
{
	int result;

	for (size_t i = 0; i < n; i++)
		if (postfix_queue_read(
			    queue, batch[i]->item, true, &batch[i]->file, &batch[i]->why) < 0)
			batch[i]->file = -1;
	result = take_steps(call, queue, batch, n, err);
	for (size_t i = 0; i < n; i++)
		if (batch[i]->file >= 0)
			close(batch[i]->file);
	return result;
}

/* True if a batch was submitted and the milter has seen none of it. */
static bool is_ignored(struct waiting *const *batch, size_t n)
{
	bool ignored = false;

	for (size_t i = 0; i < n; i++) {
		if (batch[i]->outcome == WAITING_SENT || batch[i]->outcome == WAITING_REFUSED)
			return false;
		ignored |= batch[i]->outcome == WAITING_UNJUDGED;
	}
	return ignored;
}

int held_waiting_submit(const struct call *call, const struct postfix_queue *queue,
	struct waiting *const *all, size_t n, struct err *err)
{
	size_t done = 0;

	if (n > 0 && lock(call, err) < 0)
		return -1;
	while (done < n) {
		struct waiting *const *batch = all + done;
		int64_t bytes = batch[0]->item->size;
		size_t size = 1;

		while (done + size < n && size < BATCH &&
			bytes + batch[size]->item->size <= BATCH_BYTES)
			bytes += batch[size++]->item->size;
		if (submit_batch(call, queue, batch, size, err) < 0)
			return -1;
		done += size;
		report_progress(done, n);
		if (is_ignored(batch, size))
			break;
	}
	for (; done < n; done++)
		err_set(&all[done]->why, ERR_TEMPORARY,
			"not tried: postern-milter has not seen what was submitted before it; does "
			"Postfix ask it (postern doctor)?");
	return 0;
}
