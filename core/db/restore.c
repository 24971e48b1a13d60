/*
 * restore: replaces the database by a backup.
 *
 * SQLite would apply a log (-wal) beside the database even if it belongs to another one. So a
 * single rename is not enough:
 *
 *   step                                   the database, if this was the last step
 *   link database and log to other names   the former one
 *   unlink the database                    missing; nothing starts
 *   unlink its log and index               missing
 *   rename the copy                        the backup
 *
 * Each step is durable before the next one starts.
 */
#include "core/db/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/lock_file.h"
#include "core/base/mem.h"
#include "core/db/db.h"
#include "core/db/db_file.h"
#include "core/db/migrate.h"

enum { COPY_MODE = 0600, DATABASE_MODE = 0640 };

static const char suffix_log[] = "-wal", suffix_index[] = "-shm";

struct restore {
	char *database; /* resolved symbolic links, because the log is beside the real file */
	const char *backup;
	char *copy;  /* the copy of the backup, beside the database */
	int copy_fd; /* locked against a second restore; or -1 */
};

static int fail_restore(struct err *err, const char *what, const char *path)
{
	enum err_code code = errno == ENOSPC || errno == EDQUOT || errno == EIO ? ERR_TEMPORARY
										: ERR_CONFIG;

	return err_set(err, code, "cannot %s %s: %m", what, path);
}

static int require_unused(const struct restore *self, struct err *err)
{
	_cleanup_free_ char *user = NULL;
	int pid = 0, result = db_is_open_elsewhere(self->database, &pid, err);

	if (result <= 0)
		return result;
	user = db_file_user(pid);
	return err_set(err, ERR_CONFIG,
		"%s is in use by %s: stop postern-httpd, postern-milter, postern-events, "
		"postern-webhook, postern-held and postern-auth first",
		self->database, user);
}

static int append_file(int from, int to, const char *path, struct err *err)
{
	struct stat info;
	off_t left = fstat(from, &info) == 0 ? info.st_size : 0;

	while (left > 0) {
		ssize_t n = sendfile(to, from, NULL, (size_t)left);

		if (n < 0)
			return fail_restore(err, "copy", path);
		if (n == 0)
			return err_set(err, ERR_TEMPORARY,
				"cannot copy %s: the backup became shorter while it was read",
				path);
		left -= n;
	}
	return 0;
}

/* Removes the log and the index of the copy, if there are any. */
static void unlink_beside(const struct restore *self)
{
	_cleanup_free_ char *log = mem_printf("%s%s", self->copy, suffix_log);
	_cleanup_free_ char *index = mem_printf("%s%s", self->copy, suffix_index);

	unlink(log);
	unlink(index);
}

/* The file of the copy exists from the start, because it is the lock. */
static int open_copy(struct restore *self, struct err *err)
{
	int fd = -1, locked = lock_file_open(self->copy, COPY_MODE, &fd);

	if (locked < 0)
		return fail_restore(err, "make", self->copy);
	if (locked == 0)
		return err_set(
			err, ERR_TEMPORARY, "%s: another restore is under way", self->database);
	self->copy_fd = fd;
	unlink_beside(self);
	if (ftruncate(fd, 0) < 0 || fchmod(fd, COPY_MODE) < 0)
		return fail_restore(err, "write", self->copy);
	return 0;
}

/* Copies the log of a backup, whose content is not in the file yet. */
static int copy_log(const struct restore *self, struct err *err)
{
	_cleanup_free_ char *from_path = mem_printf("%s%s", self->backup, suffix_log);
	_cleanup_free_ char *to_path = mem_printf("%s%s", self->copy, suffix_log);
	int from = open(from_path, O_RDONLY | O_CLOEXEC), to, result;

	if (from < 0)
		return errno == ENOENT ? 0 : fail_restore(err, "read", from_path);
	to = open(to_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, COPY_MODE);
	if (to < 0)
		result = fail_restore(err, "make", to_path);
	else
		result = append_file(from, to, to_path, err);
	if (to >= 0)
		close(to);
	close(from);
	return result;
}

static int copy_backup(struct restore *self, struct err *err)
{
	int from = open(self->backup, O_RDONLY | O_CLOEXEC), result;
	struct stat info, former;

	if (from < 0)
		return fail_restore(err, "read", self->backup);
	if (fstat(from, &info) < 0 || !S_ISREG(info.st_mode))
		result = err_set(err, ERR_INVALID, "%s is no file", self->backup);
	else if (stat(self->database, &former) == 0 && former.st_ino == info.st_ino &&
		 former.st_dev == info.st_dev)
		result = err_set(err, ERR_INVALID, "%s is the database itself, not a backup of it",
			self->backup);
	else
		result = db_file_require_room(self->copy, info.st_size, err);
	if (result == 0 && (open_copy(self, err) < 0 ||
				   append_file(from, self->copy_fd, self->copy, err) < 0 ||
				   copy_log(self, err) < 0))
		result = -1;
	close(from);
	return result;
}

/* Opening the copy applies its log; closing it removes the log. */
static int check_copy(const struct restore *self, int *version_r, struct err *err)
{
	_cleanup_(db) struct db *db = NULL;

	if (db_open(self->copy, DB_WRITE, &db, err) < 0 ||
		migrate_version(db, version_r, err) < 0 || db_check(db, err) < 0) {
		if (err && err->code == ERR_CONFIG)
			err->code = ERR_INVALID;
		return err_prefix(err, "%s cannot be used", self->backup);
	}
	if (*version_r == 0)
		return err_set(err, ERR_INVALID,
			"%s has no schema: it is no backup of a database of Postern", self->backup);
	if (*version_r > migrations_n)
		return err_set(err, ERR_INVALID,
			"%s has schema version %d, which is newer than version %d of this program: "
			"install the newer Postern first",
			self->backup, *version_r, migrations_n);
	return 0;
}

/* Sets owner and mode of the former database, or else those of a new one. */
static int give_copy(const struct restore *self, struct err *err)
{
	_cleanup_free_ char *folder = db_file_folder(self->database);
	mode_t mode = DATABASE_MODE;
	struct stat info;
	bool root = geteuid() == 0;

	if (stat(self->database, &info) == 0)
		mode = info.st_mode & 07777;
	else if (stat(folder, &info) < 0)
		return fail_restore(err, "look at", folder);
	if ((root && fchown(self->copy_fd, info.st_uid, info.st_gid) < 0) ||
		fchmod(self->copy_fd, mode) < 0)
		return fail_restore(err, "set the owner of", self->copy);
	return fsync(self->copy_fd) < 0 ? fail_restore(err, "sync", self->copy) : 0;
}

/* Keeps a file under another name. Returns 1, 0 if there was none, -1 on error. */
static int keep_file(const char *path, const char *kept, struct err *err)
{
	if (link(path, kept) == 0)
		return 1;
	return errno == ENOENT ? 0 : fail_restore(err, "keep a file as", kept);
}

static int unlink_file(const char *path, struct err *err)
{
	return unlink(path) == 0 || errno == ENOENT ? 0 : fail_restore(err, "replace", path);
}

/* Chooses unused names for the former database and its log. */
static void choose_names(
	const struct restore *self, int64_t now_us, char **kept_r, char **kept_log_r)
{
	char stamp[CLOCK_TEXT_SIZE], number[16] = "";

	clock_stamp(now_us, stamp);
	for (int n = 2;; n++) {
		*kept_r = mem_printf("%s.replaced-%s%s", self->database, stamp, number);
		*kept_log_r = mem_printf("%s%s", *kept_r, suffix_log);
		if (access(*kept_r, F_OK) != 0 && access(*kept_log_r, F_OK) != 0)
			return;
		free(*kept_r);
		free(*kept_log_r);
		snprintf(number, sizeof(number), "-%d", n);
	}
}

/* Takes the steps of the table above. */
static int replace_database(
	const struct restore *self, int64_t now_us, char **kept_r, struct err *err)
{
	_cleanup_free_ char *log = mem_printf("%s%s", self->database, suffix_log);
	_cleanup_free_ char *index = mem_printf("%s%s", self->database, suffix_index);
	_cleanup_free_ char *kept = NULL, *kept_log = NULL;
	int had_database, had_log, result;

	choose_names(self, now_us, &kept, &kept_log);
	had_database = keep_file(self->database, kept, err);
	had_log = had_database < 0 ? -1 : keep_file(log, kept_log, err);
	if (had_log < 0) {
		if (had_database > 0)
			unlink(kept);
		return -1;
	}
	if (db_file_sync_folder(self->database, err) < 0 || unlink_file(self->database, err) < 0 ||
		db_file_sync_folder(self->database, err) < 0 || unlink_file(log, err) < 0 ||
		unlink_file(index, err) < 0 || db_file_sync_folder(self->database, err) < 0)
		result = -1;
	else if (rename(self->copy, self->database) < 0)
		result = fail_restore(err, "make", self->database);
	else
		result = 0;
	if (result < 0)
		return had_database || had_log
			       ? err_prefix(err,
					 "%s may be gone, and is kept as %s: mend what follows, "
					 "and run this again",
					 self->database, kept)
			       : -1;
	if (had_database || had_log)
		*kept_r = TAKE_PTR(kept);
	return db_file_sync_folder(self->database, err);
}

int restore_run(const char *database, const char *backup, bool forced, int64_t now_us,
	struct restored *restored_r, struct err *err)
{
	struct restore self = {.backup = backup, .copy_fd = -1};
	struct restored restored = {0};
	_cleanup_free_ char *real = realpath(database, NULL);
	int result;

	self.database = mem_strdup(real ? real : database);
	self.copy = mem_printf("%s-restoring", self.database);
	result = forced ? 0 : require_unused(&self, err);
	if (result == 0)
		result = copy_backup(&self, err);
	if (result == 0)
		result = check_copy(&self, &restored.version, err);
	if (result == 0)
		result = give_copy(&self, err);
	/* Checks again, because checking the copy took some time. */
	if (result == 0 && !forced)
		result = require_unused(&self, err);
	if (result == 0)
		result = replace_database(&self, now_us, &restored.kept, err);
	if (result == 0)
		*restored_r = restored;
	else
		free(restored.kept);
	if (self.copy_fd >= 0) {
		if (result != 0) {
			unlink_beside(&self);
			unlink(self.copy);
		}
		close(self.copy_fd);
	}
	free(self.copy);
	free(self.database);
	return result;
}
