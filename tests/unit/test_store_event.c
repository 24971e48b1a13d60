/* store_event: events that are stored once, and pages that miss none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/store/delivery/store_queue_message.h"
#include "core/store/event/store_event_count.h"
#include "core/store/host/store_log.h"
#include "core/store/event/store_event.h"
#include "core/base/clock.h"
#include "core/store/delivery/delivery_writer.h"
#include "tests/unit/temp_db.h"

static int64_t begin(struct temp_db *temp)
{
	static const char sql_seq[] = "SELECT seq FROM email";
	struct temp_tenant tenant;
	struct email email;

	temp_db_staged(temp->db, &tenant, &email);
	assert_int_equal(store_email_record(temp->db, email.ticket, "4X", 1000, NULL), 1);
	store_email_clear(&email);
	return temp_db_number(temp->db, sql_seq);
}

static int give(struct delivery_writer *writer, int64_t email, int64_t n, enum event_kind kind,
	const char *key, int64_t now_us, int64_t occurred_us)
{
	struct event_report report = {.email = email,
		.n = n,
		.kind = kind,
		.occurred_us = occurred_us,
		.now_us = now_us,
		.text = key,
		.source = "log"};

	event_key(report.key, &key, 1);
	return delivery_writer_add(writer, &report, NULL);
}

static int add_at(struct temp_db *temp, int64_t email, int64_t n, enum event_kind kind,
	const char *key, int64_t now_us, int64_t occurred_us)
{
	_cleanup_(delivery_writer) struct delivery_writer *writer = delivery_writer_new(temp->db);
	int added = give(writer, email, n, kind, key, now_us, occurred_us);

	assert_int_equal(delivery_writer_flush(writer, NULL), 0);
	return added;
}

static int add(struct temp_db *temp, int64_t email, int64_t n, enum event_kind kind,
	const char *key, int64_t now_us)
{
	return add_at(temp, email, n, kind, key, now_us, 5);
}

static void test_once(void **state)
{
	struct temp_db *temp = *state;
	int64_t email = begin(temp);
	struct recipients recipients;

	assert_int_equal(add(temp, email, 0, EVENT_DEFERRED, "a", 10), 1);
	assert_int_equal(add(temp, email, 0, EVENT_DEFERRED, "a", 20), 0);
	assert_int_equal(add(temp, email, 0, EVENT_DEFERRED, "b", 20), 1);
	assert_int_equal(add(temp, email, 0, EVENT_DELIVERED, "c", 30), 1);
	/* late: told, but it changes nothing */
	assert_int_equal(add(temp, email, 0, EVENT_DEFERRED, "d", 30), 1);
	/* nobody has this number */
	assert_int_equal(add(temp, email, 99, EVENT_DELIVERED, "e", 30), 0);
	OK(store_recipients_read(temp->db, email, true, &recipients, &why));
	assert_int_equal(recipients.n, 3);
	assert_int_equal(recipients.items[0].status, DELIVERY_DELIVERED);
	assert_int_equal(recipients.items[0].attempts, 4);
	assert_string_equal(recipients.items[0].text, "c");
	assert_int_equal(recipients.items[1].status, DELIVERY_QUEUED);
	recipients_free(&recipients);
}

/* recorded_us never goes back, also when the clock does. */
static void test_pages(void **state)
{
	struct temp_db *temp = *state;
	int64_t email = begin(temp);
	_cleanup_free_ char *company = temp_db_text(temp->db, "SELECT company_id FROM email");
	struct event_filter filter = {
		.domain = "example.com", .company_id = company, .ascending = true, .limit = 2};
	struct event_list list;
	char id[ID_SIZE];
	int64_t last_us = 0;
	int seen = 0;

	for (int i = 0; i < 7; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%d", i);
		assert_int_equal(add(temp, email, 1, EVENT_DEFERRED, key, 100 - i), 1);
	}
	assert_int_equal(add(temp, email, 2, EVENT_BOUNCED, "x", 200), 1);
	do {
		OK(store_event_page(temp->db, &filter, &list, &why));
		for (size_t i = 0; i < list.n; i++) {
			assert_true(list.items[i].seq > filter.after_seq);
			assert_true(list.items[i].recorded_us >= last_us);
			last_us = list.items[i].recorded_us;
			filter.after_seq = list.items[i].seq;
			seen++;
		}
		assert_int_equal(list.more, seen < 8);
		store_event_list_free(&list);
	} while (seen < 8);
	filter = (struct event_filter){.domain = "example.com", .company_id = company, .limit = 1};
	OK(store_event_page(temp->db, &filter, &list, &why));
	assert_int_equal(list.items[0].kind, EVENT_BOUNCED);
	assert_string_equal(list.items[0].recipient, "c@dst.test");
	assert_true(id_parse(list.items[0].id, id));
	store_event_list_free(&list);
	filter.limit = 10;
	filter.kinds = 1u << EVENT_DEFERRED | 1u << EVENT_DELIVERED;
	OK(store_event_page(temp->db, &filter, &list, &why));
	assert_int_equal(list.n, 7);
	store_event_list_free(&list);
	filter.recipients = "[\"C@dst.test\"]";
	OK(store_event_page(temp->db, &filter, &list, &why));
	assert_int_equal(list.n, 0);
	store_event_list_free(&list);
	filter.kinds = 0;
	OK(store_event_page(temp->db, &filter, &list, &why));
	assert_int_equal(list.n, 1);
	store_event_list_free(&list);
	/* Of the emails of a recipient, or of a Message-ID, whichever way. */
	filter.recipients = "[\"none@dst.test\", \"b@dst.test\"]";
	filter.ascending = true;
	filter.limit = 3;
	for (size_t left = 7; left > 0; left -= left < 3 ? left : 3) {
		OK(store_event_page(temp->db, &filter, &list, &why));
		assert_int_equal(list.n, left < 3 ? left : 3);
		assert_int_equal(list.more, left > 3);
		filter.after_seq = list.items[list.n - 1].seq;
		for (size_t i = 0; i < list.n; i++)
			assert_string_equal(list.items[i].recipient, "b@dst.test");
		store_event_list_free(&list);
	}
	filter = (struct event_filter){
		.domain = "example.com", .company_id = company, .limit = 10, .begin_us = 201};
	OK(store_event_page(temp->db, &filter, &list, &why));
	assert_int_equal(list.n, 0);
	store_event_list_free(&list);
	OK(store_event_of_email(temp->db, email, &list, &why));
	assert_int_equal(list.n, 8);
	store_event_list_free(&list);
}

/* The newest of all, and what has come since; one event at a time, as pages of one. */
static void test_recent(void **state)
{
	struct temp_db *temp = *state;
	int64_t email = begin(temp), seq;
	_cleanup_free_ char *company = temp_db_text(temp->db, "SELECT company_id FROM email");
	struct event_filter filter = {.limit = 2};
	struct event_cursor place;
	struct event_list list;

	OK(store_event_recent(temp->db, &filter, &list, &why));
	assert_int_equal(list.n, 0);
	assert_int_equal(list.newest_seq, 0);
	store_event_list_free(&list);
	for (int i = 0; i < 5; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%d", i);
		assert_int_equal(add(temp, email, 1, EVENT_DEFERRED, key, 100 + i), 1);
	}
	assert_int_equal(add(temp, email, 2, EVENT_BOUNCED, "x", 200), 1);
	for (int own = 0; own < 2; own++) {
		filter = (struct event_filter){.company_id = own ? company : NULL, .limit = 2};
		OK(store_event_recent(temp->db, &filter, &list, &why));
		assert_int_equal(list.n, 2);
		assert_true(list.more);
		assert_int_equal(list.newest_seq, 6);
		assert_int_equal(list.items[0].seq, 6);
		assert_int_equal(list.items[1].seq, 5);
		assert_string_equal(list.items[0].company_id, company);
		assert_non_null(list.items[0].company_name);
		store_event_list_free(&list);
		/* those since the fourth, the nearest first */
		filter.ascending = true;
		filter.after_seq = 4;
		OK(store_event_recent(temp->db, &filter, &list, &why));
		assert_int_equal(list.n, 2);
		assert_false(list.more);
		assert_int_equal(list.items[0].seq, 5);
		store_event_list_free(&list);
		filter.after_seq = 6;
		OK(store_event_recent(temp->db, &filter, &list, &why));
		assert_int_equal(list.n, 0);
		assert_false(list.more);
		store_event_list_free(&list);
	}
	filter = (struct event_filter){.limit = 9, .kinds = 1u << EVENT_BOUNCED};
	OK(store_event_recent(temp->db, &filter, &list, &why));
	assert_int_equal(list.n, 1);
	assert_int_equal(list.items[0].kind, EVENT_BOUNCED);
	store_event_list_free(&list);
	filter = (struct event_filter){.limit = 9, .recipients = "[\"C@dst.test\"]"};
	OK(store_event_recent(temp->db, &filter, &list, &why));
	assert_int_equal(list.n, 1);
	store_event_list_free(&list);
	filter = (struct event_filter){.limit = 9, .domain = "other.example"};
	OK(store_event_recent(temp->db, &filter, &list, &why));
	assert_int_equal(list.n, 0);
	assert_int_equal(list.newest_seq, 6);
	store_event_list_free(&list);
	filter = (struct event_filter){.limit = 9, .company_id = "other"};
	OK(store_event_recent(temp->db, &filter, &list, &why));
	assert_int_equal(list.n, 0);
	assert_int_equal(list.newest_seq, 0);
	store_event_list_free(&list);
	/* Who may not see the event does not find its place. */
	assert_int_equal(store_event_cursor(temp->db, 3, &place, NULL), 1);
	assert_int_equal(store_event_find(temp->db, NULL, &place, &seq, NULL), 1);
	assert_int_equal(seq, 3);
	assert_int_equal(store_event_find(temp->db, company, &place, &seq, NULL), 1);
	assert_int_equal(store_event_find(temp->db, "other", &place, &seq, NULL), 0);
	assert_int_equal(store_event_cursor(temp->db, 99, &place, NULL), 0);
}

/* Where a page goes on; an event that was removed leaves out none of its time. */
static void test_places(void **state)
{
	static const char sql_forget[] = "DELETE FROM event WHERE seq = 2";
	struct temp_db *temp = *state;
	int64_t email = begin(temp), seq;
	_cleanup_free_ char *company = temp_db_text(temp->db, "SELECT company_id FROM email");
	struct event_filter filter = {
		.domain = "example.com", .company_id = company, .ascending = true, .limit = 9};
	struct event_cursor place = {0};
	struct event_list list;

	OK(store_event_seq(temp->db, &filter, &place, &seq, &why));
	assert_int_equal(seq, 0);
	for (int i = 0; i < 4; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%d", i);
		assert_int_equal(add(temp, email, 1, EVENT_DEFERRED, key, 100), 1);
	}
	OK(store_event_page(temp->db, &filter, &list, &why));
	assert_int_equal(list.n, 4);
	memcpy(place.email_id, list.items[1].email_id, ID_SIZE);
	memcpy(place.id, list.items[1].id, ID_SIZE);
	place.recorded_us = list.items[1].recorded_us;
	store_event_list_free(&list);
	for (int up = 0; up < 2; up++) {
		filter.ascending = up;
		OK(store_event_seq(temp->db, &filter, &place, &seq, &why));
		assert_int_equal(seq, 2);
	}
	OK(db_exec(temp->db, sql_forget, &why));
	for (int up = 0; up < 2; up++) {
		filter.ascending = up;
		OK(store_event_seq(temp->db, &filter, &place, &seq, &why));
		assert_int_equal(seq, up ? 0 : 5);
	}
	filter.company_id = "other";
	for (int up = 0; up < 2; up++) {
		filter.ascending = up;
		OK(store_event_seq(temp->db, &filter, &place, &filter.after_seq, &why));
		OK(store_event_page(temp->db, &filter, &list, &why));
		assert_int_equal(list.n, 0);
		store_event_list_free(&list);
	}
}

/* By the hour of the kind, as rows that stay; what is no news is not counted. */
static void test_counts(void **state)
{
	static const char sql_forget[] = "DELETE FROM event";
	const int64_t hour = INT64_C(3600) * 1000000;
	struct temp_db *temp = *state;
	int64_t email = begin(temp);
	struct event_count_filter filter = {
		.domain = "example.com", .begin_us = 0, .end_us = hour, .step_us = hour};
	_cleanup_free_ char *company = temp_db_text(temp->db, "SELECT company_id FROM email");
	struct event_counts counts;

	assert_int_equal(add(temp, email, 0, EVENT_DEFERRED, "a", 10), 1);
	assert_int_equal(add(temp, email, 0, EVENT_DEFERRED, "a", 10), 0);
	assert_int_equal(add(temp, email, 0, EVENT_DEFERRED, "b", 2 * hour), 1);
	assert_int_equal(add(temp, email, 1, EVENT_DELIVERED, "c", 30), 1);
	OK(db_exec(temp->db, sql_forget, &why));
	for (int i = 0; i < 2; i++) {
		OK(store_event_counts(temp->db, &filter, &counts, &why));
		assert_int_equal(counts.n, 2);
		assert_int_equal(counts.items[0].kind, EVENT_DEFERRED);
		assert_int_equal(counts.items[0].count, 2);
		assert_int_equal(counts.items[1].kind, EVENT_DELIVERED);
		assert_int_equal(counts.items[1].count, 1);
		assert_int_equal(counts.items[1].time_us, 0);
		store_event_counts_free(&counts);
		filter.company_id = company;
		filter.domain = NULL;
		filter.step_us = 24 * hour;
	}
	filter.by_domain = true;
	filter.limit = 9;
	for (int i = 0; i < 2; i++) {
		filter.company_id = i ? NULL : company;
		OK(store_event_counts(temp->db, &filter, &counts, &why));
		assert_int_equal(counts.n, 2);
		assert_string_equal(counts.items[0].domain, "example.com");
		assert_int_equal(counts.items[0].time_us, 0);
		assert_int_equal(counts.items[0].count, 2);
		store_event_counts_free(&counts);
	}
	filter.company_id = company;
	filter.by_domain = false;
	filter.begin_us = hour;
	filter.end_us = 9 * hour;
	OK(store_event_counts(temp->db, &filter, &counts, &why));
	assert_int_equal(counts.n, 0);
	store_event_counts_free(&counts);
	filter.begin_us = 0;
	filter.company_id = "another";
	OK(store_event_counts(temp->db, &filter, &counts, &why));
	assert_int_equal(counts.n, 0);
	store_event_counts_free(&counts);
}

/* Whatever part of days is asked for, the hours in it count, and no others. */
static void test_counted_days(void **state)
{
	static const char sql_days[] = "SELECT sum(count) || ' ' || count(*) FROM event_day";
	static const int hours[] = {1, 23, 24, 30, 47, 48, 49, 71, 72, 100};
	static const int bounds[] = {0, 1, 5, 23, 24, 25, 48, 60, 72, 96, 101};
	const int64_t hour = INT64_C(3600) * 1000000;
	struct temp_db *temp = *state;
	int64_t email = begin(temp);
	_cleanup_free_ char *company = temp_db_text(temp->db, "SELECT company_id FROM email");
	_cleanup_free_ char *days = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(hours); i++) {
		const char key[] = {(char)('a' + i), '\0'};

		assert_int_equal(
			add_at(temp, email, 0, EVENT_DEFERRED, key, 10, hours[i] * hour + 5), 1);
	}
	days = temp_db_text(temp->db, sql_days);
	assert_string_equal(days, "10 5");
	for (size_t b = 0; b < ARRAY_SIZE(bounds); b++)
		for (size_t e = b; e < ARRAY_SIZE(bounds); e++)
			for (int kind = 0; kind < 6; kind++) {
				const struct event_count_filter filter = {
					.company_id = kind % 2 ? company : NULL,
					.begin_us = bounds[b] * hour,
					.end_us = bounds[e] * hour,
					.step_us = kind < 2 ? hour : 24 * hour,
					.by_domain = kind > 3,
					.limit = 9,
				};
				struct event_counts counts;
				int64_t sum = 0, wanted = 0;

				OK(store_event_counts(temp->db, &filter, &counts, &why));
				for (size_t i = 0; i < counts.n; i++)
					sum += counts.items[i].count;
				store_event_counts_free(&counts);
				for (size_t i = 0; i < ARRAY_SIZE(hours); i++)
					wanted += hours[i] >= bounds[b] && hours[i] < bounds[e];
				assert_int_equal(sum, wanted);
			}
}

/* The hours and kinds of one flush count in the same days, also in those that are there. */
static void test_counted_together(void **state)
{
	static const char sql_rows[] =
		"SELECT (SELECT sum(count) || ' ' || count(*) FROM event_count) || ', '"
		" || (SELECT sum(count) || ' ' || count(*) FROM event_day) || ', '"
		" || (SELECT sum(count) || ' ' || count(*) FROM event_total) || ', '"
		" || (SELECT count(*) FROM event_domain) || ', '"
		" || (SELECT sum(count) || ' ' || count(*) FROM outcome_count WHERE step = 'day')";
	static const char *const wanted[] = {
		"6 6, 6 4, 12 12, 1, 27 18", "12 6, 12 4, 24 12, 1, 54 18"};
	static const int hours[] = {1, 2, 25};
	const int64_t hour = INT64_C(3600) * 1000000;
	struct temp_db *temp = *state;
	int64_t email = begin(temp);
	_cleanup_(delivery_writer) struct delivery_writer *writer = delivery_writer_new(temp->db);

	for (size_t flush = 0; flush < ARRAY_SIZE(wanted); flush++) {
		_cleanup_free_ char *rows = NULL;

		for (size_t i = 0; i < 2 * ARRAY_SIZE(hours); i++) {
			const char key[] = {(char)('a' + flush), (char)('a' + i), '\0'};

			assert_int_equal(
				give(writer, email, 0, i % 2 ? EVENT_DEFERRED : EVENT_BOUNCED, key,
					10, hours[i / 2] * hour + 5),
				1);
		}
		OK(delivery_writer_flush(writer, &why));
		rows = temp_db_text(temp->db, sql_rows);
		assert_string_equal(rows, wanted[flush]);
	}
}

/* A queue id that is used again belongs to the newest message, and to none
 * once that has left the queue. */
static void test_queue_ids(void **state)
{
	const int64_t second = 1000000;
	struct temp_db *temp = *state;
	struct queue_message message;

	begin(temp);
	assert_int_equal(
		store_queue_message_find(temp->db, "4X", 1000 + second, 0, &message, NULL), 1);
	assert_true(message.is_new && message.how == MESSAGE_RECORDED);
	OK(store_queue_message_add(temp->db, &message, &why));
	message.closed_us = 60 * second;
	OK(store_queue_messages_close(temp->db, &(struct queue_messages){&message, 1}, &why));
	queue_message_clear(&message);
	assert_int_equal(
		store_queue_message_find(temp->db, "4X", 60 * second, 0, &message, NULL), 1);
	assert_false(message.is_new);
	queue_message_clear(&message);
	assert_int_equal(
		store_queue_message_find(temp->db, "4X", 90 * second, 0, &message, NULL), 0);
	assert_int_equal(
		store_queue_message_find(temp->db, "4X", -10 * second, 0, &message, NULL), 0);
	assert_int_equal(
		store_queue_message_find(temp->db, "4Y", 60 * second, 0, &message, NULL), 0);
	/* The clock was set back. */
	assert_int_equal(store_queue_message_find(
				 temp->db, "4X", -10 * second, 366 * DAY_US, &message, NULL),
		1);
	queue_message_clear(&message);
}

/* A host of its own, with an email that has the queue id 4X and that its milter recorded at 1000.
 */
static struct db *host_with_4X(const struct temp_db *temp, const char *name,
	const struct temp_tenant *tenant, int64_t *seq_r)
{
	static const char sql_last[] = "SELECT max(seq) FROM email";
	_cleanup_free_ char *place = mem_printf("%s#%s", temp->name, name);
	struct email email;
	struct db *db;

	OK(db_open(place, DB_WRITE, &db, &why));
	temp_db_email(tenant, &email);
	OK(store_email_stage(db, &email, &why));
	FOUND(store_email_record(db, email.ticket, "4X", 1000, &why));
	store_email_clear(&email);
	*seq_r = temp_db_number(db, sql_last);
	return db;
}

/* The same queue id at the same time on two hosts is that of two messages. */
static void test_same_id_on_two_hosts(void **state)
{
	static const char sql_open[] =
		"SELECT email FROM queue_message WHERE queue_id = '4X' AND closed_us = 0";
	static const char sql_ended[] =
		"SELECT email FROM queue_message WHERE queue_id = '4X' AND ended IS NOT NULL";
	static const char sql_waits[] =
		"SELECT email FROM ticket_message WHERE queue_id = '5X' AND ended IS NULL";
	struct temp_db *temp = *state;
	struct queue_message messages[2];
	struct db *hosts[2];
	int64_t seqs[2];
	struct temp_tenant tenant;

	if (!db_is_url(temp->name))
		skip();
	temp_db_tenant(temp->db, "Hosts", "hosts.test", &tenant);
	hosts[0] = host_with_4X(temp, "one", &tenant, &seqs[0]);
	hosts[1] = host_with_4X(temp, "two", &tenant, &seqs[1]);
	for (int i = 0; i < 2; i++) {
		FOUND(store_queue_message_find(hosts[i], "4X", 2000, 0, &messages[i], &why));
		assert_int_equal(messages[i].email, seqs[i]);
		OK(store_queue_message_add(hosts[i], &messages[i], &why));
		OK(store_ticket_message_add(hosts[i], "5X", 3000, seqs[i], &why));
	}
	messages[0].closed_us = 4000;
	OK(store_queue_messages_close(hosts[0], &(struct queue_messages){&messages[0], 1}, &why));
	OK(store_queue_message_end(hosts[1], &messages[1], DELIVERY_EXPIRED, 4000, &why));
	OK(store_ticket_message_end(hosts[0], "5X", 4000, true, &why));
	assert_int_equal(temp_db_number(temp->db, sql_open), seqs[1]);
	assert_int_equal(temp_db_number(temp->db, sql_ended), seqs[1]);
	assert_int_equal(temp_db_number(temp->db, sql_waits), seqs[1]);
	for (int i = 0; i < 2; i++) {
		queue_message_clear(&messages[i]);
		FOUND(store_queue_message_find(hosts[i], "4X", 3000, 0, &messages[i], &why));
		assert_int_equal(messages[i].email, seqs[i]);
		assert_false(messages[i].is_new);
		queue_message_clear(&messages[i]);
		db_close(hosts[i]);
	}
}

/* Neither seq nor recorded_us comes back, when the newest rows were removed. */
static void test_removed(void **state)
{
	static const char sql_seq[] = "SELECT max(seq) FROM event";
	static const char sql_recorded[] = "SELECT max(recorded_us) FROM event";
	static const char sql_remove[] = "DELETE FROM event";
	struct temp_db *temp = *state;
	int64_t email = begin(temp), last;

	assert_int_equal(add(temp, email, 0, EVENT_DEFERRED, "a", 100), 1);
	assert_int_equal(add(temp, email, 1, EVENT_DEFERRED, "b", 200), 1);
	last = temp_db_number(temp->db, sql_seq);
	assert_int_equal(db_change(temp->db, sql_remove, NULL, NULL), 2);
	assert_int_equal(add(temp, email, 1, EVENT_DEFERRED, "c", 150), 1);
	assert_true(temp_db_number(temp->db, sql_seq) > last);
	assert_int_equal(temp_db_number(temp->db, sql_recorded), 200);
}

/* All that a transaction says of an email, before it is written. */
static void test_together(void **state)
{
	static const char sql_last[] = "SELECT last_event FROM email";
	struct temp_db *temp = *state;
	int64_t email = begin(temp), n = -1;
	_cleanup_(delivery_writer) struct delivery_writer *writer = delivery_writer_new(temp->db);
	const struct recipients *recipients;
	struct event_report report = {.email = email,
		.n = 1,
		.kind = EVENT_DEFERRED,
		.now_us = 10,
		.text = "later",
		.source = "log"};
	_cleanup_free_ char *last = NULL;

	assert_int_equal(delivery_writer_find(writer, email, "C@dst.test", &n, NULL), 1);
	assert_int_equal(n, 2);
	assert_int_equal(delivery_writer_find(writer, email, "d@dst.test", &n, NULL), 0);
	for (uint8_t i = 0; i < 3; i++) {
		report.key[0] = i;
		assert_int_equal(delivery_writer_add(writer, &report, NULL), 1);
		assert_int_equal(delivery_writer_add(writer, &report, NULL), 0);
	}
	OK(delivery_writer_recipients(writer, email, &recipients, &why));
	assert_int_equal(recipients->items[1].attempts, 3);
	/* with the words that were said last */
	report.kind = EVENT_EXPIRED;
	report.key[0] = 9;
	report.text = recipients->items[1].text;
	assert_int_equal(delivery_writer_add(writer, &report, NULL), 1);
	assert_int_equal(delivery_writer_held(writer), 3);
	OK(delivery_writer_flush(writer, &why));
	assert_int_equal(delivery_writer_held(writer), 0);
	OK(delivery_writer_recipients(writer, email, &recipients, &why));
	assert_int_equal(recipients->items[1].status, DELIVERY_EXPIRED);
	assert_int_equal(recipients->items[1].attempts, 3);
	assert_string_equal(recipients->items[1].text, "later");
	last = temp_db_text(temp->db, sql_last);
	assert_string_equal(last, "sent");
}

/* What is counted as queued, and what is looked for in the queue. */
static void check_open(struct temp_db *temp, int64_t queued, int64_t deferred, size_t recipients)
{
	struct open_recipients open;
	struct email_queue queue;

	OK(store_email_queue(temp->db, &queue, &why));
	assert_int_equal(queue.queued, queued);
	assert_int_equal(queue.deferred, deferred);
	OK(store_open_recipients(temp->db, 0, INT64_MAX, 100, &open, &why));
	assert_int_equal(open.n, recipients);
	store_open_recipients_free(&open);
}

/* An email is open as long as one of its recipients is, and no test ever is. */
static void test_open(void **state)
{
	struct temp_db *temp = *state;
	struct temp_tenant tenant;
	struct email email;
	int64_t seq = begin(temp);

	temp_db_tenant(temp->db, "Other", "other.test", &tenant);
	temp_db_email(&tenant, &email);
	OK(store_email_stage(temp->db, &email, &why));
	assert_int_equal(store_email_record(temp->db, email.ticket, "", 2000, NULL), 1);
	store_email_clear(&email);
	check_open(temp, 1, 0, 3);
	add(temp, seq, 0, EVENT_LOST, "a", 10);
	add(temp, seq, 1, EVENT_DELIVERED, "b", 10);
	check_open(temp, 1, 0, 1);
	add(temp, seq, 2, EVENT_LOST, "c", 10);
	check_open(temp, 0, 0, 0);
	/* It is found after all. */
	add(temp, seq, 2, EVENT_DEFERRED, "d", 20);
	check_open(temp, 0, 1, 1);
	add(temp, seq, 0, EVENT_HANDED_ON, "e", 20);
	add(temp, seq, 2, EVENT_DELIVERED, "f", 30);
	check_open(temp, 1, 0, 1);
	add(temp, seq, 0, EVENT_BOUNCED, "g", 30);
	check_open(temp, 0, 0, 0);
	/* And that it is purged. */
	OK(db_exec(temp->db, "UPDATE email SET closed = 0, last_event = 'delivery_delayed'", &why));
	check_open(temp, 0, 2, 3);
	OK(db_exec(temp->db, "DELETE FROM email", &why));
	check_open(temp, 0, 0, 0);
}

static int64_t staged_count(struct temp_db *temp)
{
	struct email_queue queue;

	OK(store_email_queue(temp->db, &queue, &why));
	return queue.staged;
}

/* What waits for the milter, whichever way it gets there and from there. */
static void test_staged(void **state)
{
	static const char sql_seq[] = "SELECT seq FROM email WHERE state = 'staged'";
	struct temp_db *temp = *state;
	struct temp_tenant tenant;
	struct email email, other;
	int64_t seq;

	temp_db_staged(temp->db, &tenant, &email);
	temp_db_email(&tenant, &other);
	OK(store_email_stage(temp->db, &other, &why));
	assert_int_equal(staged_count(temp), 2);
	assert_int_equal(store_email_record(temp->db, email.ticket, "4X", 10, NULL), 1);
	assert_int_equal(staged_count(temp), 1);
	/* It was submitted again. */
	email.state = EMAIL_SENT;
	secret_ticket(email.ticket);
	FOUND(store_email_supersede(temp->db, &email, &why));
	assert_int_equal(staged_count(temp), 2);
	FOUND(store_email_refuse(temp->db, email.ticket, "4X", "no", 10, &why));
	assert_int_equal(staged_count(temp), 1);
	/* Postfix stopped it, and it was submitted again. */
	seq = temp_db_number(temp->db, sql_seq);
	add(temp, seq, 0, EVENT_BOUNCED, "a", 10);
	assert_int_equal(staged_count(temp), 1);
	add(temp, seq, 1, EVENT_DISCARDED, "b", 10);
	add(temp, seq, 2, EVENT_LOST, "c", 10);
	assert_int_equal(staged_count(temp), 0);
	secret_ticket(other.ticket);
	FOUND(store_email_supersede(temp->db, &other, &why));
	assert_int_equal(staged_count(temp), 1);
	OK(db_exec(temp->db, "DELETE FROM email", &why));
	assert_int_equal(staged_count(temp), 0);
	store_email_clear(&email);
	store_email_clear(&other);
}

/* One that the log has told of, and that waits, hides none of which it has told
 * nothing; nor does it that the queue no longer has this one. */
static void test_silence(void **state)
{
	static const char sql_last[] = "SELECT max(seq) FROM email";
	struct temp_db *temp = *state;
	struct queue_message message = {.queue_id = (char *)"4X", .since_us = 1000, .n = -1};
	struct temp_tenant tenant;
	struct email email;
	int64_t since_us, silent;

	message.email = begin(temp);
	OK(store_queue_message_add(temp->db, &message, &why));
	assert_int_equal(store_log_silence(temp->db, 1, 5000, &since_us, NULL), 0);
	temp_db_tenant(temp->db, "Other", "other.test", &tenant);
	temp_db_email(&tenant, &email);
	OK(store_email_stage(temp->db, &email, &why));
	assert_int_equal(store_email_record(temp->db, email.ticket, "5X", 2000, NULL), 1);
	store_email_clear(&email);
	assert_int_equal(store_log_silence(temp->db, 1, 5000, &since_us, NULL), 1);
	assert_int_equal(since_us, 2000);
	assert_int_equal(store_log_silence(temp->db, 1, 2000, &since_us, NULL), 0);

	silent = temp_db_number(temp->db, sql_last);
	for (int64_t n = 0; n < 3; n++)
		add(temp, silent, n, EVENT_LOST, &"abc"[n], 3000);
	check_open(temp, 1, 0, 3);
	since_us = 0;
	assert_int_equal(store_log_silence(temp->db, 1, 5000, &since_us, NULL), 1);
	assert_int_equal(since_us, 2000);
	assert_int_equal(store_log_silence(temp->db, 1, 2000, &since_us, NULL), 0);
	/* What went lost after a line of the log is another matter. */
	for (int64_t n = 0; n < 3; n++)
		add(temp, message.email, n, EVENT_LOST, &"def"[n], 3000);
	assert_int_equal(store_log_silence(temp->db, 1, 2000, &since_us, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_db_setup, temp_db_teardown)
		TEST(test_once),
		TEST(test_pages),
		TEST(test_recent),
		TEST(test_places),
		TEST(test_counts),
		TEST(test_counted_days),
		TEST(test_counted_together),
		TEST(test_queue_ids),
		TEST(test_same_id_on_two_hosts),
		TEST(test_removed),
		TEST(test_together),
		TEST(test_open),
		TEST(test_staged),
		TEST(test_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
