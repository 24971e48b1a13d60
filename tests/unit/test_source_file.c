/* source_file: each line once, in order, however the log is rotated and whoever
 * looks when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/strv.h"
#include "events/source.h"
#include "tests/unit/temp_db.h"

/* A log that is written, rotated and read. */
struct log_world {
	struct temp_db *temp;
	char *path;
	struct source *source; /* NULL: nobody reads */
	char *position;        /* where the last reader ended */
	struct strv read;      /* lines; gaps as !why */
	int written;
	int rotated;
};

static void begin(struct log_world *world, struct temp_db *temp)
{
	*world = (struct log_world){.temp = temp, .path = temp_db_file(temp, "mail.log")};
}

static void end(struct log_world *world)
{
	source_free(world->source);
	strv_free(&world->read);
	free(world->position);
	free(world->path);
}

static void append(struct log_world *world, const char *text)
{
	FILE *file = fopen(world->path, "a");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* So many lines more; each tells its number. */
static void put(struct log_world *world, int n)
{
	for (int i = 0; i < n; i++) {
		char line[80];

		snprintf(line, sizeof(line), "Nov 21 22:57:10 mail postfix/smtp[1]: line %d\n",
			world->written++);
		append(world, line);
	}
}

static void stop(struct log_world *world)
{
	struct buf position = BUF_INIT;

	world->source->ops->position(world->source, &position);
	free(world->position);
	world->position = buf_take(&position);
	source_free(TAKE_PTR(world->source));
}

static void start(struct log_world *world)
{
	OK(source_file_open(world->path, world->position, &world->source, &why));
}

/* Reads all that is there. */
static void look(struct log_world *world)
{
	struct source_line line;
	int found;

	if (world->source == NULL)
		start(world);
	for (;;) {
		struct err err = ERR_INIT;

		found = source_next(world->source, &line, &err);
		if (found < 0)
			fail_msg("%s", err.text);
		if (found == 0)
			break;
		strv_take(&world->read,
			line.gap ? mem_printf("!%s", line.gap) : mem_dup(line.text, line.len));
	}
}

/* All that was written was read, once and in order. */
static void check(struct log_world *world)
{
	assert_int_equal(world->read.n, world->written);
	for (int i = 0; i < world->written; i++) {
		char line[80];

		snprintf(line, sizeof(line), "Nov 21 22:57:10 mail postfix/smtp[1]: line %d", i);
		assert_string_equal(world->read.items[i], line);
	}
}

static char *rotated_name(struct log_world *world)
{
	return mem_printf("%s.%d", world->path, ++world->rotated);
}

/* A file's time must differ from that of the next one, as it does in life. */
static void set_time(struct log_world *world, const char *path)
{
	const struct timespec at = {.tv_sec = 1000000 + world->rotated};

	assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){at, at}, 0), 0);
}

/* more: NULL, or another argument. */
static void run(const char *command, const char *path, const char *more)
{
	_cleanup_free_ char *text = mem_printf("%s '%s' %s%s%s", command, path, more ? "'" : "",
		more ? more : "", more ? "'" : "");

	assert_int_equal(system(text), 0);
}

static void remove_all(struct log_world *world)
{
	_cleanup_free_ char *pattern = mem_printf("rm -f '%s'*", world->path);

	assert_int_equal(system(pattern), 0);
}

static void rotate_by_rename(struct log_world *world)
{
	_cleanup_free_ char *name = rotated_name(world);

	assert_int_equal(rename(world->path, name), 0);
	set_time(world, name);
}

static void rotate_and_pack(struct log_world *world)
{
	_cleanup_free_ char *name = rotated_name(world);

	assert_int_equal(rename(world->path, name), 0);
	set_time(world, name);
	run("gzip --", name, NULL);
	world->rotated++;
}

static void rotate_by_copy(struct log_world *world)
{
	_cleanup_free_ char *name = rotated_name(world);

	run("cp --", world->path, name);
	set_time(world, name);
	assert_int_equal(truncate(world->path, 0), 0);
}

static void rotate_by_nothing(struct log_world *world)
{
	(void)world;
}

typedef void rotation(struct log_world *world);
static rotation *const rotations[] = {rotate_by_rename, rotate_by_copy, rotate_by_nothing};

/* Each way of rotating twice, with and without a look in between, by a reader
 * that goes on or by a new one. */
static void test_rotations(void **state)
{
	enum { WAYS = ARRAY_SIZE(rotations) };

	for (unsigned i = 0; i < WAYS * WAYS * 32; i++) {
		unsigned bits = i / (WAYS * WAYS);
		struct log_world world;

		begin(&world, *state);
		put(&world, 3);
		look(&world);
		put(&world, bits & 1 ? 2 : 200);
		if (bits & 2)
			look(&world);
		rotations[i % WAYS](&world);
		if (bits & 16)
			stop(&world);
		put(&world, 100);
		if (bits & 4)
			look(&world);
		rotations[i / WAYS % WAYS](&world);
		if (bits & 8 && world.source)
			stop(&world);
		put(&world, 4);
		look(&world);
		put(&world, 1);
		look(&world);
		remove_all(&world);
		end(&world);
	}
}

/* gzip needs a moment, so these are few. */
static void test_packed(void **state)
{
	for (int stopped = 0; stopped < 2; stopped++) {
		struct log_world world;

		begin(&world, *state);
		put(&world, 10);
		look(&world);
		put(&world, 10);
		if (stopped)
			stop(&world);
		rotate_and_pack(&world);
		put(&world, 300);
		rotate_and_pack(&world);
		put(&world, 10);
		look(&world);
		check(&world);
		remove_all(&world);
		end(&world);
	}
}

static void test_half_lines(void **state)
{
	struct log_world world;

	begin(&world, *state);
	look(&world); /* there is no file yet */
	append(&world, "one");
	look(&world);
	assert_int_equal(world.read.n, 0);
	append(&world, " and a half\ntw");
	look(&world);
	assert_int_equal(world.read.n, 1);
	assert_string_equal(world.read.items[0], "one and a half");
	stop(&world);
	append(&world, "o\n");
	look(&world);
	assert_int_equal(world.read.n, 2);
	assert_string_equal(world.read.items[1], "two");
	/* A line that never ends is given when the next file has something. */
	append(&world, "thr");
	rotate_by_rename(&world);
	look(&world);
	assert_int_equal(world.read.n, 2);
	append(&world, "four\n");
	look(&world);
	assert_int_equal(world.read.n, 4);
	assert_string_equal(world.read.items[2], "thr");
	assert_string_equal(world.read.items[3], "four");
	end(&world);
}

/* The writer goes on with the renamed file until it is told. */
static void test_late_writer(void **state)
{
	struct log_world world;
	FILE *writer;

	begin(&world, *state);
	put(&world, 3);
	writer = fopen(world.path, "a");
	look(&world);
	rotate_by_rename(&world);
	append(&world, ""); /* as logrotate's create does */
	look(&world);
	for (int i = 0; i < 3; i++)
		fprintf(writer, "Nov 21 22:57:10 mail postfix/smtp[1]: line %d\n", world.written++);
	fclose(writer);
	put(&world, 3);
	look(&world);
	check(&world);
	end(&world);
}

/* Somebody looks while there is nothing in the file: at first, and when it was
 * just truncated. */
static void test_empty(void **state)
{
	struct log_world world;

	begin(&world, *state);
	append(&world, "");
	look(&world);
	stop(&world);
	look(&world);
	put(&world, 3);
	look(&world);
	for (int i = 0; i < 3; i++) {
		put(&world, 2);
		rotate_by_copy(&world);
		look(&world);
		look(&world);
	}
	put(&world, 1);
	look(&world);
	check(&world);
	end(&world);
}

static void test_lost(void **state)
{
	struct log_world world;

	begin(&world, *state);
	put(&world, 3);
	look(&world);
	/* truncated, and no copy is there */
	assert_int_equal(truncate(world.path, 0), 0);
	append(&world, "other\n");
	look(&world);
	assert_int_equal(world.read.n, 5);
	assert_string_equal(world.read.items[3], "!truncated");
	assert_string_equal(world.read.items[4], "other");
	/* removed while nobody looked */
	stop(&world);
	assert_int_equal(unlink(world.path), 0);
	append(&world, "more\n");
	look(&world);
	assert_int_equal(world.read.n, 7);
	assert_string_equal(world.read.items[5], "!cursor_lost");
	assert_string_equal(world.read.items[6], "more");
	/* a position that is none */
	source_free(TAKE_PTR(world.source));
	free(world.position);
	world.position = mem_strdup("x");
	look(&world);
	assert_string_equal(world.read.items[7], "!cursor_lost");
	assert_string_equal(world.read.items[8], "more");
	end(&world);
}

/* A reader that begins while a file is packed reads the file, not the part of
 * it that is packed already. */
static void test_start_while_packing(void **state)
{
	struct log_world world;
	_cleanup_free_ char *part = NULL;

	begin(&world, *state);
	put(&world, 300);
	look(&world);
	stop(&world);
	put(&world, 2000);
	rotate_by_rename(&world);
	part = mem_printf("%s.1.gz", world.path);
	{
		_cleanup_free_ char *file = mem_printf("%s.1", world.path);

		run("sh -c 'gzip -c -- \"$0\" | head -c 2000 >\"$1\"'", file, part);
	}
	put(&world, 10);
	look(&world);
	check(&world);
	end(&world);
}

/* Renames a file to and fro, as many as logrotate does at once. */
struct renamer {
	char *names[2];
	atomic_bool ends;
};

static void *rename_on(void *arg)
{
	struct renamer *renamer = arg;

	for (int i = 0; !renamer->ends; i = !i)
		rename(renamer->names[i], renamer->names[!i]);
	return NULL;
}

/* A reader that begins while files are renamed or packed finds the one in which
 * it was, whatever name that has when it looks. */
static void test_start_in_a_rotation(void **state)
{
	enum { STARTS = 300, OTHERS = 30 };
	struct renamer renamer = {0};
	struct log_world world;
	pthread_t thread;

	begin(&world, *state);
	put(&world, 10);
	look(&world);
	stop(&world);
	put(&world, 1);
	rotate_by_rename(&world);
	for (int i = 0; i < OTHERS; i++) {
		_cleanup_free_ char *name = rotated_name(&world);

		run("echo other >", name, NULL);
	}
	renamer.names[0] = mem_printf("%s.1", world.path);
	renamer.names[1] = mem_printf("%s.1.old", world.path);
	assert_int_equal(pthread_create(&thread, NULL, rename_on, &renamer), 0);
	for (int i = 0; i < STARTS; i++) {
		struct source *source;
		struct source_line line = {0};
		struct err err = ERR_INIT;

		/* What it found may be gone when it opens it: that passes. */
		while (source_file_open(world.path, world.position, &source, &err) < 0)
			assert_int_equal(err.code, ERR_NOT_FOUND);
		assert_int_equal(source_next(source, &line, NULL), 1);
		if (line.gap)
			fail_msg("start %d: %s", i, line.gap);
		source_free(source);
	}
	renamer.ends = true;
	pthread_join(thread, NULL);
	free(renamer.names[0]);
	free(renamer.names[1]);
	end(&world);
}

static void test_once(void **state)
{
	struct log_world world;
	_cleanup_free_ char *packed = NULL;

	begin(&world, *state);
	put(&world, 500);
	OK(source_file_once(world.path, &world.source, &why));
	look(&world);
	check(&world);
	source_free(TAKE_PTR(world.source));
	strv_free(&world.read);
	run("gzip --", world.path, NULL);
	packed = mem_printf("%s.gz", world.path);
	OK(source_file_once(packed, &world.source, &why));
	look(&world);
	check(&world);
	end(&world);
}

/* A pipe, as /dev/stdout of a container, would be waited for without end, and a device has no end.
 */
static void test_no_file(void **state)
{
	static const mode_t kinds[] = {S_IFIFO, S_IFCHR, S_IFDIR};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct log_world world;
		struct source *source;
		struct err err = ERR_INIT;

		begin(&world, *state);
		if (S_ISDIR(kinds[i]))
			assert_int_equal(mkdir(world.path, 0700), 0);
		else if (S_ISFIFO(kinds[i]))
			assert_int_equal(mkfifo(world.path, 0600), 0);
		else
			assert_int_equal(symlink("/dev/full", world.path), 0);
		assert_int_equal(source_file_open(world.path, NULL, &source, &err), -1);
		assert_int_equal(err.code, ERR_TEMPORARY);
		assert_non_null(strstr(err.text, "no regular file"));
		assert_int_equal(remove(world.path), 0);
		end(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_db_setup_folder, temp_db_teardown)
		TEST(test_rotations),
		TEST(test_packed),
		TEST(test_half_lines),
		TEST(test_late_writer),
		TEST(test_empty),
		TEST(test_lost),
		TEST(test_start_while_packing),
		TEST(test_start_in_a_rotation),
		TEST(test_once),
		TEST(test_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
