/*
 * event_writer: events are inserted at once, counts and the newest event written at
 * the end.
 */
#include "core/store/event_writer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/store/store_outcome.h"

/* A row of the table event_count. The strings belong to the owner. */
struct hour_count {
	const char *company_id;
	const char *domain;
	int64_t hour_us;
	enum event_kind kind;
	int64_t count;
};

struct event_writer {
	struct db *db;
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

struct event_writer *event_writer_new(struct db *db)
{
	struct event_writer *writer = mem_new(struct event_writer);

	writer->db = db;
	return writer;
}

void event_writer_free(struct event_writer *writer)
{
	if (writer == NULL)
		return;
	free(writer->counts);
	outcome_tally_free(writer->outcomes);
	free(writer);
}

void event_writer_reset(struct event_writer *writer)
{
	free(writer->counts);
	outcome_tally_free(writer->outcomes);
	*writer = (struct event_writer){.db = writer->db};
}

/* Reads the lower bounds for the next event. The row event_last is written before the first event,
 * although its value is known only at the end: this makes the writers of several hosts wait for
 * each other until they commit. So events become visible in the order of their numbers, and a
 * reader that has read up to one misses none. */
static int lock_last(struct event_writer *writer, struct err *err)
{
	static const char sql_last[] =
		"UPDATE event_last"
		" SET seq = max(seq, coalesce((SELECT max(v.seq) FROM event v), 0))"
		" RETURNING seq, recorded_us";
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

static int write_last(struct event_writer *writer, struct err *err)
{
	static const char sql_last[] = "UPDATE event_last SET seq = $seq, recorded_us = $recorded";

	return db_post(writer->db, sql_last,
		DB_PARAMS(DB_INT("$seq", writer->seq), DB_INT("$recorded", writer->recorded_us)),
		err);
}

static int insert_event(struct event_writer *writer, const struct event_owner *owner,
	const struct event_report *report, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO event (seq, key, email, n, domain, kind, attempt, occurred_us,"
		"   recorded_us, address, relay, dsn, text, source, company_id)"
		" VALUES ($seq, $key, $email, $n, $domain, $kind, $attempt, $occurred,"
		"   $recorded, $address, $relay, $dsn, $text, $source, $company)"
		" ON CONFLICT (email, key)"
		" DO NOTHING";
	const char *address = report->address;
	int added;

	if (!writer->added && lock_last(writer, err) < 0)
		return -1;
	writer->added = true;
	if (report->now_us > writer->recorded_us)
		writer->recorded_us = report->now_us;
	if (address && str_eq(address, owner->address))
		address = NULL;
	added = db_change(writer->db, sql_insert,
		DB_PARAMS(DB_INT("$seq", writer->seq + 1),
			DB_BLOB("$key", report->key, EVENT_KEY_LEN),
			DB_INT("$email", report->email), DB_INT("$n", report->n),
			DB_TEXT("$domain", owner->domain),
			DB_TEXT("$kind", event_kind_name(report->kind)),
			DB_INT("$attempt", owner->attempt),
			DB_INT("$occurred", report->occurred_us),
			DB_INT("$recorded", writer->recorded_us), DB_TEXT("$address", address),
			DB_TEXT("$relay", report->relay), DB_TEXT("$dsn", report->dsn),
			DB_TEXT("$text", report->text), DB_TEXT("$source", report->source),
			DB_TEXT("$company", owner->company_id)),
		err);
	writer->seq += added == 1;
	return added;
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

static int write_count(struct db *db, const struct hour_count *count, struct err *err)
{
	static const char sql_count[] =
		"INSERT INTO event_count (company_id, hour_us, domain, kind, count)"
		" VALUES ($company, $hour, $domain, $kind, $count)"
		" ON CONFLICT (company_id, hour_us, domain, kind)"
		" DO UPDATE SET count = event_count.count + excluded.count";

	return db_post(db, sql_count,
		DB_PARAMS(DB_TEXT("$company", count->company_id), DB_INT("$hour", count->hour_us),
			DB_TEXT("$domain", count->domain),
			DB_TEXT("$kind", event_kind_name(count->kind)),
			DB_INT("$count", count->count)),
		err);
}

static void count_outcomes(struct event_writer *writer, const struct event_owner *owner,
	const struct event_report *report)
{
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
}

int event_writer_add(struct event_writer *writer, const struct event_owner *owner,
	const struct event_report *report, struct err *err)
{
	int added = insert_event(writer, owner, report, err);

	if (added == 1) {
		count_event(writer, owner, report);
		count_outcomes(writer, owner, report);
	}
	return added;
}

int event_writer_flush(struct event_writer *writer, struct err *err)
{
	for (size_t i = 0; i < writer->counts_n; i++)
		if (write_count(writer->db, &writer->counts[i], err) < 0)
			return -1;
	if (writer->outcomes && outcome_tally_write(writer->db, writer->outcomes, 0, err) < 0)
		return -1;
	return writer->added ? write_last(writer, err) : 0;
}
