/*
 * db: the database as a whole: its version, copies, checks, damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/item_db.h"

static void test_version(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *read = NULL;
	int64_t first, same, other;
	int tries = 0;

	OK(db_open(temp->name, DB_READ, &read, &why));
	/* A server counts the transactions of other databases as well, those of other tests. */
	do {
		OK(db_version(read, &first, &why));
		OK(db_version(read, &same, &why));
	} while (first != same && ++tries < 1000);
	assert_true(first == same);
	OK(item_db_add(temp->db, "a", &why));
	OK(db_version(read, &other, &why));
	assert_true(first != other);
}

static void test_backup(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	_cleanup_free_ char *path = temp_db_file(temp, "copy.db");
	_cleanup_free_ char *nowhere = temp_db_file(temp, "none/copy.db");
	_cleanup_(db) struct db *copy = NULL;
	struct err err = ERR_INIT;
	struct stat info;

	OK(item_db_add(temp->db, "a", &why));
	OK(db_backup(temp->db, path, &why));
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
	assert_int_equal(db_backup(temp->db, path, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_int_equal(db_backup(temp->db, nowhere, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);

	OK(item_db_add(temp->db, "b", &why));
	OK(db_open(path, DB_WRITE, &copy, &why));
	OK(db_check(copy, &why));
	assert_int_equal(item_db_count(copy), 1);
	OK(item_db_add(copy, "c", &why));
}

static void test_backup_while_another_writes(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	_cleanup_free_ char *path = temp_db_file(temp, "copy.db");
	_cleanup_(db) struct db *read = NULL, *copy = NULL;

	OK(db_open(temp->name, DB_READ, &read, &why));
	db_set_wait(read, 0);
	OK(item_db_add(temp->db, "a", &why));
	OK(db_begin(temp->db, &why));
	OK(item_db_add(temp->db, "b", &why));
	OK(db_backup(read, path, &why));
	OK(db_commit(temp->db, &why));
	OK(db_open(path, DB_READ, &copy, &why));
	assert_int_equal(item_db_count(copy), 1);
}

static void test_check_references(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	OK(db_check(temp->db, &why));
	OK(db_exec(temp->db, "PRAGMA foreign_keys=OFF", &why));
	OK(db_exec(temp->db, "INSERT INTO item (parent) VALUES (7)", &why));
	assert_int_equal(db_check(temp->db, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.text, "item"));
}

/* Overwrites a page. */
static void damage(const char *path, int64_t page)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char noise[4096];

	assert_true(page > 1);
	memset(noise, 0xa5, sizeof(noise));
	assert_int_equal(pwrite(fd, noise, sizeof(noise), (page - 1) * 4096), sizeof(noise));
	close(fd);
}

static void test_damaged(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *db = NULL;
	struct err err = ERR_INIT;
	int64_t page;

	OK(item_db_add(temp->db, "a", &why));
	page = temp_db_number(temp->db, "SELECT rootpage FROM sqlite_schema WHERE name = 'item'");
	db_close(TAKE_PTR(temp->db));
	damage(temp->path, page);
	OK(db_open(temp->name, DB_READ, &db, &why));
	assert_int_equal(db_check(db, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.text, temp->path));

	err = ERR_INIT;
	db_close(TAKE_PTR(db));
	OK(db_open(temp->name, DB_WRITE, &db, &why));
	assert_int_equal(item_db_add(db, "b", &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
}

static void remove_beside(const struct temp_db *temp, const char *suffix)
{
	_cleanup_free_ char *path = mem_printf("%s%s", temp->path, suffix);

	assert_int_equal(unlink(path), 0);
}

/* What lies beside a database in use is removed, as temporary files are: what was committed is in
 * the database then, and nothing more is committed by a handle whose log nobody else can read. */
static void check_without(struct temp_db *temp, const char *const suffixes[], size_t n)
{
	_cleanup_(db) struct db *other = NULL, *after = NULL;
	struct err err = ERR_INIT;

	OK(db_open(temp->name, DB_WRITE, &other, &why));
	OK(item_db_add(other, "a", &why));
	for (size_t i = 0; i < n; i++)
		remove_beside(temp, suffixes[i]);
	for (int times = 0; times < 2; times++) {
		assert_int_equal(db_begin(temp->db, &err), -1);
		assert_int_equal(err.code, ERR_TEMPORARY);
		assert_non_null(strstr(err.text, suffixes[0]));
		assert_false(db_in_transaction(temp->db));
	}
	OK(db_open(temp->name, DB_WRITE, &after, &why));
	assert_int_equal(item_db_count(after), 1);
	assert_int_equal(db_begin(other, &err), -1);
	db_close(TAKE_PTR(other));
	db_close(TAKE_PTR(temp->db));
	OK(item_db_add(after, "b", &why));
	OK(db_check(after, &why));
	assert_int_equal(item_db_count(after), 2);
}

static void test_without_its_log(void **state)
{
	ONLY_SQLITE(state);
	check_without(*state, (const char *const[]){"-wal"}, 1);
}

static void test_without_the_index_of_its_log(void **state)
{
	ONLY_SQLITE(state);
	check_without(*state, (const char *const[]){"-shm"}, 1);
}

static void test_without_both(void **state)
{
	ONLY_SQLITE(state);
	check_without(*state, (const char *const[]){"-wal", "-shm"}, 2);
}

/* A daemon: a process of its own that commits an item, then commits or tries to commit another one
 * for each byte from its standard input, and answers each with the result. */
struct daemon {
	pid_t pid;
	int in, out;
};

static void run_daemon(const char *name, int in, int out)
{
	struct db *db;
	struct err err = ERR_INIT;
	char byte;

	if (db_open(name, DB_WRITE, &db, &err) != 0)
		_exit(1);
	for (int n = 0; read(in, &byte, 1) == 1; n++) {
		char item[] = {(char)('a' + n), '\0'};

		byte = item_db_add(db, item, &err) == 0                        ? '+'
		       : err.code == ERR_TEMPORARY && strstr(err.text, "-wal") ? '-'
									       : '?';
		if (write(out, &byte, 1) != 1)
			break;
	}
	db_close(db);
	_exit(0);
}

static char ask(const struct daemon *daemon)
{
	char byte = '.';

	assert_int_equal(write(daemon->in, &byte, 1), 1);
	assert_int_equal(read(daemon->out, &byte, 1), 1);
	return byte;
}

/* SQLite's state does not survive a fork(), so the handle of the test is closed before it. */
static struct daemon start_daemon(struct temp_db *temp)
{
	int in[2], out[2];
	struct daemon daemon;

	db_close(TAKE_PTR(temp->db));
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	daemon = (struct daemon){.pid = fork(), .in = in[1], .out = out[0]};
	if (daemon.pid == 0) {
		close(in[1]);
		run_daemon(temp->name, in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	assert_int_equal(ask(&daemon), '+');
	return daemon;
}

static void stop_daemon(struct daemon *daemon)
{
	int status;

	close(daemon->in);
	close(daemon->out);
	assert_int_equal(waitpid(daemon->pid, &status, 0), daemon->pid);
	assert_int_equal(status, 0);
}

static void check_refused(const struct temp_db *temp, enum db_mode mode)
{
	struct db *db;
	struct err err = ERR_INIT;

	assert_int_equal(db_open(temp->name, mode, &db, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_non_null(strstr(err.text, "-wal"));
}

static void check_count(const struct temp_db *temp, int n)
{
	_cleanup_(db) struct db *db = NULL;

	OK(db_open(temp->name, DB_READ, &db, &why));
	assert_int_equal(item_db_count(db), n);
}

/* Whoever opens the database makes a new log. So nobody may while a daemon has what is in no file
 * with a name. Once the daemon has found that, and has written it into the database, it is safe. */
static void test_opened_without_its_log(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	struct daemon daemon = start_daemon(temp);

	remove_beside(temp, "-wal");
	check_refused(temp, DB_READ);
	assert_int_equal(ask(&daemon), '-');
	check_count(temp, 1);
	assert_int_equal(ask(&daemon), '-');
	stop_daemon(&daemon);
	check_count(temp, 1);
}

/* The last one that closes the database writes all of its log into it, with a name or without. */
static void test_closed_without_its_log(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	struct daemon daemon = start_daemon(temp);

	remove_beside(temp, "-wal");
	remove_beside(temp, "-shm");
	check_refused(temp, DB_WRITE);
	stop_daemon(&daemon);
	check_count(temp, 1);
}

/* Another process has made new files: these are its own. */
static void test_its_log_is_replaced(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	_cleanup_free_ char *log = mem_printf("%s-wal", temp->path);
	_cleanup_free_ char *aside = mem_printf("%s-aside", temp->path);
	struct err err = ERR_INIT;

	OK(item_db_add(temp->db, "a", &why));
	assert_int_equal(rename(log, aside), 0);
	assert_int_equal(close(creat(log, 0600)), 0);
	assert_int_equal(db_begin(temp->db, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_int_equal(rename(aside, log), 0);
	OK(item_db_add(temp->db, "b", &why));
	OK(db_begin(temp->db, &why));
	OK(db_commit(temp->db, &why));
	assert_int_equal(item_db_count(temp->db), 2);
}

struct waiting {
	struct db *db;
	struct err err;
	int result;
};

static void *begin(void *arg)
{
	struct waiting *waiting = arg;

	waiting->result = db_begin(waiting->db, &waiting->err);
	return NULL;
}

/* Whoever waited for the lock meanwhile writes nothing into it either. */
static void test_log_is_removed_while_one_waits(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	struct waiting waiting = {0};
	pthread_t thread;

	OK(db_open(temp->name, DB_WRITE, &waiting.db, &why));
	OK(item_db_add(temp->db, "a", &why));
	OK(db_begin(temp->db, &why));
	assert_int_equal(pthread_create(&thread, NULL, begin, &waiting), 0);
	usleep(100000); /* it looks at the files, and waits */
	remove_beside(temp, "-wal");
	OK(db_commit(temp->db, &why));
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(waiting.result, -1);
	assert_int_equal(waiting.err.code, ERR_TEMPORARY);
	db_close(waiting.db);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, item_db_setup, temp_db_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(version),
		TEST(backup),
		TEST(backup_while_another_writes),
		TEST(check_references),
		TEST(damaged),
		TEST(without_its_log),
		TEST(without_the_index_of_its_log),
		TEST(without_both),
		TEST(opened_without_its_log),
		TEST(closed_without_its_log),
		TEST(its_log_is_replaced),
		TEST(log_is_removed_while_one_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
