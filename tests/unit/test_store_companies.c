/*
 * Two companies that know the same addresses, tags, Message-IDs and, one after
 * the other, the same domain: what the store tells one of them, where its pages
 * end, and how much work that is, must not depend on the other one's rows.
 *
 * Each question is asked of the same database while others have as many rows as
 * the company, and when they have thousands. Work is what SQLite counts: steps
 * of its own programs, in which the end of an index is one step less than a row
 * of somebody else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/buf.h"
#include "core/db/db_private.h"
#include "core/store/event/store_event.h"
#include "core/store/event/store_event_count.h"
#include "core/store/store_watch.h"
#include "tests/unit/temp_db.h"

enum { OWN = 12 };

struct world {
	struct temp_tenant own;
	char ids[OWN][ID_SIZE]; /* its emails, the oldest first */
};

/* Every third email bounced, one is refused, one is still staged. */
static void add_own(struct temp_db *temp, int i)
{
	static const char sql_chosen[] =
		"UPDATE email SET message_id = "
		"'<same@dst.test>' WHERE id = $id";
	static const char sql_bounced[] = "UPDATE email SET last_event = 'bounced' WHERE id = $id";
	struct world *world = temp->more;
	struct email email;

	temp_db_email(&world->own, &email);
	email.tags = mem_strdup("[{\"name\":\"tag\",\"value\":\"news\"}]");
	email.created_us = i + 1;
	OK(store_email_stage(temp->db, &email, &why));
	if (i == 0)
		assert_int_equal(
			store_email_refuse(temp->db, email.ticket, "4QUEUE", "no", i + 1, NULL), 1);
	else if (i != 1)
		assert_int_equal(
			store_email_record(temp->db, email.ticket, "4QUEUE", i + 1, NULL), 1);
	if (i > 1)
		assert_int_equal(db_change(temp->db, i % 3 ? sql_chosen : sql_bounced,
					 DB_PARAMS(DB_TEXT("$id", email.id)), NULL),
			1);
	memcpy(world->ids[i], email.id, ID_SIZE);
	store_email_clear(&email);
}

/* An event of every email that has none. */
static const char sql_events[] =
	"INSERT INTO event (key, email, n, domain, kind, attempt, occurred_us,"
	" recorded_us, source, company_id)"
	" SELECT randomblob(16), seq, 0, domain, 'deferred', 1, seq, seq,"
	" 'log', company_id FROM email"
	" WHERE seq > (SELECT coalesce(max(email), 0) FROM event)";

/* Room between the own emails for others. The bisection for a time goes by seq,
 * so that room alone is a few steps more. */
static const char sql_room[] =
	"UPDATE email SET seq = seq * 1000000;"
	"UPDATE email_content SET seq = seq * 1000000;"
	"UPDATE email_recipient SET email = email * 1000000;"
	"UPDATE email_tag SET email = email * 1000000;"
	"UPDATE event SET email = email * 1000000, seq = seq * 1000000";

static int setup(void **state)
{
	struct world *world = mem_new(struct world);
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp->more = world;
	temp_db_tenant(temp->db, "Own", "own.test", &world->own);
	for (int i = 0; i < OWN; i++)
		add_own(temp, i);
	OK(db_exec(temp->db, sql_events, &why));
	OK(db_begin(temp->db, &why));
	OK(db_exec(temp->db,
		temp_db_sql(temp->db, "PRAGMA defer_foreign_keys = ON",
			"SET LOCAL session_replication_role = replica"),
		&why));
	OK(db_exec(temp->db, sql_room, &why));
	OK(db_commit(temp->db, &why));
	return 0;
}

/* So many copies of the own emails of each of two companies, in between and
 * behind them in the order of seq, step apart, in every state, with the same
 * values: the domain was theirs. The own company's id is between theirs. */
static void add_others(struct temp_db *temp, int first, int n, int step)
{
	static const char sql_copy[] =
		"CREATE TEMP TABLE IF NOT EXISTS copy"
		" (new BIGINT, old BIGINT, company TEXT);"
		"DELETE FROM copy;"
		"WITH RECURSIVE number (n) AS (SELECT %d UNION ALL"
		" SELECT n + 1 FROM number WHERE n < %d)"
		" INSERT INTO copy SELECT 1000000 + n * %d + c.side,"
		" (n %% 12 + 1) * 1000000,"
		" printf('%%08x', 4294967295 * c.side) ||"
		" printf('-0000-4000-8000-%%012d', c.side)"
		" FROM number, (SELECT 0 AS side UNION ALL SELECT 1) c";
	static const char sql_rows[] =
		"INSERT INTO email (seq, id, ticket, company_id, key_id, "
		"domain,"
		" sender, header_from, reply_to, subject, message_id,"
		" created_us, state, decided_us, queue_id, last_event, refusal)"
		" SELECT new, printf('%08x-0000-4000-8000-000000000000', new),"
		" 'other' || new, company, key_id, domain, sender, header_from,"
		" reply_to, subject, message_id, created_us, state, decided_us,"
		" queue_id, last_event, refusal"
		" FROM copy JOIN email ON seq = old;"
		"INSERT INTO email_content (seq, html, text) SELECT new, '', ''"
		" FROM copy;"
		"INSERT INTO email_recipient"
		" (email, n, kind, address, state, company_id)"
		" SELECT new, n, kind, address, state, company"
		" FROM copy JOIN email_recipient ON email = old;"
		"INSERT INTO email_tag (email, tag, company_id)"
		" SELECT new, tag, company FROM copy JOIN email_tag"
		" ON email = old;"
		"INSERT INTO event (seq, key, email, n, domain, kind, attempt,"
		" occurred_us, recorded_us, source, company_id)"
		" SELECT new, randomblob(16), new, n, domain, kind, attempt,"
		" occurred_us, recorded_us, source, company"
		" FROM copy JOIN event ON email = old;"
		"INSERT INTO event_count (company_id, hour_us, domain, kind,"
		" count) SELECT company, 0, 'own.test', 'deferred', count(*) FROM copy"
		" GROUP BY company ON CONFLICT (company_id, hour_us, domain, kind)"
		" DO UPDATE SET count = event_count.count + excluded.count";
	_cleanup_free_ char *copy = mem_printf(sql_copy, first, first + n - 1, step);

	OK(db_begin(temp->db, &why));
	OK(db_exec(temp->db, copy, &why));
	OK(db_exec(temp->db, sql_rows, &why));
	OK(db_commit(temp->db, &why));
}

static void note_emails(struct buf *told, struct email_list *list, bool more)
{
	for (size_t i = 0; i < list->n; i++)
		buf_printf(told, " %s", list->items[i].id);
	buf_add_str(told, more ? " +\n" : "\n");
	store_email_list_free(list);
}

static void ask_searches(struct temp_db *temp, struct buf *told)
{
	static const struct email_filter filters[] = {
		{0},
		{.to = "a@dst.test"},
		{.to = "a@dst.test", .subject = "none of them"},
		{.to = "nobody@dst.test"},
		{.tag = "news"},
		{.tag = "news", .text = "none of them"},
		{.tag = "none"},
		{.status = "bounced"},
		{.status = "bounced", .subject = "none of them"},
		{.status = "refused"},
		{.status = "queued"},
		{.from = "info@own.test"},
		{.from = "info@own.test", .subject = "none of them"},
		{.text = "none of them"},
		{.since_us = 3, .until_us = 9},
	};
	const struct world *world = temp->more;
	const struct email_scope scopes[] = {
		{world->own.company_id, NULL, true},
		{world->own.company_id, world->own.domain, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(filters) * 8; i++) {
		struct page page = {.limit = i & 1 ? 3 : 100};
		struct email_found found;

		if (i & 4)
			strcpy(i & 1 ? page.after : page.before, world->ids[6]);
		assert_int_equal(store_email_search(temp->db, &scopes[i >> 1 & 1], &filters[i / 8],
					 &page, &found, NULL),
			1);
		buf_printf(told, "%zu next '%s'", i, found.next);
		note_emails(told, &found.list, found.more);
	}
}

static void ask_lists(struct temp_db *temp, struct buf *told)
{
	static const char *const names[] = {"<same@dst.test>", "other@dst.test"};
	const struct world *world = temp->more;
	const struct email_scope scopes[] = {
		{world->own.company_id, NULL, true},
		{world->own.company_id, world->own.domain, false},
	};
	struct email_waiting waiting;
	struct email_list list;
	bool more;

	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		struct page page = {.limit = 4};

		assert_int_equal(
			store_email_page(temp->db, &scopes[i], &page, &list, &more, NULL), 1);
		note_emails(told, &list, more);
		strcpy(page.before, world->ids[2]);
		assert_int_equal(
			store_email_page(temp->db, &scopes[i], &page, &list, &more, NULL), 1);
		note_emails(told, &list, more);
		OK(store_email_list_refused(temp->db, &scopes[i], 10, &list, &why));
		note_emails(told, &list, false);
		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			OK(store_email_named(temp->db, &scopes[i], names[k], 5, &list, &why));
			note_emails(told, &list, false);
		}
	}
	OK(store_email_waiting(temp->db, world->own.company_id, 100, 0, &waiting, &why));
	buf_printf(told, "staged %d delayed %d\n", (int)waiting.staged, (int)waiting.delayed);
}

static void ask_events(struct temp_db *temp, struct buf *told)
{
	const struct world *world = temp->more;
	const struct event_filter filters[] = {
		{.kinds = 0},
		{.kinds = 1u << EVENT_DELIVERED},
		{.recipients = "[\"a@dst.test\"]"},
		{.to = "[\"a@dst.test\"]"},
		{.to = "[\"nobody@dst.test\"]"},
		{.tags = "[\"news\"]"},
		{.message_ids = "[\"same@dst.test\"]"},
		{.subjects = "[\"none of them\"]"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(filters) * 2; i++) {
		struct event_filter filter = filters[i / 2];
		struct event_list list;

		filter.domain = world->own.domain;
		filter.company_id = world->own.company_id;
		filter.ascending = i % 2;
		filter.limit = 5;
		OK(store_event_page(temp->db, &filter, &list, &why));
		buf_printf(told, "events %zu:", i);
		for (size_t k = 0; k < list.n; k++)
			buf_printf(told, " %s", list.items[k].id);
		buf_printf(told, "%s%s\n", list.more ? " +" : "", list.looked_seq ? " cut" : "");
		store_event_list_free(&list);
	}
}

static void ask_counts(struct temp_db *temp, struct buf *told)
{
	const struct world *world = temp->more;
	struct event_count_filter filter = {
		.company_id = world->own.company_id,
		.end_us = INT64_C(3600000000),
		.step_us = INT64_C(3600000000),
		.limit = 9,
	};
	struct event_counts counts;
	struct store_watch watch = {0};
	unsigned changed;

	for (int by_domain = 0; by_domain < 2; by_domain++) {
		filter.by_domain = by_domain;
		OK(store_event_counts(temp->db, &filter, &counts, &why));
		for (size_t i = 0; i < counts.n; i++)
			buf_printf(told, "%s %d\n", event_kind_name(counts.items[i].kind),
				(int)counts.items[i].count);
		store_event_counts_free(&counts);
	}
	OK(store_event_bounces(temp->db, world->own.company_id, 0, 9, &counts, &why));
	store_event_counts_free(&counts);
	OK(store_watch_look(temp->db, world->own.company_id, 1, &watch, &changed, &why));
}

/* An email of the other company is no cursor, and is not there. */
static void ask_strange_ids(struct temp_db *temp, struct buf *told)
{
	static const char *const ids[] = {
		"001e8486-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000000"};
	const struct world *world = temp->more;
	const struct email_scope scope = {world->own.company_id, NULL, true};
	const struct email_filter filter = {.to = "a@dst.test"};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct page page = {.limit = 3};
		struct email_found found;
		struct email_list list;
		struct email email;
		bool more;

		strcpy(page.after, ids[i]);
		buf_printf(told, "%d %d %d\n",
			store_email_search(temp->db, &scope, &filter, &page, &found, NULL),
			store_email_page(temp->db, &scope, &page, &list, &more, NULL),
			store_email_get(temp->db, ids[i], &scope, &email, NULL));
	}
}

static void (*const questions[])(struct temp_db *temp, struct buf *told) = {
	ask_searches, ask_lists, ask_events, ask_counts, ask_strange_ids};

static void test_few_and_many(void **state)
{
	struct temp_db *temp = *state;
	/* A server counts no steps: there the answers alone are compared. */
	int many = db_is_url(temp->name) ? 1000 : 2 * EMAIL_SEARCH_MAX;
	struct buf told[2][ARRAY_SIZE(questions)];
	int64_t steps[2][ARRAY_SIZE(questions)];

	add_others(temp, 1, OWN, 1000006);
	for (int with = 0; with < 2; with++) {
		if (with)
			add_others(temp, 1 + OWN, many, 599);
		for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
			int64_t before = db_steps(temp->db);

			told[with][i] = BUF_INIT;
			questions[i](temp, &told[with][i]);
			steps[with][i] = db_steps(temp->db) - before;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		assert_string_equal(buf_str(&told[0][i]), buf_str(&told[1][i]));
		print_message("%zu: %lld steps beside few, %lld beside many\n", i,
			(long long)steps[0][i], (long long)steps[1][i]);
		buf_free(&told[0][i]);
		buf_free(&told[1][i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
		assert_int_equal(steps[0][i], steps[1][i]);
}

/* What each page of the dashboard asks for again and again: the newest emails of all, or of one
 * company. Among many it looks at those of the page alone. */
static void test_newest_of_many(void **state)
{
	struct temp_db *temp = *state;
	const struct world *world = temp->more;
	const struct email_scope scopes[] = {{0}, {.company_id = world->own.company_id}};
	const struct email_filter none = {0};
	const struct page page = {.limit = 10};

	ONLY_SQLITE(state);
	add_others(temp, 1, OWN, 1000006);
	add_others(temp, 1 + OWN, EMAIL_SEARCH_MAX, 599);
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		int64_t before = db_steps(temp->db);
		struct email_found found;

		assert_int_equal(
			store_email_search(temp->db, &scopes[i], &none, &page, &found, NULL), 1);
		assert_int_equal(found.list.n, 10);
		assert_true(found.more);
		assert_string_equal(found.next, "");
		assert_in_range(db_steps(temp->db) - before, 1, EMAIL_SEARCH_MAX / 10);
		store_email_list_free(&found.list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_few_and_many, setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_newest_of_many, setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
