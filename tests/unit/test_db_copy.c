/* db_copy: a SQLite file into a database on a server, also after an interruption. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/db/db_copy.h"
#include "core/db/migrate.h"
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
	const struct db_copy_how how = {.source = "a"};
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

	OK(db_copy_pass(read, temp->db, &how, &texts, &copied, &why));
	OK(db_copy_finish(temp->db, &why));
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

	assert_int_equal(db_copy_pass(read, temp->db, &how, &texts, &copied, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_int_equal(temp_db_number(temp->db, sql_emails), 2);
	store_email_clear(&email);
}

enum { COMPANIES = 12345, HALT = 7000 };

static int copy_file(struct temp_db *temp, const char *source, bool anew,
	struct db_copied *copied_r, struct err *err)
{
	const struct db_copy_how how = {.source = source, .anew = anew};
	_cleanup_strv_ struct strv texts = STRV_INIT;
	_cleanup_(db) struct db *read = NULL, *to = NULL;
	_cleanup_free_ char *place = mem_printf("%s#here", temp->name);

	OK(db_open(temp->path, DB_READ, &read, &why));
	OK(db_open(place, DB_CREATE, &to, &why));
	return db_copy_pass(read, to, &how, &texts, copied_r, err) == 0 ? db_copy_finish(to, err)
									: -1;
}

/* What was committed before the interruption stays, and is not copied again. */
static void test_interrupted(void **state)
{
	static const char sql_first[] = "SELECT xmin::text FROM company ORDER BY id LIMIT 1";
	static const char sql_companies[] = "SELECT count(*) FROM company";
	static const char sql_sum[] = "SELECT sum(created_us) FROM company";
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *from = NULL;
	_cleanup_free_ char *before = NULL, *after = NULL, *fill = NULL, *halt = NULL;
	struct db_copied copied;
	struct err err = ERR_INIT;

	if (!db_is_url(temp->name))
		skip();
	fill = mem_printf(
		"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
		" INSERT INTO company (id, name, created_us)"
		" SELECT '9b6f7a3e-6f1b-4d0c-a8b5-' || (100000000000 + i), 'c' || i, i FROM n",
		COMPANIES);
	halt = mem_printf("ALTER TABLE company ADD CONSTRAINT halt CHECK (created_us <> %d)", HALT);
	temp_db_make(temp->path);
	OK(db_open(temp->path, DB_WRITE, &from, &why));
	OK(db_exec(from, fill, &why));
	OK(db_exec(temp->db, halt, &why));
	assert_int_equal(copy_file(temp, "a", false, &copied, &err), -1);
	assert_non_null(strstr(err.text, "halt"));
	assert_int_equal(temp_db_number(temp->db, sql_companies), 5000);
	assert_int_equal(migrate_check_name(temp->name, &err), -1);
	assert_non_null(strstr(err.text, "postern db copy"));
	before = temp_db_text(temp->db, sql_first);

	OK(db_exec(temp->db, "ALTER TABLE company DROP CONSTRAINT halt", &why));
	assert_int_equal(copy_file(temp, "b", false, &copied, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	OK(copy_file(temp, "a", false, &copied, &why));
	OK(migrate_check_name(temp->name, &why));
	after = temp_db_text(temp->db, sql_first);
	assert_string_equal(before, after);
	assert_int_equal(temp_db_number(temp->db, sql_companies), COMPANIES);
	assert_int_equal(
		temp_db_number(temp->db, sql_sum), (int64_t)COMPANIES * (COMPANIES + 1) / 2);
	assert_true(copied.rows >= COMPANIES);
	assert_in_range(copied.written, COMPANIES - 5000, copied.rows - 5000);
	assert_int_equal(copy_file(temp, "a", false, &copied, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
}

/* What the file has is of the host that copies it. */
static void test_anew(void **state)
{
	static const char sql_companies[] = "SELECT count(*) FROM company";
	static const char sql_here[] = "SELECT count(*) FROM email WHERE host = 'here'";
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *from = NULL;
	struct db_copied copied;
	struct temp_tenant tenant;
	struct email email;

	if (!db_is_url(temp->name))
		skip();
	temp_db_make(temp->path);
	OK(db_open(temp->path, DB_WRITE, &from, &why));
	temp_db_staged(from, &tenant, &email);
	store_email_clear(&email);
	OK(db_exec(temp->db, "ALTER TABLE email ADD CONSTRAINT halt CHECK (seq < 0)", &why));
	assert_int_equal(copy_file(temp, "a", false, &copied, NULL), -1);
	OK(db_exec(temp->db, "ALTER TABLE email DROP CONSTRAINT halt", &why));
	OK(copy_file(temp, "b", true, &copied, &why));
	assert_int_equal(temp_db_number(temp->db, sql_companies), 1);
	assert_int_equal(temp_db_number(temp->db, sql_emails), 1);
	assert_int_equal(temp_db_number(temp->db, sql_here), 1);
}

/* What changes in the file after a pass is copied by the next one, and no more. */
static void test_changes(void **state)
{
	static const char *const changes[] = {
		/* New, changed and removed; and a name that another row has had. */
		"INSERT INTO company (id, name, created_us) VALUES ('0', 'first', 1), ('z', 'last', 1)",
		"UPDATE email SET subject = 'changed', queue_id = NULL",
		"DELETE FROM email_recipient WHERE n = 0",
		"DELETE FROM domain WHERE name = 'b.example'",
		("INSERT INTO domain (id, company_id, name, active, policy, created_us)"
		 " SELECT 'd', company_id, 'b.example', 1, 'learn', 1 FROM email"),
		"UPDATE event_last SET seq = 77",
	};
	static const char sql_names[] =
		"SELECT group_concat(name, ',') FROM (SELECT name FROM company"
		" ORDER BY id) c";
	static const char sql_domain[] = "SELECT id FROM domain WHERE name = 'b.example'";
	static const char sql_seq[] = "SELECT seq FROM event_last";
	static const char sql_one[] = "SELECT count(*) FROM email_recipient";
	struct temp_db *temp = *state;
	_cleanup_strv_ struct strv texts = STRV_INIT;
	_cleanup_(db) struct db *from = NULL, *read = NULL;
	const struct db_copy_how how = {.source = "a"};
	struct db_copied copied;
	struct temp_tenant tenant;
	struct email email;

	if (!db_is_url(temp->name))
		skip();
	temp_db_make(temp->path);
	OK(db_open(temp->path, DB_WRITE, &from, &why));
	temp_db_staged(from, &tenant, &email);
	store_email_clear(&email);
	OK(db_exec(from,
		"INSERT INTO domain (id, company_id, name, active, policy, created_us)"
		" SELECT 'c', company_id, 'b.example', 1, 'learn', 1 FROM email",
		&why));
	OK(db_open(temp->path, DB_READ, &read, &why));
	OK(db_copy_pass(read, temp->db, &how, &texts, &copied, &why));
	OK(db_copy_pass(read, temp->db, &how, &texts, &copied, &why));
	assert_int_equal(copied.written, 0);

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		OK(db_exec(from, changes[i], &why));
	OK(db_copy_pass(read, temp->db, &how, &texts, &copied, &why));
	assert_in_range(copied.written, ARRAY_SIZE(changes), 20);
	assert_same_text(from, temp->db, sql_names);
	assert_same_text(from, temp->db, sql_subject);
	assert_same_text(from, temp->db, sql_domain);
	assert_same_text(from, temp->db, sql_seq);
	assert_same_text(from, temp->db, sql_one);
	OK(db_copy_pass(read, temp->db, &how, &texts, &copied, &why));
	assert_int_equal(copied.written, 0);
	OK(db_copy_finish(temp->db, &why));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copy, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_interrupted, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_changes, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_anew, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
