/* db_rights: what an admin is told whose database cannot be used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/db/db_file.h"
#include "temp_db.h"

enum { DAEMON = 1, NOBODY = 65534, NAMELESS = 3999999 };

/* All is nobody's but what is named; "" is the folder. */
static const struct {
	const char *name;
	uid_t owner;
	mode_t mode;
	const char *says;
	const char *mend; /* followed by the path; NULL: no command */
} cases[] = {
	{"db", 0, 0640,
		"the user nobody may not read and write the database; it belongs to root, with "
		"mode 0640: ",
		"run this as root, or `chown nobody"},
	{"db", NAMELESS, 0444, "belongs to 3999999, with mode 0444",
		"run this as root, or `chown nobody"},
	{"db", NOBODY, 0440, "read and write", "`chmod u+rw"},
	/* Whose it is needs it. */
	{"db", DAEMON, 0640, "belongs to daemon, with mode 0640: run this as daemon or root", NULL},
	{"", DAEMON, 0700,
		"may not enter this folder above the database; it belongs to daemon, with mode "
		"0700: run this as daemon or root",
		NULL},
	{"", 0, 0755, "make files in the folder of the database",
		"run this as root, or `chown nobody"},
	{"", NOBODY, 0500, "make files", "`chmod u+rwx"},
	{"", 0, 0700, "may not enter this folder above the database",
		"run this as root, or `chmod o+x"},
	{"db-wal", 0, 0600, "read and write the database", "run this as root, or `chown nobody"},
	{"db-shm", 0, 0644, "read and write the database", "run this as root, or `chown nobody"},
};

struct look {
	const char *database;
	const char *at; /* which the text begins with */
	const char *says;
	const char *mend; /* NULL: it ends with what it says */
};

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static int look(void *arg)
{
	const struct look *look = arg;
	_cleanup_free_ char *begin = mem_printf("%s: ", look->at);
	struct err err = ERR_INIT;

	if (db_file_require(look->database, &err) < 0 && err.code == ERR_CONFIG &&
		strncmp(err.text, begin, strlen(begin)) == 0 &&
		(look->mend ? strstr(err.text, look->says) && strstr(err.text, look->mend)
			    : ends_with(err.text, look->says)))
		return 0;
	fprintf(stderr, "%s\n", err.text);
	return 1;
}

static void make(const char *path)
{
	FILE *file = fopen(path, "a");

	assert_non_null(file);
	fclose(file);
	assert_int_equal(chown(path, NOBODY, NOBODY), 0);
}

static void check(const struct temp_db *temp, size_t i)
{
	_cleanup_free_ char *database = temp_db_file(temp, "db");
	_cleanup_free_ char *path = *cases[i].name ? temp_db_file(temp, cases[i].name)
						   : mem_strdup(temp->folder);
	_cleanup_free_ char *mend = cases[i].mend ? mem_printf("%s %s`", cases[i].mend, path)
						  : NULL;
	struct look wanted = {database, path, cases[i].says, mend};

	assert_int_equal(chown(temp->folder, NOBODY, NOBODY), 0);
	assert_int_equal(chmod(temp->folder, 0700), 0);
	make(database);
	if (*cases[i].name)
		make(path);
	assert_int_equal(chown(path, cases[i].owner, 0), 0);
	assert_int_equal(chmod(path, cases[i].mode), 0);
	temp_db_in_child(look, &wanted, true);
	if (*cases[i].name)
		assert_int_equal(unlink(path), 0);
}

/* Only root can give files away. */
static void test_refusals(void **state)
{
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(*state, i);
}

/* The folder of a database to be made. */
static int create(void *arg)
{
	const struct look *look = arg;
	struct err err = ERR_INIT;

	return db_file_create(look->database, &err) < 0 && err.code == ERR_CONFIG &&
			       strstr(err.text, look->says) && strstr(err.text, look->mend)
		       ? 0
		       : 1;
}

static void test_cannot_be_made(void **state)
{
	const struct temp_db *temp = *state;
	_cleanup_free_ char *database = temp_db_file(temp, "db");
	_cleanup_free_ char *mend = mem_printf("`chmod u+rwx %s`", temp->folder);
	struct look wanted = {database, temp->folder, "make files", mend};

	assert_int_equal(chmod(temp->folder, 0500), 0);
	temp_db_in_child(create, &wanted, true);
	assert_int_equal(chmod(temp->folder, 0700), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_refusals, temp_db_setup_folder, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_cannot_be_made, temp_db_setup_folder, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
