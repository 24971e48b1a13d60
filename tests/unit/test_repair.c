/* repair: what the queue tells of recipients of whom the log told nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/str.h"
#include "core/policy/ticket.h"
#include "core/store/email/store_email.h"
#include "core/store/delivery/store_queue_message.h"
#include "core/store/host/store_held.h"
#include "core/store/outbox/store_outbox.h"
#include "events/repair.h"
#include "tests/unit/temp_db.h"

#define SECOND_US INT64_C(1000000)
/* When the email of the tests was sent. */
#define SENT_US (INT64_C(1700000000) * SECOND_US)

/* The queue as it is at one look. */
struct fake_queue {
	const char *name; /* as `hold`; NULL: deferred */
	const char *id;   /* NULL: it is empty */
	const char *recipients[3];
	const char *reasons[3];
	int64_t arrival_s;
	bool broken;
};

static int each(void *queue, int (*on_item)(void *arg, struct queue_item *item, struct err *err),
	void *arg, struct err *err)
{
	const struct fake_queue *fake = queue;
	struct queue_item item = {0};
	int result;

	if (fake->broken)
		return err_set(err, ERR_TEMPORARY, "no queue");
	if (fake->id == NULL)
		return 0;
	item.id = mem_strdup(fake->id);
	item.queue = mem_strdup(fake->name ? fake->name : "deferred");
	item.arrival_s = fake->arrival_s;
	for (size_t i = 0; i < 3 && fake->recipients[i]; i++) {
		strv_add(&item.recipients, fake->recipients[i]);
		strv_add(&item.reasons, fake->reasons[i]);
	}
	result = on_item(arg, &item, err);
	queue_item_clear(&item);
	return result;
}

static struct repair *begin(struct temp_db *temp, struct fake_queue *queue)
{
	struct temp_tenant tenant;
	struct email email;

	temp_db_staged(temp->db, &tenant, &email);
	assert_int_equal(
		store_email_record(temp->db, email.ticket, "4jX7GV2C8nz1fL5Q", SENT_US, NULL), 1);
	store_email_clear(&email);
	return repair_new(temp->db, NULL, each, queue);
}

/* A look so many seconds after the email was sent; the states then. */
static char *look_at(struct temp_db *temp, struct repair *repair, int64_t after_s)
{
	static const char sql_recipients[] =
		"SELECT group_concat(state, ' ') FROM (SELECT state"
		"   FROM email_recipient"
		"   WHERE state IS NOT NULL"
		"   ORDER BY email, n) one";

	OK(repair_round(repair, SENT_US + after_s * SECOND_US, &why));
	return temp_db_text(temp->db, sql_recipients);
}

#define LOOK(after_s_, statuses_)                                                                  \
	do {                                                                                       \
		_cleanup_free_ char *recipients = look_at(temp, repair, (after_s_));               \
		assert_string_equal(recipients, (statuses_));                                      \
	} while (0)

static void test_missed(void **state)
{
	static const char sql_last[] = "SELECT last_event FROM email";
	static const char sql_mute[] = "SELECT count(*) FROM gap";
	struct fake_queue queue = {0};
	struct temp_db *temp = *state;
	_cleanup_(repair) struct repair *repair = begin(temp, &queue);
	_cleanup_free_ char *last = NULL;

	/* too soon to miss anything */
	LOOK(30, "queued queued queued");
	assert_int_equal(temp_db_number(temp->db, sql_mute), 0);
	LOOK(100, "queued queued queued");
	assert_int_equal(temp_db_number(temp->db, sql_mute), 1);
	LOOK(160, "queued queued queued");
	LOOK(699, "queued queued queued");
	LOOK(701, "unknown unknown unknown");
	last = temp_db_text(temp->db, sql_last);
	assert_string_equal(last, "sent");
}

/* A look at the queue before the log has said anything of the message leaves it new, so that the
 * first line of the log reports it as accepted. */
static void test_seen_before_the_log(void **state)
{
	struct temp_db *temp = *state;
	struct fake_queue queue = {.id = "4jX7GV2C8nz1fL5Q",
		.recipients = {"to@example.org"},
		.reasons = {""},
		.arrival_s = SENT_US / SECOND_US};
	_cleanup_(repair) struct repair *repair = begin(temp, &queue);
	struct queue_message message;

	LOOK(1, "queued queued queued");
	assert_int_equal(store_queue_message_find(
				 temp->db, queue.id, SENT_US + SECOND_US, 0, &message, NULL),
		1);
	assert_true(message.is_new);
	queue_message_clear(&message);
}

/* An email whose message the milter never saw. */
static void test_never_came(void **state)
{
	struct fake_queue queue = {0};
	struct temp_db *temp = *state;
	struct email_waiting waiting;
	struct temp_tenant tenant;
	struct email email;
	_cleanup_free_ char *address = NULL;
	_cleanup_(repair) struct repair *repair = NULL;

	temp_db_staged(temp->db, &tenant, &email);
	OK(db_exec(temp->db, "UPDATE email SET created_us = 1", &why));
	address = ticket_address(email.ticket);
	repair = repair_new(temp->db, NULL, each, &queue);
	/* In the maildrop it waits. */
	queue = (struct fake_queue){
		.id = "4jX7GV2C8nz1fL5Q", .recipients = {address}, .reasons = {""}};
	LOOK(100, "queued queued queued");
	LOOK(2000, "queued queued queued");
	queue.id = NULL;
	/* It is scheduled, or waits in the outbox for Postfix. */
	OK(store_outbox_add(temp->db, email.seq, 1, 1, &why));
	LOOK(2030, "queued queued queued");
	LOOK(5000, "queued queued queued");
	LOOK(9000, "queued queued queued");
	assert_int_equal(store_outbox_remove(temp->db, email.id, 1, NULL), 1);
	LOOK(2100, "queued queued queued");
	LOOK(2400, "queued queued queued");
	OK(store_email_waiting(temp->db, NULL, INT64_MAX, 0, &waiting, &why));
	assert_true(waiting.staged == 1 && waiting.lost == 0);
	LOOK(2800, "unknown unknown unknown");
	OK(store_email_waiting(temp->db, NULL, INT64_MAX, 0, &waiting, &why));
	assert_true(waiting.staged == 0 && waiting.lost == 1);
	store_email_clear(&email);
}

/* What postsuper has removed, or released. */
static void test_held_no_more(void **state)
{
	struct fake_queue queue = {.id = "4jX7GV2C8nz1fL5Q", .name = "hold"};
	struct held_note note = {.queue_id = "4jX7GV2C8nz1fL5Q", .now_us = SENT_US};
	struct temp_db *temp = *state;
	_cleanup_(repair) struct repair *repair = repair_new(temp->db, NULL, each, &queue);
	int64_t n;

	OK(store_held_note(temp->db, &note, &why));
	OK(repair_round(repair, SENT_US + 100 * SECOND_US, &why));
	OK(store_held_count(temp->db, &n, &why));
	assert_int_equal(n, 1);
	queue.name = "active";
	OK(repair_round(repair, SENT_US + 10 * SECOND_US, &why));
	OK(store_held_count(temp->db, &n, &why));
	assert_int_equal(n, 1); /* too soon */
	OK(repair_round(repair, SENT_US + 100 * SECOND_US, &why));
	OK(store_held_count(temp->db, &n, &why));
	assert_int_equal(n, 0);
}

static void test_one_look_is_not_enough(void **state)
{
	struct fake_queue queue = {0};
	struct temp_db *temp = *state;
	_cleanup_(repair) struct repair *repair = begin(temp, &queue);

	LOOK(5000, "queued queued queued");
	/* back again: a look that came between two queues */
	queue = (struct fake_queue){.id = "4jX7GV2C8nz1fL5Q",
		.recipients = {"a@dst.test", "b@dst.test", "c@dst.test"},
		.reasons = {"", "", ""}};
	LOOK(5300, "queued queued queued");
	queue.id = NULL;
	LOOK(5700, "queued queued queued");
	LOOK(6299, "queued queued queued");
	LOOK(6300, "unknown unknown unknown");
}

static void test_listed(void **state)
{
	static const char sql_text[] = "SELECT text FROM email_recipient WHERE n = 0";
	struct fake_queue queue = {.id = "4jX7GV2C8nz1fL5Q",
		.recipients = {"a@dst.test", "b@dst.test"},
		.reasons = {"host mx said: 450 4.2.1 later", ""}};
	struct temp_db *temp = *state;
	_cleanup_(repair) struct repair *repair = begin(temp, &queue);
	_cleanup_free_ char *text = NULL;

	LOOK(100, "deferred queued queued");
	text = temp_db_text(temp->db, sql_text);
	assert_string_equal(text, "host mx said: 450 4.2.1 later");
	/* Those that are listed are not missed, however long. */
	LOOK(400, "deferred queued queued");
	LOOK(800, "deferred queued unknown");
	LOOK(100000, "deferred queued unknown");
}

/* An alias led elsewhere: which recipient it was is not known. */
static void test_alias(void **state)
{
	struct fake_queue queue = {
		.id = "4jX7GV2C8nz1fL5Q", .recipients = {"other@dst.test"}, .reasons = {""}};
	struct temp_db *temp = *state;
	_cleanup_(repair) struct repair *repair = begin(temp, &queue);

	LOOK(100, "queued queued queued");
	LOOK(800, "queued queued queued");
	LOOK(1500, "queued queued queued");
}

/* The message has gone, and its id was used again by mail of others. */
static void test_id_used_again(void **state)
{
	struct fake_queue queue = {.id = "4jX7GV2C8nz1fL5Q",
		.recipients = {"a@dst.test", "other@dst.test"},
		.reasons = {"host mx said: 450 4.2.1 later", ""},
		.arrival_s = SENT_US / SECOND_US + 90};
	struct temp_db *temp = *state;
	_cleanup_(repair) struct repair *repair = begin(temp, &queue);

	LOOK(100, "queued queued queued");
	LOOK(800, "unknown unknown unknown");
}

static void test_broken(void **state)
{
	struct fake_queue queue = {.broken = true};
	struct temp_db *temp = *state;
	_cleanup_(repair) struct repair *repair = begin(temp, &queue);
	struct err err = ERR_INIT;

	assert_int_equal(repair_round(repair, SENT_US + 1000 * SECOND_US, &err), -1);
	assert_string_equal(err.text, "no queue");
	queue.broken = false;
	LOOK(2000, "queued queued queued");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_db_setup, temp_db_teardown)
		TEST(test_missed),
		TEST(test_seen_before_the_log),
		TEST(test_never_came),
		TEST(test_held_no_more),
		TEST(test_one_look_is_not_enough),
		TEST(test_listed),
		TEST(test_alias),
		TEST(test_id_used_again),
		TEST(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
