/*
 * migrate: the schema of this program, and lists of migrations made up here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/db/migrate.h"
#include "tests/unit/temp_db.h"

static const char sql_names[] =
	"SELECT group_concat(name) FROM"
	" (SELECT name FROM schema_migration ORDER BY version)";

static struct db *open_empty(void **state)
{
	struct temp_db *temp = *state;

	OK(db_open(temp->name, DB_CREATE, &temp->db, &why));
	return temp->db;
}

static void test_fresh(void **state)
{
	struct db *db = open_empty(state);
	int version = -1, applied = -1;

	OK(migrate_version(db, &version, &why));
	assert_int_equal(version, 0);
	OK(temp_db_migrate(db, 77, &applied, &why));
	assert_int_equal(applied, migrations_n);
	OK(migrate_version(db, &version, &why));
	assert_int_equal(version, migrations_n);
	OK(migrate_check(db, &why));
	OK(db_check(db, &why));
	assert_int_equal(temp_db_number(db, "SELECT applied_us FROM schema_migration"), 77);

	OK(temp_db_migrate(db, 78, &applied, &why));
	assert_int_equal(applied, 0);
}

static void test_numbers(void **state)
{
	(void)state;
	assert_true(migrations_n >= 1);
	for (int i = 0; i < migrations_n; i++)
		assert_int_equal(migrations[i].version, i + 1);
}

/* What is embedded is what stands in the file. The tests run in the root of
 * the tree. */
static void test_embedded(void **state)
{
	(void)state;
	for (int i = 0; i < migrations_n; i++) {
		_cleanup_free_ char *path = mem_printf("schema/%s.sql", migrations[i].name);
		_cleanup_buf_ struct buf text = BUF_INIT;
		FILE *file = fopen(path, "r");

		if (file == NULL)
			fail_msg("%s: cannot be read", path);
		for (int c; (c = fgetc(file)) != EOF;)
			buf_add_char(&text, (char)c);
		fclose(file);
		assert_string_equal(migrations[i].sql, buf_str(&text));
	}
}

static const struct migration one_two[] = {
	{1, "0001_one", "CREATE TABLE one (id INTEGER);", NULL},
	{2, "0002_two",
		"CREATE TABLE two (id INTEGER);"
		"INSERT INTO two VALUES (2);",
		NULL},
};
static const struct migrate_list list_one = {one_two, 1, NULL};
static const struct migrate_list list_two = {one_two, 2, NULL};
static const struct migration others[] = {
	{1, "0001_other", "CREATE TABLE one (id INTEGER);", NULL},
	{2, "0002_two", "CREATE TABLE two (id INTEGER);", NULL},
};
static const struct migrate_list list_other = {others, 2, NULL};

static void test_step_by_step(void **state)
{
	struct db *db = open_empty(state);
	_cleanup_free_ char *names = NULL;
	int applied;

	OK(migrate_run_list(db, &list_one, 1, &applied, &why));
	assert_int_equal(applied, 1);
	OK(migrate_run_list(db, &list_two, 2, &applied, &why));
	assert_int_equal(applied, 1);
	names = temp_db_text(db, sql_names);
	assert_string_equal(names, "0001_one,0002_two");
	assert_int_equal(temp_db_number(db, "SELECT id FROM two"), 2);
}

static char told[128];

static void note_progress(const char *name, size_t done, size_t all)
{
	size_t len = strlen(told);

	snprintf(told + len, sizeof(told) - len, "%zu/%zu %s;", done, all, name ? name : "end");
}

/* A database with rows is told what is done to it before it is done. */
static void test_progress(void **state)
{
	const struct migrate_list both = {one_two, 2, note_progress};
	struct db *db = open_empty(state);
	int applied;

	told[0] = '\0';
	OK(migrate_run_list(db, &list_one, 1, &applied, &why));
	OK(migrate_run_list(db, &both, 1, &applied, &why));
	assert_string_equal(told, "0/1 0002_two;1/1 end;");
	OK(migrate_run_list(db, &both, 1, &applied, &why));
	assert_string_equal(told, "0/1 0002_two;1/1 end;");
}

/* The lists of mailboxes of 0001 become rows in 0003. */
static void test_recipients(void **state)
{
	static const char sql_email[] =
		"INSERT INTO email (id, ticket, company_id, key_id, domain,"
		" sender, header_from, header_to, header_cc, bcc, reply_to,"
		" subject, message_id, created_us) VALUES"
		" ('a', 'a', '', '', '', '', '', 'a@x.test', '', '', '', '',"
		" '', 1),"
		" ('b', 'b', '', '', '', '', '', 'B <b@x.test>' || char(10) ||"
		" '\"x <y\" <c@x.test>', 'a@x.test', 'D <b@x.test>' ||"
		" char(10) || '\"q <u\"@x.test', '', '', '', 1)";
	static const char sql_rows[] =
		"SELECT group_concat(row, char(10)) FROM (SELECT"
		" format('%s/%d %s %s %s %s', e.id, n, kind, address,"
		" coalesce(mailbox, '-'), coalesce(r.state, '-')) AS row"
		" FROM email_recipient r JOIN email e ON e.seq = r.email"
		" ORDER BY e.id, n)";
	const struct migrate_list first = {migrations, 2, NULL};
	struct db *db = open_empty(state);
	_cleanup_free_ char *rows = NULL;
	int applied;

	OK(migrate_run_list(db, &first, 1, &applied, &why));
	OK(db_exec(db, sql_email, &why));
	OK(temp_db_migrate(db, 2, &applied, &why));
	rows = temp_db_text(db, sql_rows);
	assert_string_equal(rows,
		"a/0 to a@x.test - queued\n"
		"b/0 to b@x.test B <b@x.test> queued\n"
		"b/1 to c@x.test \"x <y\" <c@x.test> queued\n"
		"b/2 cc a@x.test - queued\n"
		"b/3 bcc b@x.test D <b@x.test> -\n"
		"b/4 bcc \"q <u\"@x.test - queued");
	OK(db_check(db, &why));
}

/* 0012 closes tests, and what was sent before anybody read the log. */
static void test_closed(void **state)
{
	static const char sql_emails[] =
		"INSERT INTO email (seq, id, ticket, company_id, key_id, "
		"domain,"
		" sender, header_from, reply_to, subject, message_id,"
		" created_us, state, queue_id, last_event)"
		" SELECT value, value, value, '', '', '', '', '', '', '', '', "
		"1,"
		" iif(value = 5, 'staged', 'sent'), iif(value = 4, '', '4X'),"
		" iif(value = 5, NULL, iif(value = 3, 'delivered', 'sent'))"
		" FROM json_each('[1, 2, 3, 4, 5]');"
		"INSERT INTO email_recipient (email, n, kind, address, state)"
		" VALUES (1, 0, 'to', 'a@x.test', 'unknown'),"
		" (2, 0, 'to', 'a@x.test', 'unknown'),"
		" (2, 1, 'to', 'b@x.test', 'handed_on'),"
		" (3, 0, 'to', 'a@x.test', 'delivered'),"
		" (4, 0, 'to', 'a@x.test', 'queued'),"
		" (5, 0, 'to', 'a@x.test', 'queued')";
	static const char sql_closed[] =
		"SELECT group_concat(seq, ' ') FROM email WHERE closed = 1";
	static const char sql_open[] =
		"SELECT group_concat(seq, ' ') FROM email INDEXED BY email_open"
		" WHERE last_event IN ('sent', 'delivery_delayed')"
		" AND closed = 0";
	const struct migrate_list before = {migrations, 11, NULL};
	struct db *db = open_empty(state);
	_cleanup_free_ char *closed = NULL, *open = NULL;
	int applied;

	OK(migrate_run_list(db, &before, 1, &applied, &why));
	OK(db_exec(db, sql_emails, &why));
	OK(temp_db_migrate(db, 2, &applied, &why));
	closed = temp_db_text(db, sql_closed);
	assert_string_equal(closed, "1 4");
	open = temp_db_text(db, sql_open);
	assert_string_equal(open, "2");
	OK(db_check(db, &why));
}

/* What 0018 makes of each kind of row of before: the leaves of the emails that
 * are still in the queue, as far as they are more than the recipients. */
static void test_deliveries(void **state)
{
	static const char sql_rows[] =
		"INSERT INTO email (seq, id, ticket, company_id, key_id, "
		"domain,"
		" sender, header_from, reply_to, subject, message_id,"
		" created_us, state, queue_id, last_event, closed)"
		" SELECT value, value, value, '', '', '', '', '', '', '', '', "
		"1, 'sent', value || 'X', 'sent', 0"
		" FROM json_each('[1, 2, 3, 4]');"
		/* plain; an alias; a filter; of the past */
		"INSERT INTO hop (queue_id, since_us, email, how, parent, n,"
		" closed_us) VALUES ('1X', 5, 1, 'milter', NULL, -1, 0),"
		" ('2X', 5, 2, 'milter', NULL, -1, 0),"
		" ('3X', 5, 3, 'milter', NULL, -1, 9),"
		" ('3Y', 6, 3, 'message_id', '3X', -1, 0),"
		" ('4X', 5, 4, 'milter', NULL, -1, 9);"
		"INSERT INTO email_recipient (email, n, kind, address, state)"
		" VALUES (1, 0, 'to', 'a@x', 'deferred'),"
		" (2, 0, 'to', 'team@x', 'deferred'),"
		" (3, 0, 'to', 'a@x', 'handed_on'),"
		" (3, 1, 'to', 'b@x', 'bounced'),"
		" (4, 0, 'to', 'team@x', 'delivered');"
		"INSERT INTO event (email, n, kind, occurred_us, recorded_us,"
		" key, address, domain, attempt, source) VALUES"
		" (1, 0, 'deferred', 7, 7, randomblob(16), NULL, '', 1, 'log'),"
		" (2, 0, 'deferred', 7, 7, randomblob(16), 'm@x', '', 1, "
		"'log'),"
		" (2, 0, 'delivered', 8, 8, randomblob(16), 'm@x', '', 1, "
		"'log'),"
		" (2, 0, 'deferred', 8, 8, randomblob(16), 'n@x', '', 1, "
		"'log'),"
		" (3, 0, 'handed_on', 7, 7, randomblob(16), NULL, '', 1, "
		"'log'),"
		" (3, 1, 'handed_on', 7, 7, randomblob(16), NULL, '', 1, "
		"'log'),"
		" (4, 0, 'delivered', 7, 7, randomblob(16), 'm@x', '', 1, "
		"'log')";
	static const char sql_leaves[] =
		"SELECT group_concat(row, char(10)) FROM (SELECT"
		" format('%s %s %s %s %s', queue_id, address, orig_to, state,"
		" via) AS row FROM delivery ORDER BY email, queue_id, address)";
	const struct migrate_list before = {migrations, 12, NULL};
	struct db *db = open_empty(state);
	_cleanup_free_ char *rows = NULL;
	int applied;

	OK(migrate_run_list(db, &before, 1, &applied, &why));
	OK(db_exec(db, sql_rows, &why));
	OK(temp_db_migrate(db, 2, &applied, &why));
	rows = temp_db_text(db, sql_leaves);
	assert_string_equal(rows,
		"2X m@x team@x delivered final\n"
		"2X n@x team@x deferred final\n"
		" b@x  bounced final\n"
		"3X a@x  handed_on filter\n"
		"3X b@x  handed_on filter");
	OK(db_check(db, &why));
}

static void test_check(void **state)
{
	static const struct {
		const struct migrate_list *has, *wants;
		const char *text; /* NULL: fits */
	} cases[] = {
		{NULL, &list_one, "postern db migrate"},
		{&list_one, &list_one, NULL},
		{&list_one, &list_two, "postern db migrate"},
		{&list_two, &list_one, "newer"},
		{&list_two, &list_other, "0001_one"},
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct db *db = open_empty(state);
		struct err err = ERR_INIT;
		int applied;

		if (cases[i].has)
			OK(migrate_run_list(db, cases[i].has, 1, &applied, &why));
		assert_int_equal(
			migrate_check_list(db, cases[i].wants, &err), cases[i].text ? -1 : 0);
		if (cases[i].text) {
			assert_int_equal(err.code, ERR_CONFIG);
			assert_non_null(strstr(err.text, cases[i].text));
		}
		db_close(TAKE_PTR(temp->db));
		unlink(temp->path);
	}
}

/* What is newer or another's is left alone. */
static void test_run_refuses(void **state)
{
	struct db *db = open_empty(state);
	struct err err = ERR_INIT;
	int applied = 7;

	OK(migrate_run_list(db, &list_two, 1, &applied, &why));
	assert_int_equal(migrate_run_list(db, &list_one, 1, &applied, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_int_equal(migrate_run_list(db, &list_other, 1, &applied, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	OK(migrate_check_list(db, &list_two, &why));
}

/* The database of another program is left as it is. */
static void test_strange_database(void **state)
{
	static const char sql_made[] = "CREATE TABLE accounts (id INTEGER)";
	struct db *db = open_empty(state);
	struct err err = ERR_INIT;
	int applied;

	OK(db_exec(db, sql_made, &why));
	assert_int_equal(temp_db_migrate(db, 1, &applied, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.text, "another program"));
	err = ERR_INIT;
	assert_int_equal(migrate_check(db, &err), -1);
	assert_non_null(strstr(err.text, "another program"));
	assert_int_equal(temp_db_number(db, "SELECT count(*) FROM sqlite_schema"), 1);
}

static void test_all_or_nothing(void **state)
{
	static const struct migration broken[] = {
		{1, "0001_one", "CREATE TABLE one (id INTEGER);", NULL},
		{2, "0002_broken",
			"CREATE TABLE two (id INTEGER);"
			"CREATE TABLE one (id INTEGER);",
			NULL},
	};
	const struct migrate_list list = {broken, 2, NULL};
	struct db *db = open_empty(state);
	struct err err = ERR_INIT;
	int version = -1, applied = 7;

	assert_int_equal(migrate_run_list(db, &list, 1, &applied, &err), -1);
	assert_non_null(strstr(err.text, "0002_broken"));
	assert_int_equal(applied, 7);
	assert_false(db_in_transaction(db));
	OK(migrate_version(db, &version, &why));
	assert_int_equal(version, 0);
	assert_int_equal(temp_db_number(db, "SELECT count(*) FROM sqlite_schema"), 0);
}

static int migrate_there(void *path)
{
	_cleanup_(db) struct db *db = NULL;
	int applied;

	if (db_open(path, DB_CREATE, &db, NULL) != 0)
		return 1;
	db_set_wait(db, 60 * 1000); /* on a busy machine the others may take long */
	return temp_db_migrate(db, 1, &applied, NULL) == 0 ? 0 : 2;
}

/* On a database that none of them finds there yet. */
static void test_many_at_once(void **state)
{
	enum { ROUNDS = 12, CHILDREN = 3 };
	struct temp_db *temp = *state;

	for (int i = 0; i < ROUNDS; i++) {
		int status;

		for (int c = 0; c < CHILDREN; c++)
			if (fork() == 0)
				_exit(migrate_there(temp->path));
		for (int c = 0; c < CHILDREN; c++) {
			assert_true(wait(&status) > 0);
			assert_int_equal(status, 0);
		}
		OK(migrate_check(open_empty(state), &why));
		db_close(TAKE_PTR(temp->db));
		unlink(temp->path);
	}
}

static void add_file(
	const struct temp_db *temp, const char *name, const char *content, struct buf *command)
{
	_cleanup_free_ char *path = temp_db_file(temp, name);
	FILE *file = fopen(path, "w");

	fputs(content, file);
	fclose(file);
	buf_printf(command, " %s", path);
}

/* tools/embed_schema, which runs at build time. */
static void test_embed_faults(void **state)
{
	static const struct {
		const char *names[3];
		const char *content;
		const char *says; /* NULL: nothing is wrong */
	} cases[] = {
		{{"0001_a.sql", "0002_b.sql"}, "x;\n", NULL},
		{{"0002_a.sql"}, "x;\n", "its number should be 1"},
		{{"0001_a.sql", "0003_b.sql"}, "x;\n", "should be 2"},
		{{"0001_a.sql", "0001_b.sql"}, "x;\n", "should be 2"},
		{{"1_a.sql"}, "x;\n", "is not named"},
		{{"0001_a.txt"}, "x;\n", "is not named"},
		{{"0001_a.sql"}, "", "is empty"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf command = BUF_INIT;
		char output[4096] = "";
		FILE *pipe;

		buf_add_str(&command, "tools/embed_schema");
		for (int f = 0; cases[i].names[f]; f++)
			add_file(*state, cases[i].names[f], cases[i].content, &command);
		buf_add_str(&command, " 2>&1");
		pipe = popen(buf_str(&command), "r");
		assert_non_null(pipe);
		output[fread(output, 1, sizeof(output) - 1, pipe)] = '\0';
		if (cases[i].says) {
			assert_int_not_equal(pclose(pipe), 0);
			assert_non_null(strstr(output, cases[i].says));
		} else {
			assert_int_equal(pclose(pipe), 0);
			assert_non_null(strstr(output, "migrations_n = 2;"));
		}
	}
}

static void test_embed_quotes(void **state)
{
	_cleanup_buf_ struct buf command = BUF_INIT;
	char output[4096] = "";
	FILE *pipe;

	buf_add_str(&command, "tools/embed_schema");
	add_file(*state, "0001_a.sql", "-- a \"b\"\tc\\d & e\n", &command);
	pipe = popen(buf_str(&command), "r");
	assert_non_null(pipe);
	output[fread(output, 1, sizeof(output) - 1, pipe)] = '\0';
	assert_int_equal(pclose(pipe), 0);
	assert_non_null(strstr(output, "\"-- a \\\"b\\\"\\tc\\\\d & e\\n\""));
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(test_##name, temp_db_setup_folder, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(fresh),
		TEST(numbers),
		TEST(embedded),
		TEST(progress),
		TEST(step_by_step),
		TEST(recipients),
		TEST(closed),
		TEST(deliveries),
		TEST(check),
		TEST(run_refuses),
		TEST(strange_database),
		TEST(all_or_nothing),
		TEST(many_at_once),
		TEST(embed_faults),
		TEST(embed_quotes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
