/*
 * store_email_search: what a filter finds, page by page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/buf.h"
#include "core/db/db_private.h"
#include "core/store/event/store_event_count.h"
#include "core/store/outbox/store_outbox.h"
#include "core/store/email/store_text_index.h"
#include "tests/unit/temp_db.h"

#define HOUR INT64_C(3600000000)

/* Email i was created at hour i, which is 1 for the first. Company 0 has
 * one.test and more.test, company 1 other.test. */
static const struct sample {
	int tenant;
	const char *domain;
	const char *sender;
	const char *to;
	const char *cc;
	const char *subject;
	const char *tags;
	const char *last_event; /* NULL: staged, "": refused */
} samples[] = {
	{0, "one.test", "a@one.test", "x@dst.test", NULL, "First", NULL, "delivered"},
	{0, "one.test", "a@one.test", "X@dst.test", "x@DST.test", "Second",
		"[{\"name\":\"tag\",\"value\":\"News\"}]", "bounced"},
	{0, "more.test", "b@more.test", "y@dst.test", NULL, "100%_a' OR 1=1",
		"[{\"name\":\"kind\",\"value\":\"big\"}]", "sent"},
	{1, "other.test", "c@other.test", "x@dst.test", NULL, "First",
		"[{\"name\":\"tag\",\"value\":\"news\"}]", "bounced"},
	{0, "one.test", "b@one.test", "y@dst.test", NULL, "Third", NULL, NULL},
	{0, "one.test", "b@one.test", "y@dst.test", NULL, "Fourth", NULL, ""},
	{0, "one.test", "a@one.test", "x@dst.test", NULL, "firsT of all",
		"[{\"name\":\"tag\",\"value\":\"news\"},"
		"{\"name\":\"kind\",\"value\":\"big\"},"
		"{\"name\":\"kind\",\"value\":\"small\"}]",
		"delivery_delayed"},
};
enum { SAMPLES = ARRAY_SIZE(samples) };

struct world {
	struct temp_tenant tenants[2];
	char ids[SAMPLES][ID_SIZE];
};

static void add(struct temp_db *temp, int i)
{
	static const char sql_event[] = "UPDATE email SET last_event = $event WHERE id = $id";
	const struct sample *sample = &samples[i];
	struct world *world = temp->more;
	struct temp_tenant tenant = world->tenants[sample->tenant];
	struct email email;

	tenant.domain = sample->domain;
	temp_db_email(&tenant, &email);
	recipients_free(&email.recipients);
	temp_db_recipient(&email, RECIPIENT_TO, sample->to, NULL);
	if (sample->cc)
		temp_db_recipient(&email, RECIPIENT_CC, sample->cc, NULL);
	free(email.sender);
	email.sender = mem_strdup(sample->sender);
	free(email.subject);
	email.subject = mem_strdup(sample->subject);
	email.tags = mem_strdup(sample->tags);
	email.created_us = (i + 1) * HOUR;
	OK(store_email_stage(temp->db, &email, &why));
	if (sample->last_event && *sample->last_event) {
		assert_int_equal(store_email_record(temp->db, email.ticket, "Q", i, NULL), 1);
		assert_int_equal(db_change(temp->db, sql_event,
					 DB_PARAMS(DB_TEXT("$id", email.id),
						 DB_TEXT("$event", sample->last_event)),
					 NULL),
			1);
	} else if (sample->last_event) {
		assert_int_equal(store_email_refuse(temp->db, email.ticket, "Q", "no", i, NULL), 1);
	} else {
		OK(store_outbox_add(temp->db, email.seq, 1, 1, &why));
	}
	memcpy(world->ids[i], email.id, ID_SIZE);
	store_email_clear(&email);
}

static int setup(void **state)
{
	struct world *world = mem_new(struct world);
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp->more = world;
	temp_db_tenant(temp->db, "One", "one.test", &world->tenants[0]);
	temp_db_tenant(temp->db, "Other", "other.test", &world->tenants[1]);
	for (int i = 0; i < SAMPLES; i++)
		add(temp, i);
	OK(db_exec(temp->db,
		"UPDATE email_recipient SET state = 'bounced' WHERE email = 7;"
		"UPDATE email_recipient SET state = 'delivered' WHERE email = 1",
		&why));
	return 0;
}

/* The emails of a page as their numbers, a + behind them when there are more. */
static char *search(struct temp_db *temp, const struct email_scope *scope,
	const struct email_filter *filter, const struct page *page)
{
	struct world *world = temp->more;
	struct buf out = BUF_INIT;
	struct email_found found;
	int result;

	result = store_email_search(temp->db, scope, filter, page, &found, NULL);
	if (result == 0)
		return mem_strdup("no cursor");
	assert_int_equal(result, 1);
	for (size_t i = 0; i < found.list.n; i++)
		for (int n = 0; n < SAMPLES; n++)
			if (strcmp(found.list.items[i].id, world->ids[n]) == 0)
				buf_printf(&out, "%d", n);
	buf_add_str(&out, found.more ? "+" : "");
	assert_string_equal(found.next, "");
	store_email_list_free(&found.list);
	return buf_take(&out);
}

enum { ONE, OTHER, ANYBODY };

static const enum delivery_status bounced = DELIVERY_BOUNCED, delivered = DELIVERY_DELIVERED;

static const struct {
	int company;
	const char *domain;
	bool any_state;
	struct email_filter filter;
	const char *found;
} cases[] = {
	{ONE, NULL, false, {0}, "6210"},
	{ONE, NULL, true, {0}, "654210"},
	{ANYBODY, NULL, true, {0}, "6543210"},
	{ONE, NULL, false, {.to = "x@dst.test"}, "610"},
	{ONE, NULL, false, {.to = "X@Dst.Test"}, "610"},
	{OTHER, NULL, false, {.to = "x@dst.test"}, "3"},
	{ANYBODY, NULL, false, {.to = "x@dst.test"}, "6310"},
	{ANYBODY, "other.test", false, {.to = "x@dst.test"}, "3"},
	{ONE, "more.test", false, {.to = "x@dst.test"}, ""},
	{ONE, NULL, true, {.to = "y@dst.test"}, "542"},
	{ONE, NULL, false, {.to = "%"}, ""},
	{ONE, NULL, false, {.to = "x@dst.test' OR 1=1 --"}, ""},
	{ONE, NULL, false, {.from = "A@one.test"}, "610"},
	{ONE, NULL, false, {.from = "a@one"}, ""},
	{ONE, NULL, false, {.from = "a"}, ""},
	{ONE, NULL, false, {.from = "c@other.test"}, ""},
	{ANYBODY, NULL, false, {.from = "c@other.test"}, "3"},
	{ONE, NULL, false, {.subject = "first"}, "60"},
	{ONE, NULL, false, {.subject = "%"}, "2"},
	{ONE, NULL, false, {.subject = "_"}, "2"},
	{ONE, NULL, false, {.subject = "' OR 1=1"}, "2"},
	{ONE, NULL, false, {.status = "delivered"}, "0"},
	{ONE, NULL, false, {.status = "sent"}, "2"},
	{ONE, NULL, false, {.status = "bounced"}, "1"},
	{OTHER, NULL, false, {.status = "bounced"}, "3"},
	{ANYBODY, NULL, false, {.status = "bounced"}, "31"},
	{ONE, NULL, false, {.status = "delivery_delayed"}, "6"},
	{ONE, NULL, false, {.status = "failed"}, ""},
	{ONE, NULL, true, {.status = "failed"}, "5"},
	{ONE, NULL, true, {.status = "refused"}, "5"},
	{ONE, NULL, false, {.status = "refused"}, ""},
	{ONE, NULL, true, {.status = "queued"}, "4"},
	{ONE, NULL, true, {.status = "stopped"}, ""},
	{ONE, NULL, true, {.status = "scheduled"}, ""},
	{ONE, NULL, true, {.status = "canceled"}, ""},
	{ONE, NULL, false, {.tag = "news"}, "61"},
	{ONE, NULL, false, {.tag = "NEWS"}, "61"},
	{OTHER, NULL, false, {.tag = "news"}, "3"},
	{ONE, NULL, false, {.tag = "tag"}, ""},
	{ONE, NULL, false, {.tag = "kind"}, "62"},
	{ONE, NULL, false, {.tag = "kind:small"}, "6"},
	{ONE, NULL, false, {.since_us = 2 * HOUR}, "621"},
	{ONE, NULL, false, {.since_us = 2 * HOUR + 1}, "62"},
	{ONE, NULL, false, {.until_us = 2 * HOUR}, "0"},
	{ONE, NULL, false, {.until_us = 2 * HOUR + 1}, "10"},
	{ONE, NULL, false, {.since_us = 3 * HOUR, .until_us = 3 * HOUR}, ""},
	{ONE, NULL, false, {.since_us = 99 * HOUR}, ""},
	{ONE, NULL, false, {.until_us = 1}, ""},
	{ONE, NULL, false, {.since_us = 2 * HOUR, .until_us = 7 * HOUR}, "21"},
	{ONE, NULL, false,
		{.to = "x@dst.test",
			.subject = "FIRST",
			.tag = "kind",
			.from = "a@one.test",
			.status = "delivery_delayed",
			.since_us = 7 * HOUR},
		"6"},
	{ONE, NULL, false, {.status = "bounced", .tag = "kind"}, ""},
	{ONE, NULL, false, {.text = "FIRST"}, "60"},
	{ONE, NULL, false, {.text = "x@dst"}, "610"},
	{ONE, NULL, false, {.text = "B@MORE"}, "2"},
	{ONE, NULL, false, {.text = "%"}, "2"},
	{ONE, "more.test", false, {.text = "dst"}, "2"},
	{ANYBODY, NULL, true, {.text = "c@other"}, "3"},
	{OTHER, NULL, true, {.text = "one.test"}, ""},
	{ONE, NULL, false, {.key_id = "none"}, ""},
	{ONE, NULL, false, {.recipient = &bounced}, "6"}, /* its email is delayed */
	{OTHER, NULL, false, {.recipient = &bounced}, ""},
	{ANYBODY, NULL, false, {.recipient = &bounced}, "6"},
	{ONE, NULL, false, {.recipient = &bounced, .to = "X@dst.test"}, "6"},
	{ONE, NULL, false, {.recipient = &bounced, .to = "y@dst.test"}, ""},
	{ONE, NULL, false, {.recipient = &bounced, .status = "bounced"}, ""},
	{ONE, NULL, false, {.recipient = &bounced, .text = "first"}, "6"},
	{ONE, NULL, false, {.recipient = &delivered}, "0"},
	{ONE, NULL, false, {.recipient = &delivered, .text = "first"}, "0"},
};

/* In one page, and one email at a time, from either end. */
static void test_filters(void **state)
{
	struct temp_db *temp = *state;
	struct world *world = temp->more;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct email_scope scope = {
			cases[i].company == ANYBODY ? NULL
						    : world->tenants[cases[i].company].company_id,
			cases[i].domain, !cases[i].any_state};
		const char *want = cases[i].found;
		size_t n = strlen(want);

		for (int backwards = 0; backwards < 2; backwards++) {
			struct page page = {.limit = 1};

			for (size_t k = 0; k < n; k++) {
				char digit = backwards ? want[n - 1 - k] : want[k];
				const char *id = world->ids[digit - '0'];
				char page_wanted[3] = {digit, k + 1 < n ? '+' : '\0'};
				_cleanup_free_ char *got = NULL;

				if (backwards && k == 0) {
					strcpy(page.before, id);
					continue;
				}
				got = search(temp, &scope, &cases[i].filter, &page);
				if (strcmp(got, page_wanted) != 0)
					fail_msg("%zu: %s, not %s", i, got, page_wanted);
				strcpy(backwards ? page.before : page.after, id);
			}
		}
		const struct page all = {.limit = 100};
		_cleanup_free_ char *got = search(temp, &scope, &cases[i].filter, &all);

		if (strcmp(got, want) != 0)
			fail_msg("%zu: %s, not %s", i, got, want);
	}
}

/* A cursor is any email of the scope, whether it fits or not. */
static void test_cursor(void **state)
{
	struct temp_db *temp = *state;
	struct world *world = temp->more;
	const struct email_filter filter = {.to = "x@dst.test"};
	const struct email_scope scope = {world->tenants[0].company_id, NULL, true};
	struct page page = {.limit = 9};
	_cleanup_free_ char *behind = NULL, *foreign = NULL;

	strcpy(page.after, world->ids[2]);
	behind = search(temp, &scope, &filter, &page);
	assert_string_equal(behind, "10");
	strcpy(page.after, world->ids[3]);
	foreign = search(temp, &scope, &filter, &page);
	assert_string_equal(foreign, "no cursor");
}

/* Behind what there is, copies of the first email, of the other company. */
static const char many[] =
	"WITH RECURSIVE number (n) AS (SELECT 1001 UNION ALL"
	" SELECT n + 1 FROM number WHERE n < 51000)"
	" INSERT INTO email (seq, id, ticket, company_id, key_id, domain,"
	" sender, header_from, reply_to, subject, message_id, created_us, "
	"state,"
	" queue_id, last_event)"
	" SELECT n, printf('%08x-0000-4000-8000-000000000000', n),"
	" 'many' || n, (SELECT company_id FROM email WHERE seq = 4), key_id,"
	" 'other.test', 'c@other.test', header_from, '', 'Many', '', "
	"created_us,"
	" state, 'Q', 'bounced' FROM number, email WHERE seq = 1;"
	"INSERT INTO email_recipient"
	" (email, n, kind, address, state, company_id)"
	" SELECT seq, 0, 'to', 'x@dst.test', 'delivered', company_id FROM email"
	" WHERE seq > 1000;";

/* Follows the search to its end: how many pages it took, and what it found. */
static int pages_of(struct temp_db *temp, const struct email_scope *scope,
	const struct email_filter *filter, bool backwards, size_t *n_r)
{
	struct page page = {.limit = 100};
	struct email_found found = {.more = true};
	int pages = 0;

	if (backwards)
		strcpy(page.before, ((struct world *)temp->more)->ids[3]);
	for (*n_r = 0; found.more; pages++) {
		assert_true(pages < 20);
		assert_int_equal(
			store_email_search(temp->db, scope, filter, &page, &found, NULL), 1);
		*n_r += found.list.n;
		assert_true(!found.more || *found.next);
		strcpy(backwards ? page.before : page.after, found.next);
		store_email_list_free(&found.list);
	}
	return pages;
}

static void test_bound(void **state)
{
	struct temp_db *temp = *state;
	struct world *world = temp->more;
	const struct email_scope one = {world->tenants[0].company_id, NULL, true};
	const struct email_scope other = {world->tenants[1].company_id, NULL, true};
	const struct email_filter first = {.subject = "First"};
	const struct email_filter refused = {.status = "bounced", .subject = "First"};
	const struct email_filter to = {.to = "x@dst.test", .subject = "First"};
	const struct email_filter sender = {.from = "c@other.test", .subject = "none of them"};
	size_t n;

	ONLY_SQLITE(state); /* the bound is none of the engine's */
	OK(db_exec(temp->db, many, &why));
	/* 50,001 emails, 20,000 for a page, or 5,000, or 3,000 of which no block has the text */
	assert_int_equal(pages_of(temp, &other, &first, false, &n), 17);
	assert_int_equal(n, 1);
	assert_int_equal(pages_of(temp, &other, &refused, false, &n), 10);
	assert_int_equal(n, 1);
	assert_int_equal(pages_of(temp, &other, &to, false, &n), 10);
	assert_int_equal(n, 1);
	assert_int_equal(pages_of(temp, &other, &sender, true, &n), 17);
	assert_int_equal(n, 0);
	OK(db_exec(temp->db, "UPDATE text_range SET low = 50001, high = 50000", &why));
	while (store_text_index_fill(temp->db, 1000000, NULL) == 1)
		;
	assert_int_equal(pages_of(temp, &other, &first, false, &n), 1);
	assert_int_equal(n, 1);
	assert_int_equal(pages_of(temp, &other, &sender, true, &n), 1);
	/* Those of others do not count. */
	assert_int_equal(pages_of(temp, &one, &to, false, &n), 1);
	assert_int_equal(n, 2);
}

/* What an operator looks for and very many companies have is looked for among
 * the emails of all, with the same result. */
static void test_many_companies(void **state)
{
	static const char sql_spread[] =
		"UPDATE email SET company_id = 'c' || (seq % 450) WHERE seq > 1000;"
		"UPDATE email_recipient SET company_id = 'c' || (email % 450) WHERE email > 1000;"
		"UPDATE email_recipient SET address = 'Y@dst.test' WHERE email > 1000 AND email % 2 = 1;"
		"INSERT INTO email_tag (email, tag, company_id)"
		" SELECT seq, 'many', company_id FROM email WHERE seq > 1000 AND seq % 4 = 1;";
	static const struct email_scope anybody = {.sent_only = true};
	static const struct {
		struct email_filter filter;
		int pages;
		size_t found;
	} searches[] = {
		/* in steps of 20,000 emails, of 5,000 that bounced, or of 3,000 texts */
		{{.to = "x@DST.test", .subject = "First"}, 17, 3},
		{{.to = "y@dst.test", .from = "b@more.test"}, 3, 1},
		{{.tag = "many", .subject = "First"}, 17, 0},
		{{.status = "bounced", .subject = "First"}, 10, 1},
	};
	struct temp_db *temp = *state;

	ONLY_SQLITE(state);
	OK(db_exec(temp->db, many, &why));
	OK(db_exec(temp->db, sql_spread, &why));
	for (size_t i = 0; i < ARRAY_SIZE(searches); i++) {
		size_t n;

		assert_int_equal(pages_of(temp, &anybody, &searches[i].filter, false, &n),
			searches[i].pages);
		assert_int_equal(n, searches[i].found);
	}
}

/* Behind the few that wait there are 100,000 that were sent: a search for the few goes along
 * the outbox, whoever asks, and takes a step or two for each. */
static void test_waiting_are_found_by_the_outbox(void **state)
{
	static const char sql_sent[] =
		"WITH RECURSIVE number (n) AS (SELECT 1001 UNION ALL"
		" SELECT n + 1 FROM number WHERE n < 101000)"
		" INSERT INTO email (seq, id, ticket, company_id, key_id, domain, sender,"
		" header_from, reply_to, subject, message_id, created_us, state, queue_id,"
		" last_event)"
		" SELECT n, printf('%08x-0000-4000-8000-000000000000', n), 'many' || n,"
		" company_id, key_id, domain, sender, header_from, '', 'Many', '', created_us,"
		" 'sent', 'Q', 'delivered' FROM number, email WHERE seq = 1";
	static const char sql_scheduled[] =
		"UPDATE email SET scheduled_us = 200 * 3600000000 WHERE seq = 5";
	struct temp_db *temp = *state;
	struct world *world = temp->more;
	const struct email_scope scopes[] = {
		{world->tenants[ONE].company_id, NULL, false},
		{world->tenants[ONE].company_id, "one.test", false},
		{NULL, "one.test", false},
		{0},
	};

	ONLY_SQLITE(state); /* which counts steps */
	OK(db_exec(temp->db, sql_sent, &why));
	for (int later = 0; later < 2; later++) {
		const struct email_filter filter = {
			.status = later ? "scheduled" : "queued", .now_us = 100 * HOUR};

		if (later)
			OK(db_exec(temp->db, sql_scheduled, &why));
		for (size_t i = 0; i < 2 * ARRAY_SIZE(scopes); i++) {
			const struct page page = {.limit = 100};
			struct page backwards = {.limit = 100};
			int64_t before = db_steps(temp->db);
			_cleanup_free_ char *got = NULL;

			strcpy(backwards.before, world->ids[0]);
			got = search(temp, &scopes[i / 2], &filter, i % 2 ? &backwards : &page);
			assert_string_equal(got, "4");
			assert_true(db_steps(temp->db) - before < 5000);
		}
	}
}

/* By the time of the decision; also by domain, and of a company alone. */
static void test_refused_counts(void **state)
{
	struct temp_db *temp = *state;
	struct world *world = temp->more;
	struct event_count_filter filter = {
		.end_us = 10, .step_us = INT64_C(86400000000), .limit = 9};
	struct event_counts counts;

	OK(store_event_counts(temp->db, &filter, &counts, &why));
	assert_int_equal(counts.n, 1);
	assert_int_equal(counts.items[0].kind, COUNTED_REFUSED);
	assert_int_equal(counts.items[0].time_us, 0);
	assert_int_equal(counts.items[0].count, 1);
	store_event_counts_free(&counts);
	filter.by_domain = true;
	filter.company_id = world->tenants[ONE].company_id;
	OK(store_event_counts(temp->db, &filter, &counts, &why));
	assert_int_equal(counts.n, 1);
	assert_string_equal(counts.items[0].domain, "one.test");
	assert_null(counts.next);
	store_event_counts_free(&counts);
	filter.company_id = world->tenants[OTHER].company_id;
	OK(store_event_counts(temp->db, &filter, &counts, &why));
	assert_int_equal(counts.n, 0);
	store_event_counts_free(&counts);
}

/* One that is staged, one that is put off; none of another company. */
static void test_waiting(void **state)
{
	struct temp_db *temp = *state;
	struct world *world = temp->more;
	struct email_waiting waiting;

	OK(store_email_waiting(temp->db, NULL, 99 * HOUR, 0, &waiting, &why));
	assert_int_equal(waiting.staged, 1);
	assert_int_equal(waiting.delayed, 1);
	OK(store_email_waiting(temp->db, NULL, 1, 0, &waiting, &why));
	assert_int_equal(waiting.staged, 0);
	OK(store_email_waiting(
		temp->db, world->tenants[OTHER].company_id, 99 * HOUR, 0, &waiting, &why));
	assert_int_equal(waiting.staged + waiting.delayed, 0);
	/* It is to go out later. */
	OK(db_exec(temp->db, "UPDATE email SET scheduled_us = 100 * 3600000000", &why));
	OK(store_email_waiting(temp->db, NULL, 99 * HOUR, 0, &waiting, &why));
	assert_int_equal(waiting.staged, 0);
	OK(store_email_waiting(temp->db, NULL, 101 * HOUR, 0, &waiting, &why));
	assert_int_equal(waiting.staged, 1);
	/* A rule of Postfix has stopped it. */
	OK(db_exec(temp->db,
		"UPDATE email SET last_event = 'failed', closed = 1 WHERE state = 'staged'", &why));
	OK(store_email_waiting(temp->db, NULL, 101 * HOUR, 0, &waiting, &why));
	assert_int_equal(waiting.staged, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(filters),
		TEST(cursor),
		TEST(bound),
		TEST(many_companies),
		TEST(waiting_are_found_by_the_outbox),
		TEST(refused_counts),
		TEST(waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
