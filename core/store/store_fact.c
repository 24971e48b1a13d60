/*
 * store_fact: stores facts, as events and as the states of recipients.
 *
 * Owns the emails that the transaction concerns, with all their recipients.
 * Events are inserted at once, since only the table knows which are new; the
 * states of recipients and emails at the end.
 *
 * Threads: a writer and its handle are used by one thread at a time.
 */
#include "core/store/store_fact.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/secret.h"
#include "core/base/str.h"

enum { BUCKETS = 256 }; /* a power of two */

struct email_facts {
	int64_t email;
	char *company_id;
	char *domain;
	struct recipients fates;
	bool *moved; /* for each of fates: it has to be written */
	bool told;   /* an event was added */
	size_t next; /* of fates, behind the one that was found last */
	struct email_facts *in_bucket;
	struct email_facts *before; /* this one was read */
};

/* Of the table event_count; the texts are those of an email. */
struct hour_count {
	const char *company_id;
	const char *domain;
	int64_t hour_us;
	enum fact fact;
	int64_t count;
};

struct fact_writer {
	struct db *db;
	struct email_facts *buckets[BUCKETS];
	struct email_facts *last;
	size_t held;
	struct hour_count *counts;
	size_t counts_n;
	/* Of the newest event; 0: not read yet. */
	int64_t seq;
	int64_t recorded_us;
	bool added;
};

void fact_key(
	uint8_t key_r[static EVENT_KEY_LEN], const char *const *parts, size_t n)
{
	_cleanup_buf_ struct buf all = BUF_INIT;
	uint8_t hash[SECRET_HASH_LEN];

	for (size_t i = 0; i < n; i++) {
		if (parts[i])
			buf_add_str(&all, parts[i]);
		buf_add_char(&all, '\0');
	}
	secret_hash(buf_str(&all), all.len, hash);
	memcpy(key_r, hash, EVENT_KEY_LEN);
}

struct fact_writer *fact_writer_new(struct db *db)
{
	struct fact_writer *writer = mem_new(struct fact_writer);

	writer->db = db;
	return writer;
}

void fact_writer_free(struct fact_writer *writer)
{
	if (writer == NULL)
		return;
	fact_writer_reset(writer);
	free(writer);
}

size_t fact_writer_held(const struct fact_writer *writer)
{
	return writer->held;
}

void fact_writer_reset(struct fact_writer *writer)
{
	struct db *db = writer->db;

	while (writer->last) {
		struct email_facts *facts = writer->last;

		writer->last = facts->before;
		recipients_free(&facts->fates);
		free(facts->moved);
		free(facts->company_id);
		free(facts->domain);
		free(facts);
	}
	free(writer->counts);
	*writer = (struct fact_writer){.db = db};
}

static int read_email(struct db *db, struct email_facts *facts, struct err *err)
{
	static const char sql_email[] =
		"SELECT company_id, domain FROM email WHERE seq = $email";
	struct db_stmt *stmt;
	int found;

	if (db_start(db, sql_email, DB_PARAMS(DB_INT("$email", facts->email)),
		    &stmt, err) != 0)
		return -1;
	found = db_step(stmt, err);
	if (found < 0)
		return -1;
	if (found == 1) {
		facts->company_id = db_copy(stmt, 0);
		facts->domain = db_copy(stmt, 1);
		db_reset(stmt);
	}
	if (store_recipients_read(db, facts->email, true, &facts->fates, err) < 0)
		return -1;
	facts->moved = mem_alloc(facts->fates.n + 1, sizeof(*facts->moved));
	return 0;
}

static int get_facts(struct fact_writer *writer, int64_t email,
	struct email_facts **facts_r, struct err *err)
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
int fact_writer_find(struct fact_writer *writer, int64_t email,
	const char *address, int64_t *n_r, struct err *err)
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
	if (found == n)
		return 0;
	facts->next = found + 1;
	*n_r = all[found].n;
	return 1;
}

/* What the next event has to be above. */
static int read_last(struct fact_writer *writer, struct err *err)
{
	static const char sql_last[] =
		"SELECT max(l.seq, coalesce((SELECT max(seq) FROM event), 0)),"
		" l.recorded_us FROM event_last l";
	struct db_stmt *stmt;
	int found;

	if (db_start(writer->db, sql_last, NULL, &stmt, err) != 0)
		return -1;
	found = db_step(stmt, err);
	if (found < 0)
		return -1;
	if (found == 0)
		return err_set(err, ERR_CONFIG, "the table event_last is empty");
	writer->seq = db_int(stmt, 0);
	writer->recorded_us = db_int(stmt, 1);
	db_reset(stmt);
	return 0;
}

static int write_last(struct fact_writer *writer, struct err *err)
{
	static const char sql_last[] = "UPDATE event_last SET seq = $seq,"
				       " recorded_us = $recorded";

	return db_change(writer->db, sql_last,
		DB_PARAMS(DB_INT("$seq", writer->seq),
			DB_INT("$recorded", writer->recorded_us)),
		err);
}

/* How many rows it added: 0 for a fact that is known. */
static int insert_event(struct fact_writer *writer,
	const struct email_facts *facts, const struct recipient *recipient,
	const struct fact_report *report, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO event (seq, key, email, n, domain, kind, attempt,"
		" occurred_us, recorded_us, address, relay, dsn, text, source)"
		" VALUES ($seq, $key, $email, $n, $domain, $kind, $attempt,"
		" $occurred, $recorded, $address, $relay, $dsn, $text, $source)"
		" ON CONFLICT (email, key) DO NOTHING";
	const char *address = report->address;
	int added;

	if (!writer->added && read_last(writer, err) < 0)
		return -1;
	writer->added = true;
	if (report->now_us > writer->recorded_us)
		writer->recorded_us = report->now_us;
	if (address && str_eq(address, recipient->address))
		address = NULL;
	added = db_change(writer->db, sql_insert,
		DB_PARAMS(DB_INT("$seq", writer->seq + 1),
			DB_BLOB("$key", report->key, EVENT_KEY_LEN),
			DB_INT("$email", report->email), DB_INT("$n", report->n),
			DB_TEXT("$domain", facts->domain),
			DB_TEXT("$kind", fact_name(report->fact)),
			DB_INT("$attempt", recipient->attempts +
						   fact_is_attempt(report->fact)),
			DB_INT("$occurred", report->occurred_us),
			DB_INT("$recorded", writer->recorded_us),
			DB_TEXT("$address", address),
			DB_TEXT("$relay", report->relay),
			DB_TEXT("$dsn", report->dsn),
			DB_TEXT("$text", report->text),
			DB_TEXT("$source", report->source)),
		err);
	if (added == 1)
		writer->seq++;
	return added;
}

static void count(struct fact_writer *writer, const struct email_facts *facts,
	const struct fact_report *report)
{
	int64_t hour_us = report->occurred_us - report->occurred_us % HOUR_US;
	struct hour_count *counts = writer->counts;

	for (size_t i = 0; i < writer->counts_n; i++)
		if (counts[i].fact == report->fact &&
			counts[i].hour_us == hour_us &&
			str_eq(counts[i].domain, facts->domain) &&
			str_eq(counts[i].company_id, facts->company_id)) {
			counts[i].count++;
			return;
		}
	writer->counts = mem_append(
		counts, writer->counts_n, sizeof(*writer->counts));
	writer->counts[writer->counts_n++] = (struct hour_count){
		facts->company_id, facts->domain, hour_us, report->fact, 1};
}

static int write_count(
	struct db *db, const struct hour_count *count, struct err *err)
{
	static const char sql_count[] =
		"INSERT INTO event_count"
		" (company_id, hour_us, domain, kind, count)"
		" VALUES ($company, $hour, $domain, $kind, $count)"
		" ON CONFLICT DO UPDATE SET count = count + excluded.count";

	return db_change(db, sql_count,
		DB_PARAMS(DB_TEXT("$company", count->company_id),
			DB_INT("$hour", count->hour_us),
			DB_TEXT("$domain", count->domain),
			DB_TEXT("$kind", fact_name(count->fact)),
			DB_INT("$count", count->count)),
		err);
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

int fact_writer_add(struct fact_writer *writer,
	const struct fact_report *report, struct err *err)
{
	struct recipient *recipient;
	struct email_facts *facts;
	struct fate_step step;
	int added;

	if (get_facts(writer, report->email, &facts, err) < 0)
		return -1;
	recipient = find_number(&facts->fates, report->n);
	if (recipient == NULL)
		return 0;
	step = fate_next(recipient->fate, report->fact);
	if (!step.news)
		return 0;
	added = insert_event(writer, facts, recipient, report, err);
	if (added <= 0)
		return added;
	facts->told = true;
	count(writer, facts, report);
	if (report->fact == FACT_ACCEPTED)
		return 1;
	recipient->fate = step.fate;
	recipient->attempts += fact_is_attempt(report->fact);
	recipient->changed_us = report->occurred_us;
	replace(&recipient->relay, report->relay);
	replace(&recipient->dsn, report->dsn);
	replace(&recipient->text, report->text);
	facts->moved[recipient - facts->fates.items] = true;
	return 1;
}

static int write_recipient(struct db *db, int64_t email,
	const struct recipient *recipient, struct err *err)
{
	static const char sql_move[] =
		"UPDATE email_recipient SET state = $state,"
		" attempts = $attempts, changed_us = $changed,"
		" relay = $relay, dsn = $dsn, text = $text"
		" WHERE email = $email AND n = $n";

	return db_change(db, sql_move,
		DB_PARAMS(DB_TEXT("$state", fate_name(recipient->fate)),
			DB_INT("$attempts", recipient->attempts),
			DB_INT("$changed", recipient->changed_us),
			DB_TEXT("$relay", recipient->relay),
			DB_TEXT("$dsn", recipient->dsn),
			DB_TEXT("$text", recipient->text),
			DB_INT("$email", email), DB_INT("$n", recipient->n)),
		err);
}

static int write_email(
	struct db *db, const struct email_facts *facts, struct err *err)
{
	static const char sql_settle[] =
		"UPDATE email SET last_event = $event, closed = $closed"
		" WHERE seq = $email AND state = 'sent'"
		" AND (last_event <> $event OR closed <> $closed)";
	size_t counts[FATES] = {0};
	bool closed = true;

	for (size_t i = 0; i < facts->fates.n; i++) {
		counts[facts->fates.items[i].fate]++;
		closed &= !fate_is_open(facts->fates.items[i].fate);
		if (facts->moved[i] && write_recipient(db, facts->email,
					       &facts->fates.items[i], err) < 0)
			return -1;
	}
	return db_change(db, sql_settle,
		DB_PARAMS(DB_TEXT("$event", fate_last_event(counts)),
			DB_INT("$closed", closed), DB_INT("$email", facts->email)),
		err);
}

int fact_writer_flush(struct fact_writer *writer, struct err *err)
{
	for (const struct email_facts *facts = writer->last; facts;
		facts = facts->before)
		if (facts->told && write_email(writer->db, facts, err) < 0)
			return -1;
	for (size_t i = 0; i < writer->counts_n; i++)
		if (write_count(writer->db, &writer->counts[i], err) < 0)
			return -1;
	if (writer->added && write_last(writer, err) < 0)
		return -1;
	fact_writer_reset(writer);
	return 0;
}
