/*
 * doctor_results: the file, which root writes into a folder that the daemons own.
 *
 * The owner of the folder could place links there. So a new file is created under a random name,
 * and then renamed over whatever has the final name.
 */
#include "core/ops/doctor_results.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/db/db_file.h"

/* Usually some hundred results of some hundred bytes; a result about many domains is longer. */
enum { BYTES_MAX = 4 * 1024 * 1024 };

static char *results_path(const char *database)
{
	return mem_printf("%s.doctor", database);
}

/* Readable by the group of the folder, which is the daemons'. */
static int write_text(int fd, const char *folder, const char *text)
{
	size_t len = strlen(text), done = 0;
	struct stat of_folder;
	ssize_t n = 0;

	if (stat(folder, &of_folder) < 0 || fchown(fd, (uid_t)-1, of_folder.st_gid) < 0 ||
		fchmod(fd, 0640) < 0)
		return -1;
	for (; done < len && (n = write(fd, text + done, len - done)) >= 0; done += (size_t)n)
		;
	return n < 0 ? -1 : fsync(fd);
}

int doctor_results_write(const char *database, int64_t now_us, json_t *results, struct err *err)
{
	_cleanup_free_ char *folder = db_file_folder(database), *path = results_path(database);
	_cleanup_free_ char *fresh = mem_printf("%s-XXXXXX", path);
	_cleanup_free_ char *text = NULL;
	char at[CLOCK_TEXT_SIZE];
	json_t *whole;
	int fd, result;

	clock_iso8601(now_us, at);
	whole = json_pack("{s:s, s:o}", "looked_at", at, "results", results);
	text = json_dumps(whole, JSON_COMPACT);
	json_decref(whole);
	fd = mkostemp(fresh, O_CLOEXEC);
	if (text == NULL || fd < 0)
		return err_set(err, ERR_TEMPORARY, "cannot make %s: %s", path, strerror(errno));
	result = write_text(fd, folder, text);
	if (close(fd) == 0 && result == 0 && rename(fresh, path) == 0)
		return 0;
	err_set(err, ERR_TEMPORARY, "cannot write %s: %s", path, strerror(errno));
	unlink(fresh);
	return -1;
}

/* Returns the result with only the known members; NULL if a required one is missing. */
static json_t *checked(json_t *result)
{
	const char *check, *word, *text, *means = NULL, *mend = NULL;
	int safe;

	if (json_unpack(result, "{s:s, s:s, s:s, s?s, s?s, s:b}", "check", &check, "result", &word,
		    "text", &text, "means", &means, "mend", &mend, "safe", &safe) < 0)
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:b}", "check", check, "result", word, "text",
		text, "means", means, "mend", mend, "safe", safe);
}

json_t *doctor_results_read(const char *database)
{
	_cleanup_free_ char *path = results_path(database);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	json_t *whole = NULL, *results = json_array(), *found, *one, *result;
	struct stat info;
	const char *at;
	int64_t at_us;
	bool good;
	size_t i;

	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= BYTES_MAX)
		whole = json_loadfd(fd, 0, NULL);
	if (fd >= 0)
		close(fd);
	good = json_unpack(whole, "{s:s, s:o}", "looked_at", &at, "results", &found) == 0 &&
	       clock_parse(at, 0, &at_us) && json_is_array(found);
	if (good)
		json_array_foreach(found, i, one)
			if ((result = checked(one)) != NULL)
				json_array_append_new(results, result);
	result = json_pack("{s:s?, s:o}", "looked_at", good ? at : NULL, "results", results);
	json_decref(whole);
	return result;
}
