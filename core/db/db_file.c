/*
 * db_file: creates the file of a database for its users, and explains why one cannot be used, in
 * words that an admin can act on.
 */
#include "core/db/db_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"

/* Permissions that this user needs on the files of a database. */
enum db_right {
	DB_RIGHT_FILE,   /* to read and write the database, or a file beside it */
	DB_RIGHT_FOLDER, /* to create files in its folder */
	DB_RIGHT_PATH,   /* to enter a folder above it */
};

enum { PASSWD_BYTES = 4096 };

static const struct {
	int mode;
	const char *what;
	const char *own;    /* arguments of chmod, for the owner */
	const char *others; /* a command that grants it to this user; NULL: chown */
} rights[] = {
	[DB_RIGHT_FILE] = {R_OK | W_OK, "read and write the database", "u+rw", NULL},
	[DB_RIGHT_FOLDER] = {W_OK | X_OK, "make files in the folder of the database", "u+rwx",
		NULL},
	[DB_RIGHT_PATH] = {X_OK, "enter this folder above the database", "u+rx", "chmod o+x"},
};

/* True if this user, by the effective ids, has the permission; otherwise errno says why. */
static bool have_right(const char *path, enum db_right right)
{
	return faccessat(AT_FDCWD, path, rights[right].mode, AT_EACCESS) == 0;
}

/* Returns the user's name, or the number if it has no name; the caller frees it. */
static char *user_name(uid_t uid, bool *has_name_r)
{
	char text[PASSWD_BYTES];
	struct passwd entry, *found = NULL;
	bool has_name = getpwuid_r(uid, &entry, text, sizeof(text), &found) == 0 && found != NULL;

	if (has_name_r)
		*has_name_r = has_name;
	return has_name ? mem_strdup(found->pw_name) : mem_printf("%u", (unsigned)uid);
}

/* A file of root, or of a removed user, may be given to this user. A file of another user may not:
 * that user needs it. */
static char *advice(const char *path, enum db_right right, uid_t owner)
{
	bool is_user;
	_cleanup_free_ char *name = user_name(owner, &is_user);
	_cleanup_free_ char *self = user_name(geteuid(), NULL);

	if (owner == geteuid())
		return mem_printf("`chmod %s %s`", rights[right].own, path);
	if (owner != 0 && is_user)
		return mem_printf("run this as %s or root", name);
	if (rights[right].others)
		return mem_printf("run this as root, or `%s %s`", rights[right].others, path);
	return mem_printf("run this as root, or `chown %s %s`", self, path);
}

/* Goes up to the first folder that stat(2) can reach. */
static char *find_barrier(const char *path, struct stat *info_r)
{
	char *at = mem_strdup(path);

	while (stat(at, info_r) != 0) {
		char *up;

		if (errno != EACCES || str_eq(at, "/") || str_eq(at, "."))
			break;
		up = mem_strdup(dirname(at));
		free(at);
		at = up;
	}
	return at;
}

/* Fills err (ERR_CONFIG) after EACCES: the missing permission, the owner of the file, and the
 * remedy. If the path cannot be followed, the text is about the folder that cannot be entered.
 * Returns -1. */
static int refuse_right(const char *path, enum db_right right, struct err *err)
{
	struct stat info = {0};
	_cleanup_free_ char *at = find_barrier(path, &info);
	_cleanup_free_ char *self = user_name(geteuid(), NULL);
	_cleanup_free_ char *owner = user_name(info.st_uid, NULL);
	_cleanup_free_ char *mend = NULL;

	if (!str_eq(at, path))
		right = DB_RIGHT_PATH;
	mend = advice(at, right, info.st_uid);
	return err_set(err, ERR_CONFIG,
		"%s: the user %s may not %s; it belongs to %s, with mode %04o: %s", at, self,
		rights[right].what, owner, (unsigned)info.st_mode & 07777, mend);
}

enum {
	FILE_MODE = 0640, /* only the owner may write */
	COPY_MODE = 0600,
};

static int file_error(struct err *err, const char *path, const char *what)
{
	bool passes = errno == ENOSPC || errno == EDQUOT || errno == EIO || errno == ENOMEM ||
		      errno == EMFILE || errno == ENFILE;
	enum err_code code = passes ? ERR_TEMPORARY : ERR_CONFIG;
	char text[128];

	return err_set(err, code, "%s: %s: %s", path, what, strerror_r(errno, text, sizeof(text)));
}

/* After checking its permissions. */
static int cannot_use(const char *path, enum db_right right, struct err *err)
{
	if (errno == EACCES)
		return refuse_right(path, right, err);
	return file_error(err, path, "cannot use the database");
}

char *db_file_folder(const char *path)
{
	_cleanup_free_ char *copy = mem_strdup(path);

	return mem_strdup(dirname(copy));
}

char *db_file_trace(const char *path)
{
	_cleanup_free_ char *folder = db_file_folder(path);
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	DIR *entries = opendir(folder);
	struct dirent *entry;
	char *trace = NULL;

	while (entries && trace == NULL && (entry = readdir(entries))) {
		if (!str_starts(entry->d_name, name))
			continue;
		if (strspn(entry->d_name + strlen(name), "-.") > 0)
			trace = mem_strdup(entry->d_name);
	}
	if (entries)
		closedir(entries);
	return trace;
}

/* The texts distinguish a new installation, which needs a database, from one whose database is
 * missing: an empty one in its place would contain no key, domain or email, and protect nothing. */
static int is_missing(const char *path, struct err *err)
{
	_cleanup_free_ char *folder = db_file_folder(path);
	_cleanup_free_ char *trace = db_file_trace(path);

	if (access(folder, F_OK) != 0 && errno == ENOENT)
		return err_set(err, ERR_CONFIG,
			"%s: the folder of the database is missing: it was removed or moved, or "
			"its file system is not mounted. Put it back; if it is lost, `install -d "
			"-o postern -g postern -m 750 %s`, then `postern db restore FILE` with a "
			"backup, or in a new installation `postern db migrate`",
			path, folder);
	if (trace)
		return err_set(err, ERR_CONFIG,
			"%s: the database is missing, and it was here, since %s lies beside it: it "
			"was removed or moved. Put it back, or `postern db restore FILE` with a "
			"backup; `postern db migrate --new` makes an empty one, without keys, "
			"domains and emails",
			path, trace);
	return err_set(err, ERR_CONFIG,
		"%s: there is no such database. In a new installation `postern db migrate` makes "
		"it; one that was in use was removed or moved, or its file system is not mounted: "
		"put it back, or `postern db restore FILE` with a backup",
		path);
}

/* Creates an empty file, which SQLite treats as a new database; root creates it for the owner of
 * the folder. An existing file is not even opened: closing it again would drop the locks that this
 * process holds on it. */
int db_file_create(const char *path, struct err *err)
{
	_cleanup_free_ char *folder = db_file_folder(path);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE), result = 0;
	struct stat info;

	if (fd < 0) {
		switch (errno) {
		case EEXIST:
			return db_file_require(path, err);
		case ENOENT:
			return is_missing(path, err);
		case EACCES:
			return refuse_right(folder, DB_RIGHT_FOLDER, err);
		default:
			return file_error(err, path, "cannot create the database");
		}
	}
	if (fchmod(fd, FILE_MODE) != 0 ||
		(geteuid() == 0 &&
			(stat(folder, &info) != 0 || fchown(fd, info.st_uid, info.st_gid) != 0))) {
		result = file_error(err, path, "cannot set the owner of the database");
		unlink(path);
	}
	close(fd);
	return result;
}

/* SQLite creates files beside the database, and uses existing ones. */
static int require_beside(const char *path, struct err *err)
{
	static const char *const suffixes[] = {"-wal", "-shm"};
	_cleanup_free_ char *folder = db_file_folder(path);

	if (!have_right(folder, DB_RIGHT_FOLDER))
		return cannot_use(folder, DB_RIGHT_FOLDER, err);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		_cleanup_free_ char *file = mem_printf("%s%s", path, suffixes[i]);

		if (!have_right(file, DB_RIGHT_FILE) && errno != ENOENT)
			return cannot_use(file, DB_RIGHT_FILE, err);
	}
	return 0;
}

int db_file_require(const char *path, struct err *err)
{
	if (have_right(path, DB_RIGHT_FILE))
		return require_beside(path, err);
	if (errno == ENOENT)
		return is_missing(path, err);
	return cannot_use(path, DB_RIGHT_FILE, err);
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

int db_file_require_room(const char *path, int64_t bytes, struct err *err)
{
	_cleanup_free_ char *folder = db_file_folder(path);
	struct statvfs info;
	int64_t free_bytes;

	if (statvfs(folder, &info) != 0)
		return 0;
	free_bytes = (int64_t)(geteuid() == 0 ? info.f_bfree : info.f_bavail) *
		     (int64_t)info.f_frsize;
	if (free_bytes >= bytes)
		return 0;
	return err_set(err, ERR_TEMPORARY,
		"%s: it takes %lld KB, and its file system has %lld KB left", path,
		(long long)(bytes / 1024), (long long)(free_bytes / 1024));
}

int db_file_sync_folder(const char *path, struct err *err)
{
	_cleanup_free_ char *folder = db_file_folder(path);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result = fd < 0 ? -1 : fsync(fd);

	if (result != 0)
		file_error(err, folder, "cannot sync the folder");
	if (fd >= 0)
		close(fd);
	return result;
}

int db_file_volume_of(const char *path, struct statvfs *volume_r)
{
	_cleanup_free_ char *folder = db_file_folder(path);

	return statvfs(path, volume_r) == 0 ? 0 : statvfs(folder, volume_r);
}

int64_t db_file_volume(const char *path)
{
	struct statvfs info;

	if (statvfs(path, &info) != 0)
		return INT64_MAX;
	return (int64_t)info.f_blocks * (int64_t)info.f_frsize;
}

char *db_file_user(int pid)
{
	_cleanup_free_ char *path = mem_printf("/proc/%d/comm", pid);
	FILE *file = fopen(path, "re");
	char program[64] = "";

	if (file) {
		if (fgets(program, sizeof(program), file))
			program[strcspn(program, "\n")] = '\0';
		fclose(file);
	}
	return mem_printf("%s (process %d)", *program ? program : "a program", pid);
}

int db_file_same(const char *path, struct db_identity *identity, struct err *err)
{
	bool known = identity->file != 0;
	struct stat info;

	if (stat(path, &info) != 0) {
		if (!known)
			return 0;
		info = (struct stat){0};
	}
	if (!known)
		*identity = (struct db_identity){info.st_dev, info.st_ino};
	if (info.st_dev == identity->volume && info.st_ino == identity->file)
		return 0;
	return err_set(err, ERR_TEMPORARY,
		"%s: the database was replaced or removed; restart what uses it", path);
}
