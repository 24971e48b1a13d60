/*
 * store_email_read: pages of the sent folder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/buf.h"
#include "core/store/delivery/store_queue_message.h"
#include "tests/unit/temp_db.h"

enum { EMAILS = 10 };

/* Two companies take turns; email 3 was not sent. The last of the first company
 * is of another domain of its own. */
struct world {
	struct temp_tenant tenants[2];
	char ids[EMAILS][ID_SIZE];
};

static void add(struct temp_db *temp, int i, const char *domain)
{
	struct world *world = temp->more;
	struct temp_tenant tenant = world->tenants[i % 2];
	struct email email;

	tenant.domain = domain ? domain : tenant.domain;
	temp_db_email(&tenant, &email);
	OK(store_email_stage(temp->db, &email, &why));
	if (i != 3)
		assert_int_equal(store_email_record(temp->db, email.ticket, "Q", i, NULL), 1);
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
	for (int i = 0; i < EMAILS; i++)
		add(temp, i, i == 8 ? "more.test" : NULL);
	return 0;
}

/* An email of the tenant's with that Message-ID; NULL: one that begins with its id. */
static void add_named(struct temp_db *temp, const char *message_id, char *id_r)
{
	struct world *world = temp->more;
	struct email email;

	temp_db_email(&world->tenants[0], &email);
	free(email.message_id);
	email.message_id = message_id ? mem_strdup(message_id)
				      : mem_printf("<%s@one.test>", email.id);
	OK(store_email_stage(temp->db, &email, &why));
	memcpy(id_r, email.id, ID_SIZE);
	store_email_clear(&email);
}

/* How many of all emails, or of a company's, the text names; the first one
 * must be this. */
static size_t count_named(
	struct temp_db *temp, const char *company_id, const char *text, const char *first)
{
	const struct email_scope scope = {company_id, NULL, false};
	struct email_list list;
	size_t n;

	OK(store_email_named(temp->db, &scope, text, 2, &list, &why));
	n = list.n;
	if (n > 0 && first)
		assert_string_equal(list.items[0].id, first);
	store_email_list_free(&list);
	return n;
}

static void test_named(void **state)
{
	struct temp_db *temp = *state;
	struct world *world = temp->more;
	const char *theirs = world->tenants[1].company_id;
	_cleanup_free_ char *own = NULL, *other = NULL, *id_alone = NULL;
	char ids[3][ID_SIZE];
	struct queue_message message = {.queue_id = (char *)"4QUEUE", .since_us = 1, .n = -1};
	struct email_scope all = {0};
	struct email_list list;

	add_named(temp, "<chosen@one.test>", ids[0]);
	add_named(temp, "<chosen@one.test>", ids[1]);
	add_named(temp, NULL, ids[2]);
	assert_int_equal(count_named(temp, NULL, "<chosen@one.test>", ids[1]), 2);
	assert_int_equal(count_named(temp, NULL, "chosen@one.test", ids[1]), 2);
	assert_int_equal(count_named(temp, theirs, "chosen@one.test", NULL), 0);
	own = mem_printf("<%s@one.test>", ids[2]);
	id_alone = mem_printf("<%s>", ids[2]);
	assert_int_equal(count_named(temp, NULL, own, ids[2]), 1);
	assert_int_equal(count_named(temp, NULL, id_alone, ids[2]), 1);
	assert_int_equal(count_named(temp, NULL, ids[2], ids[2]), 1);
	assert_int_equal(count_named(temp, theirs, ids[2], NULL), 0);
	/* The message was given on under another id. */
	OK(store_email_named(temp->db, &all, ids[0], 1, &list, &why));
	message.email = list.items[0].seq;
	store_email_list_free(&list);
	OK(store_queue_message_add(temp->db, &message, &why));
	assert_int_equal(count_named(temp, NULL, "4QUEUE", ids[0]), 1);
	assert_int_equal(count_named(temp, theirs, "4QUEUE", NULL), 0);
	/* Texts that name nothing. */
	other = mem_printf("<%s", ids[0]);
	assert_int_equal(count_named(temp, NULL, other, NULL), 1);
	assert_int_equal(count_named(temp, NULL, "", NULL), 0);
	assert_int_equal(count_named(temp, NULL, "<", NULL), 0);
	assert_int_equal(count_named(temp, NULL, "<>", NULL), 0);
	assert_int_equal(count_named(temp, NULL, "a b", NULL), 0);
	assert_int_equal(count_named(temp, NULL, "none@one.test", NULL), 0);
}

/* The page as the numbers of its emails, a + behind them when there are more;
 * NULL for a cursor that is none. */
static char *page_of(struct temp_db *temp, int tenant, const char *domain, const struct page *page)
{
	struct world *world = temp->more;
	const struct email_scope scope = {world->tenants[tenant].company_id, domain, true};
	struct buf out = BUF_INIT;
	struct email_list list;
	bool more;
	int found = store_email_page(temp->db, &scope, page, &list, &more, NULL);

	assert_true(found >= 0);
	if (found == 0)
		return NULL;
	for (size_t i = 0; i < list.n; i++)
		for (int n = 0; n < EMAILS; n++)
			if (strcmp(list.items[i].id, world->ids[n]) == 0)
				buf_printf(&out, "%d", n);
	buf_add_str(&out, more ? "+" : "");
	store_email_list_free(&list);
	return buf_take(&out);
}

/* Cursors are numbers of emails; -1: none. */
static const struct {
	int tenant;
	const char *domain;
	int limit;
	int after;
	int before;
	const char *page; /* NULL: no such cursor */
} cases[] = {
	{0, NULL, 100, -1, -1, "86420"},
	{0, NULL, 5, -1, -1, "86420"},
	{0, NULL, 4, -1, -1, "8642+"},
	{0, NULL, 1, -1, -1, "8+"},
	{0, NULL, 2, 8, -1, "64+"},
	{0, NULL, 2, 4, -1, "20"},
	{0, NULL, 2, 2, -1, "0"},
	{0, NULL, 2, 0, -1, ""},
	{0, NULL, 2, -1, 0, "42+"},
	{0, NULL, 2, -1, 4, "86"},
	{0, NULL, 3, -1, 4, "86"},
	{0, NULL, 2, -1, 6, "8"},
	{0, NULL, 2, -1, 8, ""},
	{1, NULL, 100, -1, -1, "9751"},
	{1, NULL, 3, -1, -1, "975+"},
	{1, NULL, 1, 5, -1, "1"},
	{1, NULL, 100, 3, -1, NULL}, /* not in the sent folder */
	{0, NULL, 100, 1, -1, NULL}, /* another company's */
	{0, NULL, 100, -1, 9, NULL},
	{0, "one.test", 100, -1, -1, "6420"},
	{0, "one.test", 2, 6, -1, "42+"},
	{0, "one.test", 2, -1, 0, "42+"},
	{0, "one.test", 2, -1, 2, "64"},
	{0, "one.test", 100, 8, -1, NULL}, /* another domain's */
	{0, "more.test", 100, -1, -1, "8"},
	{1, "one.test", 100, -1, -1, ""},
};

static void test_pages(void **state)
{
	struct temp_db *temp = *state;
	struct world *world = temp->more;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct page page = {.limit = cases[i].limit};
		_cleanup_free_ char *got = NULL;

		if (cases[i].after >= 0)
			strcpy(page.after, world->ids[cases[i].after]);
		if (cases[i].before >= 0)
			strcpy(page.before, world->ids[cases[i].before]);
		got = page_of(temp, cases[i].tenant, cases[i].domain, &page);
		if ((got == NULL) != (cases[i].page == NULL) ||
			(got && strcmp(got, cases[i].page) != 0))
			fail_msg("%zu: %s, not %s", i, got ? got : "no cursor",
				cases[i].page ? cases[i].page : "no cursor");
	}
}

static void test_unknown_cursor(void **state)
{
	const struct page page = {.limit = 1, .after = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"};

	assert_null(page_of(*state, 0, NULL, &page));
}

/* Items come without their content, whose column is not even read. */
static void test_no_content(void **state)
{
	struct temp_db *temp = *state;
	struct world *world = temp->more;
	const struct email_scope scope = {world->tenants[0].company_id, NULL, true};
	const struct page page = {.limit = 1};
	struct email_list list;
	bool more;

	assert_int_equal(store_email_page(temp->db, &scope, &page, &list, &more, NULL), 1);
	assert_null(list.items[0].html);
	assert_null(list.items[0].text);
	assert_string_equal(list.items[0].subject, "Grüße");
	store_email_list_free(&list);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(pages),
		TEST(unknown_cursor),
		TEST(named),
		TEST(no_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
