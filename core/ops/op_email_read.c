/*
 * op_email_read: reading one email.
 */
#include "core/ops/op_email_read.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/compose/mime_edit.h"
#include "core/policy/ticket.h"
#include "core/report/delivery_report.h"
#include "core/store/email/store_message.h"

enum {
	NAMED_MAX = 5, /* ids that an error lists */
	WATCH_EVENTS = 500,
};

static const struct email_scope everything = {0};

int op_email_find(struct db *db, const char *name, struct email *email_r, struct err *err)
{
	static const char *const words[] = {
		[EMAIL_NAME_ID] = "id",
		[EMAIL_NAME_MESSAGE_ID] = "Message-ID",
		[EMAIL_NAME_QUEUE_ID] = "queue id",
	};
	enum email_name kind = store_email_name_of(name);
	_cleanup_free_ char *shown = kind == EMAIL_NAME_MESSAGE_ID && *name != '<'
					     ? mem_printf("<%s>", name)
					     : mem_strdup(name);
	_cleanup_buf_ struct buf ids = BUF_INIT;
	struct email_list list; /* newest first */
	int found = 0;

	if (store_email_named(db, &everything, name, NAMED_MAX + 1, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n && i < NAMED_MAX; i++)
		buf_printf(&ids, "%s%s", i ? ", " : "", list.items[i].id);
	if (list.n > 1)
		found = err_set(err, ERR_INVALID,
			"several emails have the %s %s; show one of them by its id: %s%s",
			words[kind], shown, buf_str(&ids), list.n > NAMED_MAX ? ", ..." : "");
	else if (list.n == 1)
		found = store_email_get(db, list.items[0].id, &everything, email_r, err);
	store_email_list_free(&list);
	if (found == 0)
		err_set(err, ERR_NOT_FOUND, "there is no email with the %s %s", words[kind], shown);
	return found > 0 ? 0 : -1;
}

int op_email_message(struct db *db, const char *database, const struct email *email,
	struct buf *message, struct err *err)
{
	_cleanup_buf_ struct buf kept = BUF_INIT;
	int found = store_message_read(db, database, email->id, &kept, err);
	size_t skip;

	if (found <= 0)
		return found;
	if (email->scheduled_us > 0)
		mime_edit_date(&kept, email->created_us, email->scheduled_us);
	skip = ticket_fields_len(kept.data, kept.len);
	buf_add(message, kept.data + skip, kept.len - skip);
	return 1;
}

int op_email_watch_begin(
	struct db *db, const char *name, struct op_email_watch *watch_r, struct err *err)
{
	struct op_email_watch watch = {.version = -1};
	struct email email;

	if (name == NULL) {
		if (store_event_newest(db, &watch.seq, err) < 0)
			return -1;
	} else {
		if (op_email_find(db, name, &email, err) < 0)
			return -1;
		strcpy(watch.id, email.id);
		store_email_clear(&email);
	}
	*watch_r = watch;
	return 0;
}

/* Reads how far the email is. Returns 1 while more will come; 0, with the answer, after its last
 * event, or without one if the email is gone; -1 on error. */
static int read_watch_answer(struct db *db, const char *id, int64_t now_us, int64_t *seq_r,
	char **answer_r, struct err *err)
{
	_cleanup_(delivery_report) struct delivery_report *report = NULL;
	struct email email;
	int result = store_email_get(db, id, &everything, &email, err);

	if (result <= 0)
		return result;
	*seq_r = email.seq;
	result = delivery_report_new(db, NULL, &email, now_us, &report, err);
	if (result == 0 && delivery_report_is_open(report))
		result = 1;
	else if (result == 0)
		*answer_r = delivery_report_answer(report);
	store_email_clear(&email);
	return result;
}

/* The state of the email is read first, then its events: they are committed together, so none is
 * missing at the end. */
int op_email_watch_next(struct db *db, struct op_email_watch *watch, int64_t now_us,
	struct event_list *events_r, char **answer_r, struct err *err)
{
	_cleanup_free_ char *answer = NULL;
	struct event_list events = {0};
	int64_t version, email = 0;
	int more = 1;

	if (db_version(db, &version, err) < 0)
		return -1;
	if (version != watch->version) {
		if (*watch->id)
			more = read_watch_answer(db, watch->id, now_us, &email, &answer, err);
		if (more < 0 || ((more == 1 || answer) && store_event_after(db, watch->seq, email,
								  WATCH_EVENTS, &events, err) < 0))
			return -1;
		if (events.n > 0)
			watch->seq = events.items[events.n - 1].seq;
		/* With more events in the store, the next call must not wait for a commit. */
		watch->version = events.more ? -1 : version;
		more |= events.more;
	}
	*events_r = events;
	*answer_r = more ? NULL : TAKE_PTR(answer);
	return more;
}
