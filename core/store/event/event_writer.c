/*
 * event_writer: events, their counts and the newest one are written at the end. Until then the keys
 * of an email's events are in memory, so nobody is asked for each event if it is known.
 */
#include "core/store/event/event_writer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/hash_table.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/store/row.h"
#include "core/store/event/store_outcome.h"

/* A row of the table event_count. The strings belong to the owner. */
struct hour_count {
	const char *company_id;
	const char *domain;
	int64_t hour_us;
	enum event_kind kind;
	int64_t count;
};

/* An event of an email, by its key. */
struct event_id {
	int64_t email;
	uint8_t key[EVENT_KEY_LEN];
};

/* An event that is not inserted yet. It owns its strings, except for those of the owner. */
struct pending {
	struct event_report report;
	const char *company_id, *domain;
	int64_t seq, attempt, recorded_us;
};

struct event_writer {
	struct db *db;
	struct hash_table ids; /* struct event_id: known events */
	struct hash_table
		asked; /* struct event_id with a zero key: emails with other events, too */
	struct pending *pending;
	size_t pending_n;
	struct hour_count *counts;
	size_t counts_n;
	struct outcome_tally *outcomes; /* NULL: none */
	/* Values of the newest event; 0: not read yet. */
	int64_t seq;
	int64_t recorded_us;
	bool added;
};

void event_key(uint8_t key_r[static EVENT_KEY_LEN], const char *const *parts, size_t n)
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

void event_key_of_one(
	uint8_t key_r[static EVENT_KEY_LEN], const uint8_t key[static EVENT_KEY_LEN], size_t i)
{
	memcpy(key_r, key, EVENT_KEY_LEN);
	for (size_t b = 0; b < 4; b++)
		key_r[b] ^= (uint8_t)((i + 1) >> (8 * b));
}

struct event_report event_report_copy(const struct event_report *report)
{
	struct event_report copy = *report;

	copy.address = mem_strdup(report->address);
	copy.relay = mem_strdup(report->relay);
	copy.dsn = mem_strdup(report->dsn);
	copy.text = mem_strdup(report->text);
	return copy;
}

void event_report_clear(struct event_report *report)
{
	free((char *)report->address);
	free((char *)report->relay);
	free((char *)report->dsn);
	free((char *)report->text);
}

struct event_writer *event_writer_new(struct db *db)
{
	struct event_writer *writer = mem_new(struct event_writer);

	writer->db = db;
	return writer;
}

/* Reads the lower bounds for the next event. The row event_last is written before the first event,
 * although its value is known only at the end: this makes the writers of several hosts wait for
 * each other until they commit. So events become visible in the order of their numbers, and a
 * reader that has read up to one misses none. */
static int lock_last(struct event_writer *writer, struct err *err)
{
	static const char sql_last[] =
		"UPDATE event_last"
		" SET seq = coalesce((SELECT max(v.seq) FROM event v WHERE v.seq > event_last.seq), seq)"
		" RETURNING seq, recorded_us";
	struct db_stmt *stmt;
	int found = db_first(writer->db, sql_last, NULL, &stmt, err);

	if (found < 0)
		return -1;
	if (found == 0)
		return err_set(err, ERR_CONFIG, "the table event_last is empty");
	writer->seq = db_int(stmt, 0);
	writer->recorded_us = db_int(stmt, 1);
	db_reset(stmt);
	return 0;
}

static bool is_same_id(const void *id, const void *other)
{
	return memcmp(id, other, sizeof(struct event_id)) == 0;
}

static uint64_t hash_of(const struct event_id *id)
{
	uint64_t hash;

	memcpy(&hash, id->key, sizeof(hash));
	return hash ^ (uint64_t)id->email;
}

static bool has_id(const struct hash_table *table, const struct event_id *id)
{
	return hash_table_find(table, hash_of(id), is_same_id, id) != NULL;
}

static void add_id(struct hash_table *table, const struct event_id *id)
{
	struct event_id *copy;

	if (has_id(table, id))
		return;
	copy = mem_new(struct event_id);
	*copy = *id;
	hash_table_add(table, hash_of(id), copy);
}

static void clear_ids(struct hash_table *table)
{
	struct event_id *id;
	size_t at = 0;

	while ((id = hash_table_next(table, &at)) != NULL)
		free(id);
	hash_table_clear(table);
}

void event_writer_know(struct event_writer *writer, int64_t email, const char *keys)
{
	size_t n = keys ? strlen(keys) / (2 * EVENT_KEY_LEN) : 0;
	struct event_id id = {.email = email};

	if (n >= EVENT_KEYS_MAX)
		add_id(&writer->asked, &id);
	for (size_t i = 0; i < n; i++, keys += 2 * EVENT_KEY_LEN) {
		for (size_t b = 0; b < EVENT_KEY_LEN; b++)
			id.key[b] = (uint8_t)ascii_hex_pair(keys + 2 * b);
		add_id(&writer->ids, &id);
	}
}

/* Returns 1 if the email has the event, 0 if not, -1 on error. */
static int is_known(struct event_writer *writer, const struct event_id *id, struct err *err)
{
	static const char sql_known[] = "SELECT 1 FROM event WHERE email = $email AND key = $key";
	int64_t one;

	if (has_id(&writer->ids, id))
		return 1;
	if (!has_id(&writer->asked, &(struct event_id){.email = id->email}))
		return 0;
	return row_number(writer->db, sql_known,
		DB_PARAMS(DB_INT("$email", id->email), DB_BLOB("$key", id->key, EVENT_KEY_LEN)),
		&one, err);
}

static int insert_pending(struct event_writer *writer, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO event (seq, key, email, n, domain, kind, attempt, occurred_us,"
		"   recorded_us, address, relay, dsn, text, source, company_id)"
		" VALUES ($seq, $key, $email, $n, $domain, $kind, $attempt, $occurred,"
		"   $recorded, $address, $relay, $dsn, $text, $source, $company)"
		" ON CONFLICT (email, key) DO NOTHING";
	struct db_rows rows = {0};
	int result;

	for (size_t i = 0; i < writer->pending_n; i++) {
		const struct pending *pending = &writer->pending[i];
		const struct event_report *report = &pending->report;

		db_rows_add(&rows,
			DB_PARAMS(DB_INT("$seq", pending->seq),
				DB_BLOB("$key", report->key, EVENT_KEY_LEN),
				DB_INT("$email", report->email), DB_INT("$n", report->n),
				DB_TEXT("$domain", pending->domain),
				DB_TEXT("$kind", event_kind_name(report->kind)),
				DB_INT("$attempt", pending->attempt),
				DB_INT("$occurred", report->occurred_us),
				DB_INT("$recorded", pending->recorded_us),
				DB_TEXT("$address", report->address),
				DB_TEXT("$relay", report->relay), DB_TEXT("$dsn", report->dsn),
				DB_TEXT("$text", report->text), DB_TEXT("$source", report->source),
				DB_TEXT("$company", pending->company_id)));
	}
	result = db_post_rows(writer->db, sql_insert, &rows, err);
	free(rows.items);
	return result;
}

static void count_event(struct event_writer *writer, const struct event_owner *owner,
	const struct event_report *report)
{
	int64_t hour_us = report->occurred_us - report->occurred_us % HOUR_US;
	struct hour_count *counts = writer->counts;

	for (size_t i = 0; i < writer->counts_n; i++)
		if (counts[i].kind == report->kind && counts[i].hour_us == hour_us &&
			str_eq(counts[i].domain, owner->domain) &&
			str_eq(counts[i].company_id, owner->company_id)) {
			counts[i].count++;
			return;
		}
	writer->counts = mem_append(counts, writer->counts_n, sizeof(*writer->counts));
	writer->counts[writer->counts_n++] = (struct hour_count){
		owner->company_id, owner->domain, hour_us, report->kind, 1};
}

int event_writer_add(struct event_writer *writer, const struct event_owner *owner,
	const struct event_report *report, struct err *err)
{
	struct event_id id = {.email = report->email};
	struct pending *pending;
	int known;

	memcpy(id.key, report->key, EVENT_KEY_LEN);
	if (!writer->added && lock_last(writer, err) < 0)
		return -1;
	writer->added = true;
	known = is_known(writer, &id, err);
	if (known != 0)
		return known < 0 ? -1 : 0;
	add_id(&writer->ids, &id);
	if (report->now_us > writer->recorded_us)
		writer->recorded_us = report->now_us;
	writer->pending = mem_append(writer->pending, writer->pending_n, sizeof(*writer->pending));
	pending = &writer->pending[writer->pending_n++];
	*pending = (struct pending){.report = event_report_copy(report),
		.company_id = owner->company_id,
		.domain = owner->domain,
		.seq = ++writer->seq,
		.attempt = owner->attempt,
		.recorded_us = writer->recorded_us};
	if (report->address && str_eq(report->address, owner->address)) {
		free((char *)pending->report.address);
		pending->report.address = NULL;
	}
	if (report->is_counted)
		return 1;
	count_event(writer, owner, report);
	if (writer->outcomes == NULL)
		writer->outcomes = outcome_tally_new();
	outcome_tally_add(writer->outcomes,
		&(struct outcome_event){
			.company_id = owner->company_id,
			.domain = owner->domain,
			.address = report->address ? report->address : owner->address,
			.kind = report->kind,
			.occurred_us = report->occurred_us,
			.due_us = owner->due_us,
			.relay = report->relay,
			.dsn = report->dsn,
			.text = report->text,
		},
		false);
	return 1;
}

static int write_counts(struct event_writer *writer, struct err *err)
{
	static const char sql_count[] =
		"INSERT INTO event_count (company_id, hour_us, domain, kind, count)"
		" VALUES ($company, $hour, $domain, $kind, $count)"
		" ON CONFLICT (company_id, hour_us, domain, kind)"
		" DO UPDATE SET count = event_count.count + excluded.count";
	struct db_rows rows = {0};
	int result;

	for (size_t i = 0; i < writer->counts_n; i++) {
		const struct hour_count *count = &writer->counts[i];

		db_rows_add(&rows,
			DB_PARAMS(DB_TEXT("$company", count->company_id),
				DB_INT("$hour", count->hour_us), DB_TEXT("$domain", count->domain),
				DB_TEXT("$kind", event_kind_name(count->kind)),
				DB_INT("$count", count->count)));
	}
	result = db_post_rows(writer->db, sql_count, &rows, err);
	free(rows.items);
	return result;
}

int event_writer_flush(struct event_writer *writer, struct err *err)
{
	static const char sql_last[] = "UPDATE event_last SET seq = $seq, recorded_us = $recorded";

	if (insert_pending(writer, err) < 0 || write_counts(writer, err) < 0)
		return -1;
	if (writer->outcomes && outcome_tally_write(writer->db, writer->outcomes, 0, err) < 0)
		return -1;
	if (!writer->added)
		return 0;
	return db_post(writer->db, sql_last,
		DB_PARAMS(DB_INT("$seq", writer->seq), DB_INT("$recorded", writer->recorded_us)),
		err);
}

void event_writer_reset(struct event_writer *writer)
{
	clear_ids(&writer->ids);
	clear_ids(&writer->asked);
	for (size_t i = 0; i < writer->pending_n; i++)
		event_report_clear(&writer->pending[i].report);
	free(writer->pending);
	free(writer->counts);
	outcome_tally_free(writer->outcomes);
	*writer = (struct event_writer){.db = writer->db};
}

void event_writer_free(struct event_writer *writer)
{
	if (writer == NULL)
		return;
	event_writer_reset(writer);
	free(writer);
}
