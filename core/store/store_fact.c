/*
 * store_fact: stores facts, as events and as the states of recipients.
 *
 * Owns the emails that the transaction concerns, with all their recipients, and
 * the tree of those that need one. Events are inserted at once where the row of
 * the recipient is the delivery; of a tree at the end, when it is known whose each
 * delivery is. The states of recipients and emails are written at the end.
 *
 * Threads: a writer and its handle are used by one thread at a time.
 */
#include "core/store/store_fact.h"

#include <stdio.h>
#include <string.h>

#include "core/address/addr_logged.h"
#include "core/base/str.h"

enum { BUCKETS = 256 }; /* a power of two */

struct email_facts {
	int64_t email;
	char *company_id;
	char *domain;
	char *message_id;
	struct delivery_tree *tree; /* NULL: the recipients are the deliveries */
	struct pending *pending;    /* what is said of its deliveries */
	size_t pending_n;
	struct closed *closed; /* messages that left the queue now */
	size_t closed_n;
	struct recipients fates;
	bool *moved; /* for each of fates: it has to be written */
	bool told;   /* an event was added */
	size_t next; /* of fates, behind the one that was found last */
	struct email_facts *in_bucket;
	struct email_facts *before; /* this one was read */
};

/* A line about a delivery of the tree. */
struct pending {
	size_t delivery;
	struct fact_report report; /* with texts of its own */
};
struct closed {
	char *queue_id;
	int64_t since_us;
	int64_t time_us;
	bool is_told;
};

struct fact_writer {
	struct db *db;
	struct email_facts *buckets[BUCKETS];
	struct email_facts *last;
	size_t held;
	struct event_writer *events;
	int64_t now_us;           /* of the newest report */
	struct fact_counts fresh; /* of this transaction */
	/* These stay. */
	fact_classify *classify;
	const void *classify_arg;
	struct fact_counts stored;
};

struct fact_writer *fact_writer_new(struct db *db)
{
	struct fact_writer *writer = mem_new(struct fact_writer);

	writer->db = db;
	writer->events = event_writer_new(db);
	return writer;
}

void fact_writer_free(struct fact_writer *writer)
{
	if (writer == NULL)
		return;
	fact_writer_reset(writer);
	event_writer_free(writer->events);
	free(writer);
}

void fact_writer_set_classify(struct fact_writer *writer, fact_classify *classify, const void *arg)
{
	writer->classify = classify;
	writer->classify_arg = arg;
}

const struct fact_counts *fact_writer_counts(const struct fact_writer *writer)
{
	return &writer->stored;
}

size_t fact_writer_held(const struct fact_writer *writer)
{
	return writer->held;
}

/* A report with texts of its own, and what frees them. */
static struct fact_report copy_report(const struct fact_report *report)
{
	struct fact_report copy = *report;

	copy.address = mem_strdup(report->address);
	copy.relay = mem_strdup(report->relay);
	copy.dsn = mem_strdup(report->dsn);
	copy.text = mem_strdup(report->text);
	return copy;
}

static void clear_report(struct fact_report *report)
{
	free((char *)report->address);
	free((char *)report->relay);
	free((char *)report->dsn);
	free((char *)report->text);
}

void fact_writer_reset(struct fact_writer *writer)
{
	struct fact_writer kept = {.db = writer->db,
		.events = writer->events,
		.classify = writer->classify,
		.classify_arg = writer->classify_arg,
		.stored = writer->stored};

	while (writer->last) {
		struct email_facts *facts = writer->last;

		writer->last = facts->before;
		for (size_t i = 0; i < facts->pending_n; i++)
			clear_report(&facts->pending[i].report);
		for (size_t i = 0; i < facts->closed_n; i++)
			free(facts->closed[i].queue_id);
		free(facts->pending);
		free(facts->closed);
		delivery_tree_free(facts->tree);
		free(facts->message_id);
		recipients_free(&facts->fates);
		free(facts->moved);
		free(facts->company_id);
		free(facts->domain);
		free(facts);
	}
	event_writer_reset(writer->events);
	*writer = kept;
}

static int read_email(struct db *db, struct email_facts *facts, struct err *err)
{
	static const char sql_email[] =
		"SELECT company_id, domain, message_id, EXISTS (SELECT 1"
		"   FROM delivery d"
		"   WHERE d.email = email.seq)"
		" FROM email"
		" WHERE seq = $email";
	struct db_stmt *stmt;
	bool has_tree = false;
	int found;

	if (db_start(db, sql_email, DB_PARAMS(DB_INT("$email", facts->email)), &stmt, err) != 0)
		return -1;
	found = db_step(stmt, err);
	if (found < 0)
		return -1;
	if (found == 1) {
		facts->company_id = db_copy(stmt, 0);
		facts->domain = db_copy(stmt, 1);
		facts->message_id = db_copy(stmt, 2);
		has_tree = db_int(stmt, 3);
		db_reset(stmt);
	}
	if (store_recipients_read(db, facts->email, true, &facts->fates, err) < 0)
		return -1;
	facts->moved = mem_alloc(facts->fates.n + 1, sizeof(*facts->moved));
	if (!has_tree)
		return 0;
	facts->tree = delivery_tree_new(&facts->fates);
	return store_delivery_read(db, facts->email, facts->tree, err);
}

static int get_facts(
	struct fact_writer *writer, int64_t email, struct email_facts **facts_r, struct err *err)
{
	struct email_facts **slot = &writer->buckets[email & (BUCKETS - 1)];
	struct email_facts *facts = *slot;

	while (facts && facts->email != email)
		facts = facts->in_bucket;
	if (facts == NULL) {
		facts = mem_new(struct email_facts);
		facts->email = email;
		facts->in_bucket = *slot;
		facts->before = writer->last;
		*slot = facts;
		writer->last = facts;
		if (read_email(writer->db, facts, err) < 0)
			return -1;
		writer->held += facts->fates.n;
	}
	*facts_r = facts;
	return 0;
}

int fact_writer_recipients(struct fact_writer *writer, int64_t email,
	const struct recipients **fates_r, struct err *err)
{
	struct email_facts *facts;

	if (get_facts(writer, email, &facts, err) < 0)
		return -1;
	*fates_r = &facts->fates;
	return 0;
}

/* Lines mostly come in the order of the recipients. An address in another
 * letter case counts where none is the same. */
int fact_writer_find(struct fact_writer *writer, int64_t email, const char *address, int64_t *n_r,
	struct err *err)
{
	struct email_facts *facts;
	const struct recipient *all;
	size_t n, at, found;

	if (get_facts(writer, email, &facts, err) < 0)
		return -1;
	all = facts->fates.items;
	n = found = facts->fates.n;
	for (size_t i = 0; i < n && found == n; i++) {
		at = (facts->next + i) % n;
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
	facts->next = found + 1;
	*n_r = all[found].n;
	return 1;
}

static void replace(char **text, const char *fresh)
{
	char *copy = mem_strdup(fresh); /* which may be the old one */

	free(*text);
	*text = copy;
}

/* In their order; most have all numbers. */
static struct recipient *find_number(const struct recipients *fates, int64_t n)
{
	size_t i = n >= 0 && n < (int64_t)fates->n ? (size_t)n : fates->n;

	while (i > 0 && (i == fates->n || fates->items[i].n > n))
		i--;
	return i < fates->n && fates->items[i].n == n ? &fates->items[i] : NULL;
}

/* Stores the event for one recipient, if it is new, and counts it: 1, 0, -1. */
static int tell(struct fact_writer *writer, struct email_facts *facts, struct recipient *recipient,
	const struct fact_report *report, struct err *err)
{
	struct fact_report of_one = *report;
	int added;

	of_one.n = recipient->n;
	if (report->now_us > writer->now_us)
		writer->now_us = report->now_us;
	added = event_writer_add(writer->events,
		&(struct event_owner){facts->company_id, facts->domain, recipient->address,
			recipient->attempts + fact_is_attempt(report->fact)},
		&of_one, err);
	if (added <= 0)
		return added;
	facts->told = true;
	writer->fresh.facts[report->fact]++;
	if (fact_is_attempt(report->fact)) {
		recipient->attempts++;
		facts->moved[recipient - facts->fates.items] = true;
	}
	return 1;
}

/* Whether the fact's words are those of the state that it led to. */
static bool has_words_of(enum fate fate, enum fact fact)
{
	return fact != FACT_ACCEPTED && fate_of_fact(fact) == fate;
}

static struct delivery *find_whole(struct email_facts *facts, const struct recipient *recipient)
{
	return delivery_tree_at(
		facts->tree, delivery_tree_find(facts->tree, "", 0, recipient->address, ""));
}

static void set_words(struct delivery *delivery, const struct fact_report *report)
{
	delivery->changed_us = report->occurred_us;
	replace(&delivery->relay, report->relay);
	replace(&delivery->dsn, report->dsn);
	replace(&delivery->text, report->text);
}

int fact_writer_add(struct fact_writer *writer, const struct fact_report *report, struct err *err)
{
	struct recipient *recipient;
	struct email_facts *facts;
	int added;

	if (get_facts(writer, report->email, &facts, err) < 0)
		return -1;
	recipient = find_number(&facts->fates, report->n);
	if (recipient == NULL || (report->fact == FACT_LOST && !fate_is_open(recipient->fate)))
		return 0;
	added = tell(writer, facts, recipient, report, err);
	/* What was found since may be lost again. */
	if (added < 0 || report->fact == FACT_ACCEPTED || (added == 0 && report->fact != FACT_LOST))
		return added;
	facts->told = true;
	if (facts->tree) {
		struct delivery *whole = find_whole(facts, recipient);

		whole->state = fate_next(whole->state, report->fact);
		whole->changed = true;
		if (has_words_of(whole->state, report->fact))
			set_words(whole, report);
		return added;
	}
	recipient->fate = fate_next(recipient->fate, report->fact);
	facts->moved[recipient - facts->fates.items] = true;
	if (!has_words_of(recipient->fate, report->fact))
		return added;
	recipient->changed_us = report->occurred_us;
	replace(&recipient->relay, report->relay);
	replace(&recipient->dsn, report->dsn);
	replace(&recipient->text, report->text);
	return added;
}

/* From now on the email needs a tree. What is known of its recipients was said
 * of its first message; but of the queue, and by it, of them as a whole. */
static int grow_tree(struct fact_writer *writer, struct email_facts *facts, struct err *err)
{
	struct delivery_tree *tree;
	const struct queue_message *first = NULL;

	if (facts->tree)
		return 0;
	tree = facts->tree = delivery_tree_new(&facts->fates);
	if (store_delivery_read(writer->db, facts->email, tree, err) < 0)
		return -1;
	first = delivery_tree_first(tree);
	for (size_t i = 0; i < facts->fates.n; i++) {
		const struct recipient *one = &facts->fates.items[i];
		bool is_whole = first == NULL || one->fate == FATE_UNKNOWN ||
				one->fate == FATE_COMPLAINED ||
				(one->fate == FATE_DEFERRED && one->dsn == NULL);
		struct delivery *delivery;

		if (one->fate == FATE_QUEUED)
			continue;
		delivery = delivery_tree_at(
			tree, delivery_tree_find(tree, is_whole ? "" : first->queue_id,
				      is_whole ? 0 : first->since_us, one->address, ""));
		delivery->state = one->fate;
		delivery->began_us = delivery->changed_us = one->changed_us;
		delivery->relay = mem_strdup(one->relay);
		delivery->dsn = mem_strdup(one->dsn);
		delivery->text = mem_strdup(one->text);
		delivery->changed = true;
		if (writer->classify && !is_whole && one->fate == FATE_DELIVERED)
			writer->classify(writer->classify_arg, one, delivery);
	}
	return 0;
}

/* Whether the row of the recipient is the delivery that the attempt is of. */
static bool is_plain(const struct email_facts *facts, const struct fact_attempt *attempt,
	const struct fact_report *report)
{
	return facts->tree == NULL && attempt->message->how == MESSAGE_RECORDED &&
	       report->fact != FACT_HANDED_ON && !attempt->has_child &&
	       (attempt->orig_to == NULL || addr_logged_eq(attempt->orig_to, report->address));
}

int fact_writer_deliver(struct fact_writer *writer, const struct fact_attempt *attempt,
	const struct fact_report *report, struct err *err)
{
	const struct queue_message *message = attempt->message;
	struct email_facts *facts;
	struct delivery *delivery;
	size_t i;

	if (get_facts(writer, report->email, &facts, err) < 0)
		return -1;
	if (is_plain(facts, attempt, report)) {
		struct fact_report plain = *report;
		int found = fact_writer_find(writer, report->email, report->address, &plain.n, err);

		/* As the recipient has it, in whatever way the log does. */
		plain.address = NULL;
		if (found == 1)
			found = fact_writer_add(writer, &plain, err);
		else if (found == 0)
			found = -2;
		if (found != -2)
			return found < 0 ? -1 : 0;
	}
	if (grow_tree(writer, facts, err) < 0)
		return -1;
	i = delivery_tree_find(facts->tree, message->queue_id, message->since_us, report->address,
		attempt->orig_to ? attempt->orig_to : "");
	delivery = delivery_tree_at(facts->tree, i);
	delivery->state = fate_next(delivery->state, report->fact);
	delivery->changed = true;
	if (has_words_of(delivery->state, report->fact)) {
		set_words(delivery, report);
		delivery->began_us = attempt->began_us;
		delivery->via = attempt->via;
		replace(&delivery->child, attempt->child);
	}
	facts->pending = mem_append(facts->pending, facts->pending_n, sizeof(*facts->pending));
	facts->pending[facts->pending_n++] = (struct pending){i, copy_report(report)};
	return 0;
}

int fact_writer_add_message(
	struct fact_writer *writer, const struct queue_message *message, struct err *err)
{
	struct email_facts *facts;

	if (get_facts(writer, message->email, &facts, err) < 0 ||
		grow_tree(writer, facts, err) < 0 ||
		store_message_add(writer->db, message, err) < 0)
		return -1;
	delivery_tree_add_message(facts->tree, message);
	facts->told = true;
	return 0;
}

int fact_writer_expect(
	struct fact_writer *writer, const struct queue_message *message, struct err *err)
{
	struct email_facts *facts;
	struct queue_message *known;

	if (get_facts(writer, message->email, &facts, err) < 0 ||
		store_message_expect(writer->db, message, err) < 0)
		return -1;
	known = facts->tree
			? delivery_tree_message(facts->tree, message->queue_id, message->since_us)
			: NULL;
	if (known)
		known->recipients = message->recipients;
	return 0;
}

static void note_closed(struct email_facts *facts, const struct queue_message *message,
	int64_t time_us, bool is_told)
{
	facts->closed = mem_append(facts->closed, facts->closed_n, sizeof(*facts->closed));
	facts->closed[facts->closed_n++] = (struct closed){
		mem_strdup(message->queue_id), message->since_us, time_us, is_told};
}

/* The key of what is told of a recipient by a message as a whole. */
static void end_key(struct fact_report *report, const struct queue_message *message,
	const struct recipient *recipient)
{
	char since[24], n[24];

	snprintf(since, sizeof(since), "%lld", (long long)message->since_us);
	snprintf(n, sizeof(n), "%lld", (long long)recipient->n);
	fact_key(report->key,
		(const char *[]){fact_name(report->fact), message->queue_id, since, n}, 4);
}

/* In the words that were said to the recipient last. */
static int tell_end(struct fact_writer *writer, struct email_facts *facts,
	struct recipient *recipient, const struct queue_message *message,
	const struct fact_report *report, struct err *err)
{
	struct fact_report of_one = *report;

	of_one.n = recipient->n;
	of_one.relay = recipient->relay;
	of_one.dsn = recipient->dsn;
	of_one.text = recipient->text;
	end_key(&of_one, message, recipient);
	return facts->tree ? tell(writer, facts, recipient, &of_one, err)
			   : fact_writer_add(writer, &of_one, err);
}

int fact_writer_end(struct fact_writer *writer, const struct queue_message *message,
	const struct fact_report *report, struct err *err)
{
	struct email_facts *facts;
	struct queue_message *ended;

	if (get_facts(writer, report->email, &facts, err) < 0 ||
		store_message_end(writer->db, message, fate_of_fact(report->fact),
			report->occurred_us, err) < 0)
		return -1;
	if (facts->tree == NULL) {
		for (size_t i = 0; i < facts->fates.n; i++)
			if (fate_is_open(facts->fates.items[i].fate) &&
				tell_end(writer, facts, &facts->fates.items[i], message, report,
					err) < 0)
				return -1;
		return 0;
	}
	ended = delivery_tree_message(facts->tree, message->queue_id, message->since_us);
	facts->told = true;
	if (ended && !ended->has_end) {
		ended->has_end = true;
		ended->ended = fate_of_fact(report->fact);
		ended->ended_us = report->occurred_us;
	}
	return 0;
}

int fact_writer_close(struct fact_writer *writer, const struct queue_message *message,
	int64_t time_us, bool is_told, struct err *err)
{
	struct email_facts *facts;
	struct queue_message *closed;

	if (get_facts(writer, message->email, &facts, err) < 0 ||
		store_message_close(writer->db, message, time_us, err) < 0)
		return -1;
	facts->told = true;
	note_closed(facts, message, time_us, is_told);
	closed = facts->tree
			 ? delivery_tree_message(facts->tree, message->queue_id, message->since_us)
			 : NULL;
	if (closed)
		closed->closed_us = time_us;
	return 0;
}

int fact_writer_message_id(
	struct fact_writer *writer, int64_t email, const char **message_id_r, struct err *err)
{
	struct email_facts *facts;

	if (get_facts(writer, email, &facts, err) < 0)
		return -1;
	*message_id_r = facts->message_id;
	return 0;
}

/* As fact_writer_leads_to(), of one delivery. */
static int leads_to(const struct delivery *delivery, const char *queue_id, int64_t since_us)
{
	if (!delivery_may_lead_to(delivery, queue_id, since_us))
		return 0;
	return delivery->child && str_eq(delivery->child, queue_id) ? 2 : 1;
}

int fact_writer_leads_to(struct fact_writer *writer, int64_t email, const char *queue_id,
	int64_t since_us, struct err *err)
{
	struct email_facts *facts;
	int best = 0, leads;

	if (get_facts(writer, email, &facts, err) < 0)
		return -1;
	for (size_t i = 0; facts->tree == NULL && writer->classify && i < facts->fates.n; i++) {
		const struct recipient *one = &facts->fates.items[i];
		struct delivery delivery = {.state = one->fate,
			.began_us = one->changed_us,
			.changed_us = one->changed_us};

		if (one->fate == FATE_DELIVERED)
			writer->classify(writer->classify_arg, one, &delivery);
		leads = leads_to(&delivery, queue_id, since_us);
		best = leads > best ? leads : best;
		free(delivery.child);
	}
	for (size_t i = 0; facts->tree && i < delivery_tree_count(facts->tree); i++) {
		leads = leads_to(delivery_tree_at(facts->tree, i), queue_id, since_us);
		best = leads > best ? leads : best;
	}
	return best;
}

/*
 * The end of a transaction, for an email with a tree.
 */

/* What the lines of this transaction said, to those whose deliveries they are
 * of, and a flag for each to whom it is news. A line that belongs to several has
 * a key for each. */
static int tell_pending(
	struct fact_writer *writer, struct email_facts *facts, bool *news_r, struct err *err)
{
	_cleanup_free_ bool *owners = mem_alloc(facts->fates.n + 1, sizeof(bool));

	for (size_t i = 0; i < facts->pending_n; i++) {
		const struct pending *pending = &facts->pending[i];
		struct fact_report report = pending->report;
		bool several = false;

		memset(owners, 0, facts->fates.n);
		delivery_tree_owners(facts->tree, pending->delivery, owners);
		if (report.fact == FACT_DELIVERED &&
			delivery_tree_is_handed_on(facts->tree, pending->delivery))
			report.fact = FACT_HANDED_ON;
		for (size_t k = 0; k < facts->fates.n; k++) {
			int added;

			if (!owners[k])
				continue;
			if (several)
				fact_key_of_one(report.key, pending->report.key, k);
			several = true;
			added = tell(writer, facts, &facts->fates.items[k], &report, err);
			if (added < 0)
				return -1;
			news_r[k] |= added;
		}
	}
	return 0;
}

/* Those that cannot be told apart hear of what stands for all of them. */
static int tell_shared(
	struct fact_writer *writer, struct email_facts *facts, int64_t now_us, struct err *err)
{
	_cleanup_free_ bool *sharers = mem_alloc(facts->fates.n + 1, sizeof(bool));

	for (size_t i = 0; i < delivery_tree_count(facts->tree); i++) {
		const struct delivery *one = delivery_tree_at(facts->tree, i);
		struct fact_report report = {.email = facts->email,
			.fact = one->state == FATE_DELIVERED ? FACT_LOST : fate_fact(one->state),
			.occurred_us = one->changed_us,
			.now_us = now_us,
			.address = one->address,
			.relay = one->relay,
			.dsn = one->dsn,
			.text = one->text,
			.source = "log"};

		memset(sharers, 0, facts->fates.n);
		delivery_tree_sharers(facts->tree, i, sharers);
		if (fate_is_open(one->state))
			continue;
		for (size_t k = 0; k < facts->fates.n; k++) {
			char n[24];

			if (!sharers[k])
				continue;
			snprintf(n, sizeof(n), "%lld", (long long)facts->fates.items[k].n);
			fact_key(report.key,
				(const char *[]){"shared", one->queue_id, one->address,
					one->orig_to, fate_name(one->state), n},
				6);
			if (tell(writer, facts, &facts->fates.items[k], &report, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int tell_ended(
	struct fact_writer *writer, struct email_facts *facts, int64_t now_us, struct err *err)
{
	_cleanup_free_ bool *open = mem_alloc(facts->fates.n + 1, sizeof(bool));
	const struct queue_message *message;

	for (size_t i = 0; (message = delivery_tree_nth_message(facts->tree, i)) != NULL; i++) {
		struct fact_report report = {.email = facts->email,
			.fact = fate_fact(message->ended),
			.occurred_us = message->ended_us,
			.now_us = now_us,
			.source = "log"};

		if (!message->has_end)
			continue;
		memset(open, 0, facts->fates.n);
		delivery_tree_ended(facts->tree, message, open);
		for (size_t k = 0; k < facts->fates.n; k++)
			if (open[k] && tell_end(writer, facts, &facts->fates.items[k], message,
					       &report, err) < 0)
				return -1;
	}
	return 0;
}

/* That the queue no longer has it says nothing, once a line is news. */
static bool forget_lost(struct email_facts *facts, const bool *news)
{
	bool forgot = false;

	for (size_t k = 0; k < facts->fates.n; k++) {
		struct delivery *whole;

		if (!news[k] || facts->fates.items[k].fate != FATE_UNKNOWN)
			continue;
		whole = delivery_tree_whole(facts->tree, facts->fates.items[k].address);
		if (whole == NULL || whole->state != FATE_UNKNOWN)
			continue;
		whole->state = FATE_QUEUED;
		whole->changed = forgot = true;
	}
	return forgot;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && str_eq(a, b));
}

static void set_status(struct email_facts *facts, size_t i)
{
	const struct delivery_status *status = delivery_tree_status(facts->tree, i);
	struct recipient *one = &facts->fates.items[i];
	const struct delivery *delivery = status->delivery;
	int64_t changed_us = status->ended_us ? status->ended_us
			     : delivery       ? delivery->changed_us
					      : one->changed_us;

	if (one->fate == status->fate && one->changed_us == changed_us &&
		(delivery == NULL || (is_same_text(one->text, delivery->text) &&
					     is_same_text(one->relay, delivery->relay))))
		return;
	one->fate = status->fate;
	one->changed_us = changed_us;
	facts->moved[i] = true;
	if (delivery == NULL)
		return;
	replace(&one->relay, delivery->relay);
	replace(&one->dsn, delivery->dsn);
	replace(&one->text, delivery->text);
}

static int settle_tree(struct fact_writer *writer, struct email_facts *facts, struct err *err)
{
	_cleanup_free_ bool *news = mem_alloc(facts->fates.n + 1, sizeof(bool));
	int64_t now_us = writer->now_us;

	delivery_tree_compute(facts->tree);
	if (tell_pending(writer, facts, news, err) < 0)
		return -1;
	if (forget_lost(facts, news))
		delivery_tree_compute(facts->tree);
	for (size_t i = 0; i < facts->fates.n; i++)
		set_status(facts, i);
	if (tell_shared(writer, facts, now_us, err) < 0 ||
		tell_ended(writer, facts, now_us, err) < 0)
		return -1;
	facts->told = true;
	return store_delivery_write(writer->db, facts->email, facts->tree, err);
}

/* Whether a message that has left the queue left something untold. */
static bool is_untold(struct email_facts *facts, const struct closed *closed)
{
	const struct queue_message *message;

	if (facts->tree) {
		message = delivery_tree_message(facts->tree, closed->queue_id, closed->since_us);
		return message && !message->has_end && delivery_tree_awaits(facts->tree, message);
	}
	for (size_t i = 0; i < facts->fates.n; i++)
		if (fate_is_open(facts->fates.items[i].fate))
			return true;
	return false;
}

static int note_untold(struct fact_writer *writer, struct email_facts *facts, struct err *err)
{
	for (size_t i = 0; i < facts->closed_n; i++) {
		const struct closed *closed = &facts->closed[i];

		if (closed->is_told || !is_untold(facts, closed))
			continue;
		writer->fresh.untold++;
		if (store_gap_add(writer->db, "log", "no_status", closed->since_us, closed->time_us,
			    err) < 0)
			return -1;
	}
	return 0;
}

static int write_recipient(
	struct db *db, int64_t email, const struct recipient *recipient, struct err *err)
{
	static const char sql_move[] =
		"UPDATE email_recipient"
		" SET state = $state, attempts = $attempts, changed_us = $changed,"
		" relay = $relay, dsn = $dsn, text = $text"
		" WHERE email = $email AND n = $n";

	return db_change(db, sql_move,
		DB_PARAMS(DB_TEXT("$state", fate_name(recipient->fate)),
			DB_INT("$attempts", recipient->attempts),
			DB_INT("$changed", recipient->changed_us),
			DB_TEXT("$relay", recipient->relay), DB_TEXT("$dsn", recipient->dsn),
			DB_TEXT("$text", recipient->text), DB_INT("$email", email),
			DB_INT("$n", recipient->n)),
		err);
}

static int write_email(struct db *db, const struct email_facts *facts, struct err *err)
{
	/* One that was stopped before the milter was asked stays staged, but
	 * has come to an end. */
	static const char sql_settle[] =
		"UPDATE email"
		" SET last_event = $event, closed = $closed"
		" WHERE seq = $email"
		" AND (state = 'sent' OR (state = 'staged' AND queue_id IS NULL AND $closed))"
		" AND (last_event IS NOT $event OR closed <> $closed)";
	size_t counts[FATES] = {0};
	bool closed = true;

	for (size_t i = 0; i < facts->fates.n; i++) {
		counts[facts->fates.items[i].fate]++;
		closed &= !fate_is_open(facts->fates.items[i].fate);
		if (facts->moved[i] &&
			write_recipient(db, facts->email, &facts->fates.items[i], err) < 0)
			return -1;
	}
	return db_change(db, sql_settle,
		DB_PARAMS(DB_TEXT("$event", fate_last_event(counts)), DB_INT("$closed", closed),
			DB_INT("$email", facts->email)),
		err);
}

int fact_writer_flush(struct fact_writer *writer, struct err *err)
{
	for (struct email_facts *facts = writer->last; facts; facts = facts->before) {
		bool has_news = facts->pending_n || facts->closed_n || facts->told;

		if ((facts->tree && has_news && settle_tree(writer, facts, err) < 0) ||
			note_untold(writer, facts, err) < 0 ||
			(facts->told && write_email(writer->db, facts, err) < 0))
			return -1;
	}
	if (event_writer_flush(writer->events, err) < 0)
		return -1;
	for (size_t i = 0; i < FACTS; i++)
		writer->stored.facts[i] += writer->fresh.facts[i];
	writer->stored.untold += writer->fresh.untold;
	fact_writer_reset(writer);
	return 0;
}
