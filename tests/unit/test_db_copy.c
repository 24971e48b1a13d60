/* db_copy: a SQLite file with an email into a database on a server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/db/db_copy.h"
#include "tests/unit/temp_db.h"

static const char sql_emails[] = "SELECT count(*) FROM email";
static const char sql_subject[] = "SELECT subject FROM email";
static const char sql_hash[] = "SELECT lower(hex(hash)) FROM api_key";
static const char sql_open[] = "SELECT count FROM open_count WHERE last_event = 'staged'";
static const char sql_last[] = "SELECT max(seq) FROM email";
static const char sql_recipients[] = "SELECT count(*) FROM email_recipient WHERE mailbox IS NULL";

static void assert_same_text(struct db *from, struct db *to, const char *sql)
{
	_cleanup_free_ char *before = temp_db_text(from, sql), *after = temp_db_text(to, sql);

	assert_string_equal(before, after);
}

static void test_copy(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_strv_ struct strv texts = STRV_INIT;
	_cleanup_(db) struct db *from = NULL, *read = NULL;
	_cleanup_free_ char *subject = NULL;
	struct db_copied copied;
	struct temp_tenant tenant;
	struct email email;
	struct err err = ERR_INIT;
	int64_t last;

	if (!db_is_url(temp->name))
		skip();
	temp_db_make(temp->path);
	OK(db_open(temp->path, DB_WRITE, &from, &why));
	temp_db_staged(from, &tenant, &email);
	/* What SQLite takes, and the server does not. */
	OK(db_exec(from, "UPDATE email SET subject = CAST(X'41FF42' AS TEXT)", &why));
	OK(db_open(temp->path, DB_READ, &read, &why));

	OK(db_copy_all(read, temp->db, NULL, &texts, &copied, &why));
	assert_int_equal(copied.mended, 1);
	assert_true(copied.rows > 5);
	assert_int_equal(temp_db_number(temp->db, sql_emails), 1);
	assert_int_equal(temp_db_number(temp->db, sql_recipients), 2);
	assert_same_text(from, temp->db, sql_hash);
	subject = temp_db_text(temp->db, sql_subject);
	assert_string_equal(subject, "A?B");

	/* What comes later is counted, and gets a number behind those that were copied. */
	assert_int_equal(temp_db_number(temp->db, sql_open), 1);
	store_email_clear(&email);
	temp_db_email(&tenant, &email);
	OK(store_email_stage(temp->db, &email, &why));
	last = temp_db_number(temp->db, sql_last);
	assert_true(last > temp_db_number(from, sql_last));
	assert_int_equal(temp_db_number(temp->db, sql_open), 2);

	assert_int_equal(db_copy_all(read, temp->db, NULL, &texts, &copied, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_int_equal(temp_db_number(temp->db, sql_emails), 2);
	store_email_clear(&email);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copy, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
