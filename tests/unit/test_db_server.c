/* db: a server that goes, hangs and comes back; statements as PostgreSQL has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/db/db_watch.h"
#include "tests/unit/item_db.h"

#define ONLY_SERVER(state)                                                                         \
	do {                                                                                       \
		if (!db_is_url(((const struct temp_db *)*(state))->name))                          \
			skip();                                                                    \
	} while (0)

static const char sql_pid[] = "SELECT pg_backend_pid()";

/* Ends the server's process of the handle, and waits until it has ended. */
static void end_process(struct db *db)
{
	temp_db_end_process((pid_t)temp_db_number(db, sql_pid));
}

static void test_idle_connection_ends(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *read = NULL;

	ONLY_SERVER(state);
	OK(db_open(temp->name, DB_READ, &read, &why));
	for (int i = 0; i < 3; i++) {
		end_process(temp->db);
		OK(item_db_add(temp->db, NULL, &why));
		end_process(temp->db);
		OK(db_begin(temp->db, &why));
		OK(item_db_add(temp->db, NULL, &why));
		OK(db_commit(temp->db, &why));
		end_process(read);
		assert_int_equal(item_db_count(read), (i + 1) * 2);
	}
}

/* What was in the transaction is lost with it, and nothing more goes in. */
static void test_connection_ends_in_transaction(void **state)
{
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	ONLY_SERVER(state);
	for (int with_commit = 0; with_commit < 2; with_commit++) {
		OK(db_begin(temp->db, &why));
		OK(item_db_add(temp->db, NULL, &why));
		end_process(temp->db);
		if (with_commit)
			assert_int_equal(db_commit(temp->db, &err), -1);
		else
			assert_int_equal(item_db_add(temp->db, NULL, &err), -1);
		assert_int_equal(err.code, ERR_TEMPORARY);
		assert_false(db_in_transaction(temp->db));
		assert_int_equal(db_unsynced(temp->db), with_commit);
	}
	assert_non_null(strstr(err.text, "no answer to COMMIT"));
	assert_int_equal(item_db_count(temp->db), 0);
}

static void test_server_hangs(void **state)
{
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;
	pid_t pid;

	ONLY_SERVER(state);
	pid = (pid_t)temp_db_number(temp->db, sql_pid);
	db_set_wait(temp->db, 0);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(item_db_add(temp->db, NULL, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_non_null(strstr(err.text, "no answer within"));
	OK(item_db_add(temp->db, NULL, &why));
	assert_int_equal(kill(pid, SIGCONT), 0);
}

/* The server of the test, behind another host, with a second for each. */
static char *behind(const char *url, const char *host)
{
	const char *at = strstr(url, "host=") + strlen("host=");

	return mem_printf("%.*s%s,%s&connect_timeout=1", (int)(at - url), url, host, at);
}

/* One that is not there costs nothing, one that takes connections and says nothing a while. */
static void test_hosts_by_turns(void **state)
{
	struct temp_db *temp = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct err err = ERR_INIT;

	ONLY_SERVER(state);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/.s.PGSQL.5432", temp->folder);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 5), 0);
	for (int i = 0; i < 2; i++) {
		const char *host = i == 0 ? "/nonexistent" : temp->folder;
		_cleanup_free_ char *url = behind(temp->name, host);
		_cleanup_(db) struct db *db = NULL;

		/* On a busy machine the server may need longer. */
		while (db_open(url, DB_WRITE, &db, &err) < 0) {
			assert_int_equal(err.code, ERR_TEMPORARY);
			assert_non_null(strstr(err.text, "no connection within 1000 ms"));
			err = ERR_INIT;
		}
		OK(item_db_add(db, NULL, &why));
	}
	close(fd);
	assert_int_equal(item_db_count(temp->db), 2);
}

/* The processes of the server for readers, which the watch is one of. */
static void signal_readers(struct db *db, int number)
{
	static const char sql_readers[] =
		"SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
		" AND query LIKE '%pg_current_snapshot()%'";
	struct db_stmt *stmt;

	OK(db_start(db, sql_readers, NULL, &stmt, &why));
	while (db_step(stmt, NULL) == 1)
		kill((pid_t)db_int(stmt, 0), number);
}

/* Stops the processes between two statements: one that is stopped within pg_current_snapshot() may
 * hold a lock that the whole server waits for. */
static void stop_readers(struct db *db)
{
	static const char sql_at_work[] =
		"SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
		" AND query LIKE '%pg_current_snapshot()%' AND state <> 'idle'";

	signal_readers(db, SIGSTOP);
	while (temp_db_number(db, sql_at_work) > 0) {
		signal_readers(db, SIGCONT);
		usleep(1000);
		signal_readers(db, SIGSTOP);
	}
}

static void wait_for_watch(struct db_watch *watch, int result)
{
	for (int i = 0; db_watch_look(watch, NULL) != result; i++) {
		assert_true(i < 60 * 1000);
		usleep(1000);
	}
}

/* The watch sees a process that hangs and one that ends, and goes on with another one. */
static void test_watch(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db_watch) struct db_watch *watch = NULL, *nowhere = NULL;
	static const char sql_watches[] =
		"SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
		" AND query LIKE '%pg_current_snapshot()%'";
	struct err err = ERR_INIT;

	ONLY_SERVER(state);
	OK(db_watch_new(temp->name, &watch, &why));
	OK(db_watch_new("postgresql:///x?host=/nonexistent", &nowhere, &why));
	assert_int_equal(db_watch_look(watch, &err), 0);
	wait_for_watch(nowhere, -1);
	assert_int_equal(db_watch_look(nowhere, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	while (temp_db_number(temp->db, sql_watches) == 0)
		usleep(1000);
	stop_readers(temp->db);
	wait_for_watch(watch, -1);
	wait_for_watch(watch, 0);
	signal_readers(temp->db, SIGCONT);
	signal_readers(temp->db, SIGTERM);
	assert_int_equal(db_watch_look(watch, NULL), 0);
}

static void test_cannot_connect(void **state)
{
	static const struct {
		const char *url;
		enum err_code code;
		const char *text;
	} cases[] = {
		{"postgresql:///x?host=/nonexistent&password=secret", ERR_TEMPORARY,
			"No such file"},
		{"postgresql://u:secret@/x?host=/nonexistent", ERR_TEMPORARY, "/nonexistent/x: "},
		{"postgresql:///x?colour=blue", ERR_CONFIG, "colour"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;
		struct db *db;

		assert_int_equal(db_open(cases[i].url, DB_READ, &db, &err), -1);
		assert_int_equal(err.code, cases[i].code);
		assert_non_null(strstr(err.text, cases[i].text));
		assert_null(strstr(err.text, "secret"));
	}
}

/* As after a failover to the wrong server. */
static void test_another_database(void **state)
{
	static const char sql_other[] =
		"UPDATE schema_migration SET applied_us = 77 WHERE version = 1";
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	ONLY_SERVER(state);
	assert_int_equal(db_change(temp->db, sql_other, NULL, NULL), 1);
	end_process(temp->db);
	assert_int_equal(item_db_add(temp->db, NULL, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_non_null(strstr(err.text, "another database than before"));
}

static void test_failed_statement(void **state)
{
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	ONLY_SERVER(state);
	OK(db_begin(temp->db, &why));
	OK(item_db_add(temp->db, "a", &why));
	OK(db_savepoint(temp->db, &why));
	OK(db_savepoint(temp->db, &why));
	assert_int_equal(item_db_add(temp->db, "a", &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	/* What follows says why nothing more can be done. */
	err = ERR_INIT;
	assert_int_equal(item_db_add(temp->db, "b", &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	db_undo(temp->db);
	OK(item_db_add(temp->db, "b", &why));
	OK(db_release(temp->db, &why));
	OK(db_commit(temp->db, &why));
	assert_int_equal(item_db_count(temp->db), 2);

	OK(db_begin(temp->db, &why));
	OK(item_db_add(temp->db, "c", &why));
	assert_int_equal(item_db_add(temp->db, "a", NULL), -1);
	assert_int_equal(db_commit(temp->db, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_int_equal(item_db_count(temp->db), 2);
}

static void test_texts(void **state)
{
	static const char sql_join[] =
		"SELECT count(*) FROM item AS a INDEXED BY item_by_name CROSS JOIN item b INDEXED BY item_by_name "
		"ON b.id = a.id CROSS JOIN (SELECT 1) AS one WHERE $x = a.name AND a.name <> '$x' AND a.name = "
		"$x AND +b.name = $y COLLATE NOCASE LIMIT -1 OFFSET 0";
	static const char sql_bytes[] = "INSERT INTO item (name) VALUES ($name)";
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;
	struct db_stmt *stmt;

	ONLY_SERVER(state);
	OK(item_db_add(temp->db, "a", &why));
	OK(db_start(temp->db, sql_join, DB_PARAMS(DB_TEXT("$x", "a"), DB_TEXT("$y", "A")), &stmt,
		&why));
	assert_int_equal(db_columns(stmt), 1);
	assert_string_equal(db_column_name(stmt, 0), "count");
	assert_int_equal(db_step(stmt, NULL), 1);
	assert_int_equal(db_int(stmt, 0), 1);
	assert_int_equal(db_step(stmt, NULL), 0);
	assert_int_equal(
		db_change(temp->db, sql_bytes, DB_PARAMS(DB_TEXT("$name", "gr\xfc\xdf")), &err),
		-1);
	assert_int_equal(err.code, ERR_INVALID);
}

static const char sql_named[] = "SELECT id FROM item WHERE name = $name";
static const char sql_all[] = "SELECT count(*) FROM item";

static void announce_name(struct db *db, const char *name)
{
	db_read_ahead(db, sql_named, DB_PARAMS(DB_TEXT("$name", name)));
}

/* Returns 1 if there is an item with the name, else 0. */
static int has_name(struct db *db, const char *name)
{
	struct db_stmt *stmt;
	int result;

	OK(db_start(db, sql_named, DB_PARAMS(DB_TEXT("$name", name)), &stmt, &why));
	result = db_step(stmt, NULL);
	if (result == 1)
		db_reset(stmt);
	return result;
}

/* All that was announced is read at the first step, so it does not see what is added after that. A
 * connection that ends meanwhile costs only the announcements. */
static void test_read_ahead(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *read = NULL;

	ONLY_SERVER(state);
	OK(item_db_add(temp->db, "a", &why));
	OK(db_open(temp->name, DB_READ, &read, &why));
	for (int ends = 0; ends < 2; ends++) {
		const char *added = ends ? "c" : "b";
		pid_t pid = (pid_t)temp_db_number(read, sql_pid);

		announce_name(read, "a");
		announce_name(read, added);
		db_read_ahead(read, sql_all, NULL);
		announce_name(read, NULL);
		announce_name(read, "never asked for");
		if (ends)
			temp_db_end_process(pid);
		assert_int_equal(has_name(read, "a"), 1);
		OK(item_db_add(temp->db, added, &why));
		assert_int_equal(has_name(read, added), ends);
		assert_int_equal(temp_db_number(read, sql_all), ends ? 3 : 1);
		/* Each announcement counts once, for its own values. */
		assert_int_equal(has_name(read, added), 1);
		assert_int_equal(has_name(read, NULL), 0);
		db_end_ahead(read);
		assert_int_equal(has_name(read, added), 1);
	}
}

/* What fails keeps the others from nothing, and fails again when it is stepped. */
static void test_read_ahead_fails(void **state)
{
	static const char sql_quotient[] = "SELECT 1 / $divisor";
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;
	struct db_stmt *stmt;

	ONLY_SERVER(state);
	OK(item_db_add(temp->db, "a", &why));
	for (int i = 0; i < 2; i++) {
		announce_name(temp->db, "a");
		db_read_ahead(temp->db, sql_quotient, DB_PARAMS(DB_INT("$divisor", 0)));
		db_read_ahead(temp->db, sql_all, NULL);
		assert_int_equal(has_name(temp->db, "a"), 1);
		OK(db_start(temp->db, sql_quotient, DB_PARAMS(DB_INT("$divisor", 0)), &stmt, &why));
		assert_int_equal(db_step(stmt, &err), -1);
		assert_non_null(strstr(err.text, "division by zero"));
		assert_int_equal(temp_db_number(temp->db, sql_all), 1);
		db_end_ahead(temp->db);
	}
}

/* In a transaction the announced rows come after what was posted before, and what fails, be it what
 * was posted, fails the transaction. */
static void test_read_ahead_inside(void **state)
{
	static const char sql_add[] = "INSERT INTO item (id, name) VALUES ($id, $name)";
	struct temp_db *temp = *state;

	ONLY_SERVER(state);
	OK(item_db_add(temp->db, "a", &why));
	for (int fails = 0; fails < 2; fails++) {
		OK(db_begin(temp->db, &why));
		if (fails == 0)
			announce_name(temp->db, "a");
		assert_int_equal(fails ? 1 : has_name(temp->db, "a"), 1);
		db_end_ahead(temp->db);
		OK(db_post(temp->db, sql_add,
			DB_PARAMS(DB_INT("$id", 100), DB_TEXT("$name", "posted")), &why));
		announce_name(temp->db, "posted");
		db_read_ahead(temp->db, sql_all, NULL);
		assert_int_equal(has_name(temp->db, "posted"), fails ? -1 : 1);
		if (fails == 0)
			assert_int_equal(temp_db_number(temp->db, sql_all), 2);
		db_end_ahead(temp->db);
		if (fails) {
			assert_false(db_in_transaction(temp->db));
			db_rollback(temp->db);
		} else {
			OK(db_commit(temp->db, &why));
		}
	}
	assert_int_equal(temp_db_number(temp->db, sql_all), 2);
}

static void test_read_ahead_hangs(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *read = NULL;
	struct err err = ERR_INIT;
	struct db_stmt *stmt;
	pid_t pid;

	ONLY_SERVER(state);
	OK(db_open(temp->name, DB_READ, &read, &why));
	pid = (pid_t)temp_db_number(read, sql_pid);
	db_set_wait(read, 0);
	announce_name(read, "a");
	db_read_ahead(read, sql_all, NULL);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	OK(db_start(read, sql_named, DB_PARAMS(DB_TEXT("$name", "a")), &stmt, &why));
	assert_int_equal(db_step(stmt, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_non_null(strstr(err.text, "no answer within"));
	db_end_ahead(read);
	assert_int_equal(kill(pid, SIGCONT), 0);
}

/* The server plans a statement for a few rows five times, and then keeps the plan. */
static void test_post_rows_keep_plan(void **state)
{
	static const char sql_count[] = "UPDATE item SET count = $count WHERE id = $id";
	static const char sql_plans[] =
		"SELECT custom_plans FROM pg_prepared_statements WHERE statement LIKE 'UPDATE item%'";
	struct temp_db *temp = *state;
	struct db_rows rows = {0};

	ONLY_SERVER(state);
	OK(db_exec(temp->db,
		"INSERT INTO item (name) SELECT CAST(n AS text) FROM generate_series(1, 10000) n;"
		"ANALYZE item",
		&why));
	for (int64_t id = 1; id <= 3; id++)
		db_rows_add(&rows, DB_PARAMS(DB_INT("$id", id), DB_INT("$count", id)));
	for (int i = 0; i < 10; i++) {
		OK(db_begin(temp->db, &why));
		OK(db_post_rows(temp->db, sql_count, &rows, &why));
		OK(db_commit(temp->db, &why));
	}
	assert_int_equal(temp_db_number(temp->db, sql_plans), 5);
	free(rows.items);
}

/* Who writes looks rows up by an index, also while there are few. */
static void test_few_rows_by_index(void **state)
{
	static const char sql_plan[] = "EXPLAIN SELECT name FROM item WHERE id = 1";
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *writer = NULL;
	_cleanup_free_ char *plan = NULL;

	ONLY_SERVER(state);
	OK(db_exec(temp->db, "INSERT INTO item (name) VALUES ('a'); ANALYZE item", &why));
	OK(db_open(temp->name, DB_WRITE, &writer, &why));
	plan = temp_db_text(writer, sql_plan);
	assert_non_null(strstr(plan, "Index Scan"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, item_db_setup, temp_db_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(idle_connection_ends),
		TEST(connection_ends_in_transaction),
		TEST(server_hangs),
		TEST(hosts_by_turns),
		TEST(watch),
		TEST(cannot_connect),
		TEST(another_database),
		TEST(failed_statement),
		TEST(texts),
		TEST(read_ahead),
		TEST(read_ahead_fails),
		TEST(read_ahead_inside),
		TEST(read_ahead_hangs),
		TEST(post_rows_keep_plan),
		TEST(few_rows_by_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
