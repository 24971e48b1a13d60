/*
 * db_file: makes the file of a database, for those who are to use it.
 *
 * Threads: any; holds no state.
 */
#include "core/db/db_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/mem.h"

enum {
	FILE_MODE = 0640, /* only its owner writes */
	COPY_MODE = 0600,
};

static int file_error(struct err *err, const char *path, const char *what)
{
	bool passes = errno == ENOSPC || errno == EDQUOT || errno == EIO ||
		      errno == ENOMEM || errno == EMFILE || errno == ENFILE;
	enum err_code code = passes ? ERR_TEMPORARY : ERR_CONFIG;
	char text[128];

	return err_set(err, code, "%s: %s: %s", path, what,
		strerror_r(errno, text, sizeof(text)));
}

/* Root makes the file for those who own the folder. */
static int give_to_owner_of_folder(int fd, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash == NULL ? 0 : (size_t)(slash - path) + 1;
	_cleanup_free_ char *folder = len > 0 ? mem_dup(path, len)
					      : mem_strdup(".");
	struct stat info;

	if (fchmod(fd, FILE_MODE) != 0)
		return -1;
	if (geteuid() != 0)
		return 0;
	if (stat(folder, &info) != 0)
		return -1;
	return fchown(fd, info.st_uid, info.st_gid);
}

/* Makes the file empty, which SQLite takes for a new database. One that is
 * there is not even opened: closing it again would drop the locks that this
 * process holds on it. */
int db_file_create(const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	int result;

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0)
		return file_error(err, path, "cannot create the database");
	result = give_to_owner_of_folder(fd, path);
	if (result != 0) {
		file_error(err, path, "cannot set the owner of the database");
		unlink(path);
	}
	close(fd);
	return result;
}

/* SQLite makes files beside the database. */
static int require_folder(const char *path, struct err *err)
{
	_cleanup_free_ char *copy = mem_strdup(path);
	const char *folder = dirname(copy);

	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0)
		return 0;
	return err_set(err, ERR_CONFIG,
		"%s: this user may not make files in the folder of the "
		"database; its owner and root may",
		folder);
}

int db_file_require(const char *path, struct err *err)
{
	if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0)
		return require_folder(path, err);
	if (errno == ENOENT)
		return err_set(err, ERR_CONFIG,
			"%s: there is no such database; `postern db migrate` "
			"makes it",
			path);
	if (errno == EACCES)
		return err_set(err, ERR_CONFIG,
			"%s: this user may not read and write the database; "
			"its owner and root may",
			path);
	return file_error(err, path, "cannot use the database");
}

int db_file_create_copy(const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, COPY_MODE);

	if (fd < 0 && errno == EEXIST)
		return err_set(err, ERR_EXISTS, "%s: exists already", path);
	if (fd < 0)
		return file_error(err, path, "cannot create the copy");
	close(fd);
	return 0;
}

int64_t db_file_volume(const char *path)
{
	struct statvfs info;

	if (statvfs(path, &info) != 0)
		return INT64_MAX;
	return (int64_t)info.f_blocks * (int64_t)info.f_frsize;
}

int db_file_same(const char *path, struct db_file_id *id, struct err *err)
{
	bool known = id->ino != 0;
	struct stat info;

	if (stat(path, &info) != 0) {
		if (!known)
			return 0;
		info = (struct stat){0};
	}
	if (!known)
		*id = (struct db_file_id){info.st_dev, info.st_ino};
	if (info.st_dev == id->dev && info.st_ino == id->ino)
		return 0;
	return err_set(err,
		ERR_TEMPORARY, "%s: the database was replaced or removed; restart what uses it",
		path);
}
