/*
 * store_row: rows with words that the tables rule out, as another program may
 * have written them: whatever reads one for a decision says that it cannot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/store/store_claim.h"
#include "core/store/store_domain.h"
#include "core/store/store_row.h"
#include "tests/unit/temp_db.h"

struct world {
	struct temp_tenant acme; /* example.com */
	struct email email;      /* sent */
};

static int setup(void **state)
{
	struct world *world = mem_new(struct world);
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp->more = world;
	temp_db_staged(temp->db, &world->acme, &world->email);
	assert_int_equal(
		store_email_record(temp->db, world->email.ticket, "Q", 1, NULL),
		1);
	return 0;
}

static int teardown(void **state)
{
	store_email_clear(
		&((struct world *)((struct temp_db *)*state)->more)->email);
	return temp_db_teardown(state);
}

static void test_words(void **state)
{
	static const char *const words[] = {"own", "covered"};
	static const struct {
		const char *text;
		size_t place;
	} cases[] = {
		{"own", 0},
		{"covered", 1},
		{"Own", 2},
		{"own ", 2},
		{"", 2},
		{NULL, 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(store_row_word(words, 2, cases[i].text),
			cases[i].place);
}

/* Each reads one row, or a list with it: 1, -1. */

static int find_domain(struct db *db, const struct world *world, struct err *err)
{
	struct domain domain;
	int found = store_domain_find(db, world->acme.domain, &domain, err);

	if (found == 1)
		store_domain_clear(&domain);
	return found;
}

static int list_domains(struct db *db, const struct world *world, struct err *err)
{
	struct domain_list list;

	(void)world;
	if (store_domain_list(db, NULL, &list, err) < 0)
		return -1;
	store_domain_list_free(&list);
	return 1;
}

static int page_domains(struct db *db, const struct world *world, struct err *err)
{
	const struct domain_scope scope = {.company_id = world->acme.company_id};
	const struct page page = {.limit = 5};
	struct domain_list list;
	bool more;
	int found = store_domain_page(db, &scope, &page, &list, &more, err);

	if (found == 1)
		store_domain_list_free(&list);
	return found;
}

static int read_claim(struct db *db, const struct world *world, struct err *err)
{
	const struct claim_sender sender = {.sender = "a@example.com"};
	struct claim claim;

	return store_claim_read(db, world->acme.domain, &sender, &claim, err);
}

static int get_email(struct db *db, const struct world *world, struct err *err)
{
	const struct email_scope scope = {0};
	struct email email;
	int found = store_email_get(db, world->email.id, &scope, &email, err);

	if (found == 1)
		store_email_clear(&email);
	return found;
}

static int list_emails(struct db *db, const struct world *world, struct err *err)
{
	const struct email_scope scope = {0};
	struct email_list list;

	(void)world;
	if (store_email_list(db, &scope, 5, &list, err) < 0)
		return -1;
	store_email_list_free(&list);
	return 1;
}

static int page_emails(struct db *db, const struct world *world, struct err *err)
{
	const struct email_scope scope = {.company_id = world->acme.company_id};
	const struct page page = {.limit = 5};
	struct email_list list;
	bool more;
	int found = store_email_page(db, &scope, &page, &list, &more, err);

	if (found == 1)
		store_email_list_free(&list);
	return found;
}

static int read_outcome(struct db *db, const struct world *world, struct err *err)
{
	enum email_state state;
	char *refusal = NULL;
	int found = store_email_outcome(
		db, world->email.id, &state, &refusal, err);

	free(refusal);
	return found;
}

static int read_ticket(struct db *db, const struct world *world, struct err *err)
{
	struct email_ticket ticket;
	int found = store_email_ticket(db, world->email.ticket, &ticket, err);

	if (found == 1)
		store_email_ticket_clear(&ticket);
	return found;
}

static const struct {
	const char *spoil, *mend;
	int (*const readers[6])(
		struct db *db, const struct world *world, struct err *err);
} cases[] = {
	{"UPDATE domain SET policy = 'later'",
		"UPDATE domain SET policy = 'shared'",
		{find_domain, list_domains, page_domains, read_claim}},
	{"UPDATE domain SET subdomains = 'later'",
		"UPDATE domain SET subdomains = 'own'",
		{find_domain, list_domains, page_domains, read_claim}},
	{"UPDATE email SET state = 'later'", "UPDATE email SET state = 'sent'",
		{get_email, list_emails, page_emails, read_outcome, read_ticket}},
};

static void try_spoilt(struct temp_db *temp, size_t i, size_t reader)
{
	struct err err = ERR_INIT;

	OK(db_exec(temp->db, cases[i].spoil, &why));
	if (cases[i].readers[reader](temp->db, temp->more, &err) != -1)
		fail_msg("%s: reader %zu", cases[i].spoil, reader);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.text, "\"later\""));
	OK(db_exec(temp->db, cases[i].mend, &why));
	if (cases[i].readers[reader](temp->db, temp->more, &err) != 1)
		fail_msg("%s: reader %zu: %s", cases[i].mend, reader, err.text);
}

static void test_spoilt_rows(void **state)
{
	struct temp_db *temp = *state;

	OK(db_exec(temp->db, "PRAGMA ignore_check_constraints = 1", &why));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t n = 0; cases[i].readers[n]; n++)
			try_spoilt(temp, i, n);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(words),
		TEST(spoilt_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
