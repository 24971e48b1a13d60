/*
 * delivery_writer: stores reports, as events and as the states of recipients.
 *
 * Owns the emails that the transaction concerns, with all their recipients, and the tree of those
 * that need one. All is written at the flush: events, and the states of recipients and emails. For
 * a tree, the owners of each delivery are known only then.
 *
 * Threads: a writer and its handle are used by one thread at a time.
 */
#include "core/store/delivery/delivery_writer.h"

#include <stdio.h>
#include <string.h>

#include "core/address/addr_logged.h"
#include "core/base/str.h"
#include "core/base/hash_table.h"
#include "core/store/host/store_log.h"
#include "core/store/company/store_suppression.h"

struct email_changes {
	int64_t email;
	char *company_id;
	char *domain;
	char *message_id;
	bool is_sent;               /* the milter has accepted it */
	int64_t due_us;             /* when it was accepted, or scheduled for */
	struct delivery_tree *tree; /* NULL: the recipients are the deliveries */
	struct pending *pending;    /* reports about its deliveries */
	size_t pending_n;
	struct closed *closed; /* messages that left the queue in this transaction */
	size_t closed_n;
	struct queue_message *fresh; /* messages without a row so far */
	size_t fresh_n;
	struct recipients recipients;
	bool *moved;                  /* one flag per recipient: its row must be written */
	bool changed;                 /* an event was added, or a message ended or left the queue */
	size_t next;                  /* index of the recipient after the last one found */
	struct email_changes *before; /* the email that was read before this one */
};

/* A report about a delivery of the tree. */
struct pending {
	size_t delivery;
	struct event_report report; /* owns its strings */
};
struct closed {
	char *queue_id;
	int64_t since_us;
	int64_t time_us;
	bool is_explained;
	bool is_written; /* its row says so */
};

struct delivery_writer {
	struct db *db;
	struct hash_table changes; /* the changes by email */
	struct email_changes *last;
	size_t held;
	struct event_writer *events;
	int64_t now_us;               /* time of the newest report */
	struct delivery_counts fresh; /* what this transaction has counted */
	/* These survive a reset. */
	delivery_classify *classify;
	const void *classify_arg;
	struct suppression_terms terms;
	struct delivery_counts stored;
};

struct delivery_writer *delivery_writer_new(struct db *db)
{
	struct delivery_writer *writer = mem_new(struct delivery_writer);

	writer->db = db;
	writer->events = event_writer_new(db);
	return writer;
}

void delivery_writer_free(struct delivery_writer *writer)
{
	if (writer == NULL)
		return;
	delivery_writer_reset(writer);
	hash_table_clear(&writer->changes);
	event_writer_free(writer->events);
	free(writer);
}

void delivery_writer_set_classify(
	struct delivery_writer *writer, delivery_classify *classify, const void *arg)
{
	writer->classify = classify;
	writer->classify_arg = arg;
}

void delivery_writer_set_suppression(
	struct delivery_writer *writer, const struct suppression_terms *terms)
{
	writer->terms = *terms;
}

const struct delivery_counts *delivery_writer_counts(const struct delivery_writer *writer)
{
	return &writer->stored;
}

size_t delivery_writer_held(const struct delivery_writer *writer)
{
	return writer->held;
}

void delivery_writer_reset(struct delivery_writer *writer)
{
	struct delivery_writer kept = {.db = writer->db,
		.events = writer->events,
		.classify = writer->classify,
		.classify_arg = writer->classify_arg,
		.terms = writer->terms,
		.stored = writer->stored};

	while (writer->last) {
		struct email_changes *changes = writer->last;

		writer->last = changes->before;
		for (size_t i = 0; i < changes->pending_n; i++)
			event_report_clear(&changes->pending[i].report);
		for (size_t i = 0; i < changes->closed_n; i++)
			free(changes->closed[i].queue_id);
		free(changes->pending);
		free(changes->closed);
		queue_messages_free(&(struct queue_messages){changes->fresh, changes->fresh_n});
		delivery_tree_free(changes->tree);
		free(changes->message_id);
		recipients_free(&changes->recipients);
		free(changes->moved);
		free(changes->company_id);
		free(changes->domain);
		free(changes);
	}
	event_writer_reset(writer->events);
	hash_table_empty(&writer->changes);
	kept.changes = writer->changes;
	*writer = kept;
}

static const char sql_email[] =
	"SELECT company_id, domain, message_id, EXISTS (SELECT 1"
	"   FROM delivery d"
	"   WHERE d.email = email.seq), state = 'sent',"
	"   CASE WHEN scheduled_us > created_us THEN scheduled_us ELSE created_us END,"
	"   (SELECT group_concat(hex(key), '')"
	"     FROM (SELECT key FROM event WHERE event.email = email.seq LIMIT $keys) few)"
	" FROM email"
	" WHERE seq = $email";
#define EMAIL_PARAMS(email) DB_PARAMS(DB_INT("$email", email), DB_INT("$keys", EVENT_KEYS_MAX))

static bool are_of_email(const void *changes, const void *email)
{
	return ((const struct email_changes *)changes)->email == *(const int64_t *)email;
}

void delivery_writer_read_ahead(struct delivery_writer *writer, int64_t email)
{
	if (hash_table_find(&writer->changes, (uint64_t)email, are_of_email, &email))
		return;
	db_read_ahead(writer->db, sql_email, EMAIL_PARAMS(email));
	store_recipients_read_ahead(writer->db, email, true);
}

/* Returns the email's changes; the first time it reads the email. */
static int get_changes(struct delivery_writer *writer, int64_t email,
	struct email_changes **changes_r, struct err *err)
{
	struct email_changes *changes = hash_table_find(
		&writer->changes, (uint64_t)email, are_of_email, &email);
	struct db_stmt *stmt;
	bool has_tree = false;
	int found;

	if (changes) {
		*changes_r = changes;
		return 0;
	}
	changes = mem_new(struct email_changes);
	changes->email = email;
	changes->before = writer->last;
	writer->last = changes;
	hash_table_add(&writer->changes, (uint64_t)email, changes);
	found = db_first(writer->db, sql_email, EMAIL_PARAMS(email), &stmt, err);
	if (found < 0)
		return -1;
	if (found == 1) {
		changes->company_id = db_copy(stmt, 0);
		changes->domain = db_copy(stmt, 1);
		changes->message_id = db_copy(stmt, 2);
		has_tree = db_int(stmt, 3);
		changes->is_sent = db_int(stmt, 4);
		changes->due_us = db_int(stmt, 5);
		event_writer_know(writer->events, email, db_text(stmt, 6));
		db_reset(stmt);
	}
	if (store_recipients_read(writer->db, email, true, &changes->recipients, err) < 0)
		return -1;
	changes->moved = mem_alloc(changes->recipients.n + 1, sizeof(*changes->moved));
	if (has_tree) {
		changes->tree = delivery_tree_new(&changes->recipients);
		if (store_delivery_read(writer->db, email, changes->tree, err) < 0)
			return -1;
	}
	writer->held += changes->recipients.n;
	*changes_r = changes;
	return 0;
}

int delivery_writer_recipients(struct delivery_writer *writer, int64_t email,
	const struct recipients **recipients_r, struct err *err)
{
	struct email_changes *changes;

	if (get_changes(writer, email, &changes, err) < 0)
		return -1;
	*recipients_r = &changes->recipients;
	return 0;
}

/* Log lines mostly come in the order of the recipients, so the search starts after the last hit. An
 * address that differs only in letter case matches if none is identical. */
int delivery_writer_find(struct delivery_writer *writer, int64_t email, const char *address,
	int64_t *n_r, struct err *err)
{
	struct email_changes *changes;
	const struct recipient *all;
	size_t n, at, found;

	if (get_changes(writer, email, &changes, err) < 0)
		return -1;
	all = changes->recipients.items;
	n = found = changes->recipients.n;
	for (size_t i = 0; i < n && found == n; i++) {
		at = (changes->next + i) % n;
		if (str_eq(all[at].address, address))
			found = at;
	}
	for (size_t i = 0; i < n && found == n; i++)
		if (str_eq_nocase(all[i].address, address))
			found = i;
	for (size_t i = 0; i < n && found == n; i++)
		if (addr_logged_eq(all[i].address, address))
			found = i;
	if (found == n)
		return 0;
	changes->next = found + 1;
	*n_r = all[found].n;
	return 1;
}

static void replace_text(char **text, const char *fresh)
{
	char *copy = mem_strdup(fresh); /* fresh may alias the old text */

	free(*text);
	*text = copy;
}

/* The recipients are sorted by number, mostly without gaps. */
static struct recipient *find_number(const struct recipients *recipients, int64_t n)
{
	size_t i = n >= 0 && n < (int64_t)recipients->n ? (size_t)n : recipients->n;

	while (i > 0 && (i == recipients->n || recipients->items[i].n > n))
		i--;
	return i < recipients->n && recipients->items[i].n == n ? &recipients->items[i] : NULL;
}

/* Adds a suppression if the new event calls for one. If an alias led to another address, the event
 * says nothing about the recipient; if the milter was not asked, it concerns only the ticket. */
static int note_suppression(struct delivery_writer *writer, const struct email_changes *changes,
	const struct recipient *recipient, const struct event_report *report, struct err *err)
{
	bool hard = report->kind == EVENT_BOUNCED && writer->terms.bounces &&
		    suppression_is_hard(report->dsn, report->text, writer->terms.codes);
	int noted;

	if (!changes->is_sent || (!hard && report->kind != EVENT_COMPLAINED) ||
		(report->address && !addr_logged_eq(recipient->address, report->address)))
		return 0;
	noted = store_suppression_note(writer->db,
		&(struct suppression_note){
			.company_id = changes->company_id,
			.domain = changes->domain,
			.address = recipient->address,
			.reason = hard ? SUPPRESSION_BOUNCE : SUPPRESSION_COMPLAINT,
			.email = changes->email,
			.text = report->text,
			.now_us = report->now_us,
			.max = writer->terms.max,
		},
		err);
	writer->fresh.unlisted += noted == SUPPRESSION_FULL;
	return noted < 0 ? -1 : 0;
}

/* Stores the event for one recipient, if it is new, and counts it. Returns 1, 0 if it is known, -1
 * on error. */
static int add_event_of(struct delivery_writer *writer, struct email_changes *changes,
	struct recipient *recipient, const struct event_report *report, struct err *err)
{
	struct event_report of_one = *report;
	int added;

	of_one.n = recipient->n;
	if (report->now_us > writer->now_us)
		writer->now_us = report->now_us;
	added = event_writer_add(writer->events,
		&(struct event_owner){changes->company_id, changes->domain, recipient->address,
			recipient->attempts + event_is_attempt(report->kind), changes->due_us},
		&of_one, err);
	if (added <= 0)
		return added;
	if (note_suppression(writer, changes, recipient, report, err) < 0)
		return -1;
	changes->changed = true;
	writer->fresh.events[report->kind]++;
	if (event_is_attempt(report->kind)) {
		recipient->attempts++;
		changes->moved[recipient - changes->recipients.items] = true;
	}
	return 1;
}

/* True if the texts of this kind of event are those of the state that it led to. */
static bool has_words_of(enum delivery_status status, enum event_kind kind)
{
	return kind != EVENT_ACCEPTED && kind != EVENT_UNSUBSCRIBED &&
	       delivery_status_of_event(kind) == status;
}

static void set_words(struct delivery *delivery, const struct event_report *report)
{
	delivery->changed_us = report->occurred_us;
	replace_text(&delivery->relay, report->relay);
	replace_text(&delivery->dsn, report->dsn);
	replace_text(&delivery->text, report->text);
}

int delivery_writer_add(
	struct delivery_writer *writer, const struct event_report *report, struct err *err)
{
	struct recipient *recipient;
	struct email_changes *changes;
	int added;

	if (get_changes(writer, report->email, &changes, err) < 0)
		return -1;
	recipient = find_number(&changes->recipients, report->n);
	if (recipient == NULL ||
		(report->kind == EVENT_LOST && !delivery_is_open(recipient->status)))
		return 0;
	added = add_event_of(writer, changes, recipient, report, err);
	/* A message that was found meanwhile may be lost again. */
	if (added < 0 || report->kind == EVENT_ACCEPTED ||
		(added == 0 && report->kind != EVENT_LOST))
		return added;
	changes->changed = true;
	if (changes->tree) {
		struct delivery *whole = delivery_tree_at(changes->tree,
			delivery_tree_find(changes->tree, "", 0, recipient->address, ""));

		whole->state = delivery_status_next(whole->state, report->kind);
		whole->changed = true;
		if (has_words_of(whole->state, report->kind))
			set_words(whole, report);
		return added;
	}
	recipient->status = delivery_status_next(recipient->status, report->kind);
	changes->moved[recipient - changes->recipients.items] = true;
	if (!has_words_of(recipient->status, report->kind))
		return added;
	recipient->changed_us = report->occurred_us;
	replace_text(&recipient->relay, report->relay);
	replace_text(&recipient->dsn, report->dsn);
	replace_text(&recipient->text, report->text);
	return added;
}

static void add_message(struct queue_messages *list, const struct queue_message *message)
{
	list->items = mem_append(list->items, list->n, sizeof(*list->items));
	list->items[list->n++] = *message;
}

/* Writes the messages that have no row so far, and which ones have left the queue: of one email, or
 * of all (only is NULL). */
static int write_messages(
	struct delivery_writer *writer, struct email_changes *only, struct err *err)
{
	struct queue_messages fresh = {0}, closed = {0};
	int result;

	for (struct email_changes *changes = only ? only : writer->last; changes;
		changes = only ? NULL : changes->before) {
		for (size_t i = 0; i < changes->fresh_n; i++)
			add_message(&fresh, &changes->fresh[i]);
		free(changes->fresh);
		changes->fresh = NULL;
		changes->fresh_n = 0;
		for (size_t i = 0; i < changes->closed_n; i++) {
			struct closed *one = &changes->closed[i];

			if (!one->is_written)
				add_message(
					&closed, &(struct queue_message){.queue_id = one->queue_id,
							 .since_us = one->since_us,
							 .closed_us = one->time_us});
			one->is_written = true;
		}
	}
	result = store_queue_messages_add(writer->db, &fresh, err);
	if (result == 0)
		result = store_queue_messages_close(writer->db, &closed, err);
	queue_messages_free(&fresh);
	free(closed.items);
	return result;
}

int delivery_writer_write_messages(struct delivery_writer *writer, struct err *err)
{
	return write_messages(writer, NULL, err);
}

/* Gives the email a tree. The known states of its recipients come from its first message, except
 * those reported by the queue, which are about the recipients as a whole. */
static int grow_tree(struct delivery_writer *writer, struct email_changes *changes, struct err *err)
{
	struct delivery_tree *tree;
	const struct queue_message *first = NULL;

	if (changes->tree)
		return 0;
	tree = changes->tree = delivery_tree_new(&changes->recipients);
	if (write_messages(writer, changes, err) < 0 ||
		store_delivery_read(writer->db, changes->email, tree, err) < 0)
		return -1;
	first = delivery_tree_first(tree);
	for (size_t i = 0; i < changes->recipients.n; i++) {
		const struct recipient *one = &changes->recipients.items[i];
		bool is_whole = first == NULL || one->status == DELIVERY_UNKNOWN ||
				one->status == DELIVERY_COMPLAINED ||
				one->status == DELIVERY_SUPPRESSED ||
				(one->status == DELIVERY_DEFERRED && one->dsn == NULL);
		struct delivery *delivery;

		if (one->status == DELIVERY_QUEUED)
			continue;
		delivery = delivery_tree_at(
			tree, delivery_tree_find(tree, is_whole ? "" : first->queue_id,
				      is_whole ? 0 : first->since_us, one->address, ""));
		delivery->state = one->status;
		delivery->began_us = delivery->changed_us = one->changed_us;
		delivery->relay = mem_strdup(one->relay);
		delivery->dsn = mem_strdup(one->dsn);
		delivery->text = mem_strdup(one->text);
		delivery->changed = true;
		if (writer->classify && !is_whole && one->status == DELIVERY_DELIVERED)
			writer->classify(writer->classify_arg, one, delivery);
	}
	return 0;
}

/* True if the row of the recipient is the delivery of this attempt. */
static bool is_plain_delivery(const struct email_changes *changes,
	const struct delivery_attempt *attempt, const struct event_report *report)
{
	return changes->tree == NULL && attempt->message->how == MESSAGE_RECORDED &&
	       report->kind != EVENT_HANDED_ON && !attempt->has_child &&
	       (attempt->orig_to == NULL || addr_logged_eq(attempt->orig_to, report->address));
}

int delivery_writer_deliver(struct delivery_writer *writer, const struct delivery_attempt *attempt,
	const struct event_report *report, struct err *err)
{
	const struct queue_message *message = attempt->message;
	struct email_changes *changes;
	struct delivery *delivery;
	size_t i;

	if (get_changes(writer, report->email, &changes, err) < 0)
		return -1;
	if (is_plain_delivery(changes, attempt, report)) {
		struct event_report plain = *report;
		int found = delivery_writer_find(
			writer, report->email, report->address, &plain.n, err);

		/* Uses the recipient's own spelling of the address. */
		plain.address = NULL;
		if (found == 1)
			found = delivery_writer_add(writer, &plain, err);
		else if (found == 0)
			found = -2;
		if (found != -2)
			return found < 0 ? -1 : 0;
	}
	if (grow_tree(writer, changes, err) < 0)
		return -1;
	i = delivery_tree_find(changes->tree, message->queue_id, message->since_us, report->address,
		attempt->orig_to ? attempt->orig_to : "");
	delivery = delivery_tree_at(changes->tree, i);
	delivery->state = delivery_status_next(delivery->state, report->kind);
	delivery->changed = true;
	if (has_words_of(delivery->state, report->kind)) {
		set_words(delivery, report);
		delivery->began_us = attempt->began_us;
		delivery->via = attempt->via;
		replace_text(&delivery->child, attempt->child);
	}
	changes->pending = mem_append(
		changes->pending, changes->pending_n, sizeof(*changes->pending));
	changes->pending[changes->pending_n++] = (struct pending){i, event_report_copy(report)};
	return 0;
}

int delivery_writer_begin_message(
	struct delivery_writer *writer, const struct queue_message *message, struct err *err)
{
	struct email_changes *changes;
	struct queue_message copy = *message;

	if (get_changes(writer, message->email, &changes, err) < 0)
		return -1;
	copy.queue_id = mem_strdup(message->queue_id);
	copy.parent = mem_strdup(message->parent);
	changes->fresh = mem_append(changes->fresh, changes->fresh_n, sizeof(*changes->fresh));
	changes->fresh[changes->fresh_n++] = copy;
	if (changes->tree)
		delivery_tree_add_message(changes->tree, message);
	return 0;
}

int delivery_writer_add_message(
	struct delivery_writer *writer, const struct queue_message *message, struct err *err)
{
	struct email_changes *changes;

	if (get_changes(writer, message->email, &changes, err) < 0 ||
		grow_tree(writer, changes, err) < 0 || write_messages(writer, changes, err) < 0 ||
		store_queue_message_add(writer->db, message, err) < 0)
		return -1;
	delivery_tree_add_message(changes->tree, message);
	changes->changed = true;
	return 0;
}

int delivery_writer_expect(
	struct delivery_writer *writer, const struct queue_message *message, struct err *err)
{
	struct email_changes *changes;
	struct queue_message *known;

	if (get_changes(writer, message->email, &changes, err) < 0 ||
		write_messages(writer, changes, err) < 0 ||
		store_queue_message_expect(writer->db, message, err) < 0)
		return -1;
	known = changes->tree
			? delivery_tree_message(changes->tree, message->queue_id, message->since_us)
			: NULL;
	if (known)
		known->recipients = message->recipients;
	return 0;
}

/* Adds the event of a recipient that follows from the end of a message, with the texts of the last
 * report about the recipient. */
static int add_end_event(struct delivery_writer *writer, struct email_changes *changes,
	struct recipient *recipient, const struct queue_message *message,
	const struct event_report *report, struct err *err)
{
	struct event_report of_one = *report;
	char since[24], n[24];

	of_one.n = recipient->n;
	of_one.relay = recipient->relay;
	of_one.dsn = recipient->dsn;
	of_one.text = recipient->text;
	snprintf(since, sizeof(since), "%lld", (long long)message->since_us);
	snprintf(n, sizeof(n), "%lld", (long long)recipient->n);
	event_key(of_one.key,
		(const char *[]){event_kind_name(report->kind), message->queue_id, since, n}, 4);
	return changes->tree ? add_event_of(writer, changes, recipient, &of_one, err)
			     : delivery_writer_add(writer, &of_one, err);
}

int delivery_writer_end(struct delivery_writer *writer, const struct queue_message *message,
	const struct event_report *report, struct err *err)
{
	struct email_changes *changes;
	struct queue_message *ended;

	if (get_changes(writer, report->email, &changes, err) < 0 ||
		write_messages(writer, changes, err) < 0 ||
		store_queue_message_end(writer->db, message, delivery_status_of_event(report->kind),
			report->occurred_us, err) < 0)
		return -1;
	if (changes->tree == NULL) {
		for (size_t i = 0; i < changes->recipients.n; i++)
			if (delivery_is_open(changes->recipients.items[i].status) &&
				add_end_event(writer, changes, &changes->recipients.items[i],
					message, report, err) < 0)
				return -1;
		return 0;
	}
	ended = delivery_tree_message(changes->tree, message->queue_id, message->since_us);
	changes->changed = true;
	if (ended && !ended->has_end) {
		ended->has_end = true;
		ended->ended = delivery_status_of_event(report->kind);
		ended->ended_us = report->occurred_us;
	}
	return 0;
}

int delivery_writer_close(struct delivery_writer *writer, const struct queue_message *message,
	int64_t time_us, bool is_explained, struct err *err)
{
	struct email_changes *changes;
	struct queue_message *closed;
	bool is_fresh = false;

	if (get_changes(writer, message->email, &changes, err) < 0)
		return -1;
	changes->changed = true;
	/* A message that has no row so far is inserted as closed. */
	for (size_t i = 0; i < changes->fresh_n && !is_fresh; i++) {
		struct queue_message *one = &changes->fresh[i];

		is_fresh = one->since_us == message->since_us &&
			   str_eq(one->queue_id, message->queue_id);
		if (is_fresh && one->closed_us == 0)
			one->closed_us = time_us;
	}
	changes->closed = mem_append(changes->closed, changes->closed_n, sizeof(*changes->closed));
	changes->closed[changes->closed_n++] = (struct closed){
		mem_strdup(message->queue_id), message->since_us, time_us, is_explained, is_fresh};
	closed = changes->tree ? delivery_tree_message(
					 changes->tree, message->queue_id, message->since_us)
			       : NULL;
	if (closed)
		closed->closed_us = time_us;
	return 0;
}

int delivery_writer_message_id(
	struct delivery_writer *writer, int64_t email, const char **message_id_r, struct err *err)
{
	struct email_changes *changes;

	if (get_changes(writer, email, &changes, err) < 0)
		return -1;
	*message_id_r = changes->message_id;
	return 0;
}

/* Answers delivery_writer_leads_to() for one delivery. */
static int leads_to(const struct delivery *delivery, const char *queue_id, int64_t since_us)
{
	if (!delivery_may_lead_to(delivery, queue_id, since_us))
		return 0;
	return delivery->child && str_eq(delivery->child, queue_id) ? 2 : 1;
}

int delivery_writer_leads_to(struct delivery_writer *writer, int64_t email, const char *queue_id,
	int64_t since_us, struct err *err)
{
	struct email_changes *changes;
	int best = 0, leads;

	if (get_changes(writer, email, &changes, err) < 0)
		return -1;
	for (size_t i = 0; changes->tree == NULL && writer->classify && i < changes->recipients.n;
		i++) {
		const struct recipient *one = &changes->recipients.items[i];
		struct delivery delivery = {.state = one->status,
			.began_us = one->changed_us,
			.changed_us = one->changed_us};

		if (one->status == DELIVERY_DELIVERED)
			writer->classify(writer->classify_arg, one, &delivery);
		leads = leads_to(&delivery, queue_id, since_us);
		best = leads > best ? leads : best;
		free(delivery.child);
	}
	for (size_t i = 0; changes->tree && i < delivery_tree_count(changes->tree); i++) {
		leads = leads_to(delivery_tree_at(changes->tree, i), queue_id, since_us);
		best = leads > best ? leads : best;
	}
	return best;
}

/*
 * The end of a transaction, for an email with a tree.
 */

/* Adds the pending reports of this transaction as events of the recipients that own the deliveries.
 * news_r has a flag for each recipient that got a new one. A report that belongs to several
 * recipients has a key for each. */
static int add_pending_events(struct delivery_writer *writer, struct email_changes *changes,
	bool *news_r, struct err *err)
{
	_cleanup_free_ bool *owners = mem_alloc(changes->recipients.n + 1, sizeof(bool));

	for (size_t i = 0; i < changes->pending_n; i++) {
		const struct pending *pending = &changes->pending[i];
		struct event_report report = pending->report;
		bool several = false;

		memset(owners, 0, changes->recipients.n);
		delivery_tree_owners(changes->tree, pending->delivery, owners);
		if (report.kind == EVENT_DELIVERED &&
			delivery_tree_is_handed_on(changes->tree, pending->delivery))
			report.kind = EVENT_HANDED_ON;
		for (size_t k = 0; k < changes->recipients.n; k++) {
			int added;

			if (!owners[k])
				continue;
			if (several)
				event_key_of_one(report.key, pending->report.key, k);
			several = true;
			added = add_event_of(
				writer, changes, &changes->recipients.items[k], &report, err);
			if (added < 0)
				return -1;
			news_r[k] |= added;
		}
	}
	return 0;
}

/* Adds events of shared deliveries for all recipients that they may belong to. */
static int add_shared_events(struct delivery_writer *writer, struct email_changes *changes,
	int64_t now_us, struct err *err)
{
	_cleanup_free_ bool *sharers = mem_alloc(changes->recipients.n + 1, sizeof(bool));

	for (size_t i = 0; i < delivery_tree_count(changes->tree); i++) {
		const struct delivery *one = delivery_tree_at(changes->tree, i);
		struct event_report report = {.email = changes->email,
			.kind = one->state == DELIVERY_DELIVERED
					? EVENT_LOST
					: delivery_status_event(one->state),
			.occurred_us = one->changed_us,
			.now_us = now_us,
			.address = one->address,
			.relay = one->relay,
			.dsn = one->dsn,
			.text = one->text,
			.source = "log"};

		memset(sharers, 0, changes->recipients.n);
		delivery_tree_sharers(changes->tree, i, sharers);
		if (delivery_is_open(one->state))
			continue;
		for (size_t k = 0; k < changes->recipients.n; k++) {
			char n[24];

			if (!sharers[k])
				continue;
			snprintf(n, sizeof(n), "%lld", (long long)changes->recipients.items[k].n);
			event_key(report.key,
				(const char *[]){"shared", one->queue_id, one->address,
					one->orig_to, delivery_status_name(one->state), n},
				6);
			if (add_event_of(writer, changes, &changes->recipients.items[k], &report,
				    err) < 0)
				return -1;
		}
	}
	return 0;
}

static int add_end_events(struct delivery_writer *writer, struct email_changes *changes,
	int64_t now_us, struct err *err)
{
	_cleanup_free_ bool *open = mem_alloc(changes->recipients.n + 1, sizeof(bool));
	const struct queue_message *message;

	for (size_t i = 0; (message = delivery_tree_nth_message(changes->tree, i)) != NULL; i++) {
		struct event_report report = {.email = changes->email,
			.kind = delivery_status_event(message->ended),
			.occurred_us = message->ended_us,
			.now_us = now_us,
			.source = "log"};

		if (!message->has_end)
			continue;
		memset(open, 0, changes->recipients.n);
		delivery_tree_ended(changes->tree, message, open);
		for (size_t k = 0; k < changes->recipients.n; k++)
			if (open[k] && add_end_event(writer, changes, &changes->recipients.items[k],
					       message, &report, err) < 0)
				return -1;
	}
	return 0;
}

/* A report that the queue has lost the message is dropped once a log line is newer. */
static bool forget_lost(struct email_changes *changes, const bool *news)
{
	bool forgot = false;

	for (size_t k = 0; k < changes->recipients.n; k++) {
		struct delivery *whole;

		if (!news[k] || changes->recipients.items[k].status != DELIVERY_UNKNOWN)
			continue;
		whole = delivery_tree_whole(changes->tree, changes->recipients.items[k].address);
		if (whole == NULL || whole->state != DELIVERY_UNKNOWN)
			continue;
		whole->state = DELIVERY_QUEUED;
		whole->changed = forgot = true;
	}
	return forgot;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && str_eq(a, b));
}

static void set_status(struct email_changes *changes, size_t i)
{
	const struct recipient_status *status = delivery_tree_status(changes->tree, i);
	struct recipient *one = &changes->recipients.items[i];
	const struct delivery *delivery = status->delivery;
	int64_t changed_us = status->ended_us ? status->ended_us
			     : delivery       ? delivery->changed_us
					      : one->changed_us;

	if (one->status == status->state && one->changed_us == changed_us &&
		(delivery == NULL || (is_same_text(one->text, delivery->text) &&
					     is_same_text(one->relay, delivery->relay))))
		return;
	one->status = status->state;
	one->changed_us = changed_us;
	changes->moved[i] = true;
	if (delivery == NULL)
		return;
	replace_text(&one->relay, delivery->relay);
	replace_text(&one->dsn, delivery->dsn);
	replace_text(&one->text, delivery->text);
}

static int settle_tree(
	struct delivery_writer *writer, struct email_changes *changes, struct err *err)
{
	_cleanup_free_ bool *news = mem_alloc(changes->recipients.n + 1, sizeof(bool));
	int64_t now_us = writer->now_us;

	delivery_tree_compute(changes->tree);
	if (add_pending_events(writer, changes, news, err) < 0)
		return -1;
	if (forget_lost(changes, news))
		delivery_tree_compute(changes->tree);
	for (size_t i = 0; i < changes->recipients.n; i++)
		set_status(changes, i);
	if (add_shared_events(writer, changes, now_us, err) < 0 ||
		add_end_events(writer, changes, now_us, err) < 0)
		return -1;
	changes->changed = true;
	return store_delivery_write(writer->db, changes->email, changes->tree, err);
}

/* True if a message has left the queue with unreported deliveries. */
static bool has_unreported(struct email_changes *changes, const struct closed *closed)
{
	const struct queue_message *message;

	if (changes->tree) {
		message = delivery_tree_message(changes->tree, closed->queue_id, closed->since_us);
		return message && !message->has_end && delivery_tree_awaits(changes->tree, message);
	}
	for (size_t i = 0; i < changes->recipients.n; i++)
		if (delivery_is_open(changes->recipients.items[i].status))
			return true;
	return false;
}

static int write_recipients(struct delivery_writer *writer, struct err *err)
{
	static const char sql_move[] =
		"UPDATE email_recipient"
		" SET state = $state, attempts = $attempts, changed_us = $changed,"
		" relay = $relay, dsn = $dsn, text = $text"
		" WHERE email = $email AND n = $n";
	struct db_rows rows = {0};
	int result;

	for (struct email_changes *changes = writer->last; changes; changes = changes->before)
		for (size_t i = 0; i < changes->recipients.n; i++) {
			const struct recipient *one = &changes->recipients.items[i];

			if (changes->changed && changes->moved[i])
				db_rows_add(
					&rows, DB_PARAMS(DB_TEXT("$state",
								 delivery_status_name(one->status)),
						       DB_INT("$attempts", one->attempts),
						       DB_INT("$changed", one->changed_us),
						       DB_TEXT("$relay", one->relay),
						       DB_TEXT("$dsn", one->dsn),
						       DB_TEXT("$text", one->text),
						       DB_INT("$email", changes->email),
						       DB_INT("$n", one->n)));
		}
	result = db_post_rows(writer->db, sql_move, &rows, err);
	free(rows.items);
	return result;
}

static int write_emails(struct delivery_writer *writer, struct err *err)
{
	/* An email that was stopped before the milter was asked stays staged, but is finished. */
	static const char sql_settle[] =
		"UPDATE email"
		" SET last_event = $event, closed = $closed"
		" WHERE seq = $email"
		" AND (state = 'sent' OR (state = 'staged' AND queue_id IS NULL AND $closed <> 0))"
		" AND (last_event IS DISTINCT FROM $event OR closed <> $closed)";
	struct db_rows rows = {0};
	int result;

	for (struct email_changes *changes = writer->last; changes; changes = changes->before) {
		size_t counts[DELIVERY_STATUSES] = {0};
		bool closed = true;

		for (size_t i = 0; i < changes->recipients.n; i++) {
			counts[changes->recipients.items[i].status]++;
			closed &= !delivery_is_open(changes->recipients.items[i].status);
		}
		if (changes->changed)
			db_rows_add(&rows, DB_PARAMS(DB_TEXT("$event", delivery_last_event(counts)),
						   DB_INT("$closed", closed),
						   DB_INT("$email", changes->email)));
	}
	result = db_post_rows(writer->db, sql_settle, &rows, err);
	free(rows.items);
	return result;
}

int delivery_writer_flush(struct delivery_writer *writer, struct err *err)
{
	for (struct email_changes *changes = writer->last; changes; changes = changes->before) {
		bool has_news = changes->pending_n || changes->closed_n || changes->changed;

		if (changes->tree && has_news && settle_tree(writer, changes, err) < 0)
			return -1;
		for (size_t i = 0; i < changes->closed_n; i++) {
			const struct closed *closed = &changes->closed[i];

			if (closed->is_explained || !has_unreported(changes, closed))
				continue;
			writer->fresh.unreported++;
			if (store_gap_add(writer->db, "log", "no_status", closed->since_us,
				    closed->time_us, err) < 0)
				return -1;
		}
	}
	if (write_messages(writer, NULL, err) < 0 || write_recipients(writer, err) < 0 ||
		write_emails(writer, err) < 0 || event_writer_flush(writer->events, err) < 0)
		return -1;
	for (size_t i = 0; i < EVENT_KINDS; i++)
		writer->stored.events[i] += writer->fresh.events[i];
	writer->stored.unreported += writer->fresh.unreported;
	writer->stored.unlisted += writer->fresh.unlisted;
	delivery_writer_reset(writer);
	return 0;
}

int delivery_writer_unsent(struct db *db, const struct unsent *unsent, struct err *err)
{
	static const char sql_seq[] = "SELECT seq FROM email WHERE id = $id";
	const char *const parts[] = {event_kind_name(unsent->kind), unsent->id};
	_cleanup_(delivery_writer) struct delivery_writer *writer = delivery_writer_new(db);
	struct event_report report = {.kind = unsent->kind,
		.occurred_us = unsent->now_us,
		.now_us = unsent->now_us,
		.text = unsent->text,
		.source = "outbox",
		.is_counted = unsent->is_counted};
	const struct recipients *recipients;
	uint8_t key[EVENT_KEY_LEN];

	event_key(key, parts, ARRAY_SIZE(parts));
	if (row_number(db, sql_seq, DB_PARAMS(DB_TEXT("$id", unsent->id)), &report.email, err) <=
			0 ||
		delivery_writer_recipients(writer, report.email, &recipients, err) < 0)
		return -1;
	for (size_t i = 0; i < recipients->n; i++) {
		event_key_of_one(report.key, key, i);
		report.n = recipients->items[i].n;
		if (delivery_writer_add(writer, &report, err) < 0)
			return -1;
	}
	return delivery_writer_flush(writer, err);
}
