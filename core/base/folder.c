/*
 * folder: accesses files relative to directory descriptors.
 */
#include "core/base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/secret.h"

static int fail(struct err *err, const char *what, const char *name)
{
	int error = errno;
	enum err_code code = error == ENOSPC || error == EDQUOT || error == EIO ? ERR_TEMPORARY
										: ERR_CONFIG;

	return err_set(err, code, "cannot %s %s: %s", what, name,
		error == ELOOP ? "it is a symbolic link" : strerror(error));
}

/* Opens the directory named by the first len bytes of the path. */
static int open_folder_path(const char *path, size_t len, struct err *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int folder = *path == '/' ? open("/", flags) : -1;
	size_t at = 1;

	if (folder < 0)
		return err_set(err, ERR_CONFIG, "%s is no absolute path", path);
	while (at < len) {
		size_t n = strcspn(path + at, "/");
		_cleanup_free_ char *name = mem_dup(path + at, n < len - at ? n : len - at);
		int next;

		at += n + 1;
		if (*name == '\0')
			continue;
		next = openat(folder, name, flags);
		if (next < 0 && errno == ENOTDIR) {
			struct stat entry;

			/* For O_DIRECTORY with O_NOFOLLOW, Linux reports a symbolic link as
			 * ENOTDIR. */
			errno = fstatat(folder, name, &entry, AT_SYMLINK_NOFOLLOW) == 0 &&
						S_ISLNK(entry.st_mode)
					? ELOOP
					: ENOTDIR;
		}
		if (next < 0) {
			_cleanup_free_ char *whole = mem_dup(path, at - 1 < len ? at - 1 : len);

			fail(err, "open the folder", whole);
			close(folder);
			return -1;
		}
		close(folder);
		folder = next;
	}
	return folder;
}

int folder_open(const char *path, struct err *err)
{
	return open_folder_path(path, strlen(path), err);
}

int folder_open_of(const char *path, const char **name_r, struct err *err)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL || slash[1] == '\0')
		return err_set(err, ERR_CONFIG, "%s is no absolute path of a file", path);
	*name_r = slash + 1;
	return open_folder_path(path, (size_t)(slash - path) + (slash == path), err);
}

int folder_read(int folder, const char *name, struct buf *content, struct folder_rights *rights_r,
	struct err *err)
{
	/* O_NONBLOCK: opening a FIFO must not block. */
	int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	size_t before = content->len;
	struct stat entry;
	char block[8192];
	ssize_t n = -1;

	if (file < 0)
		return errno == ENOENT ? 0 : fail(err, "read", name);
	if (fstat(file, &entry) == 0 && !S_ISREG(entry.st_mode)) {
		close(file);
		return err_set(err, ERR_CONFIG, "%s is no regular file", name);
	}
	while ((n = read(file, block, sizeof(block))) > 0 &&
		content->len - before <= FOLDER_FILE_MAX)
		buf_add(content, block, (size_t)n);
	secret_wipe(block, sizeof(block));
	if (n < 0)
		fail(err, "read", name);
	close(file);
	if (n > 0)
		return err_set(err, ERR_CONFIG, "%s is too large", name);
	if (n == 0 && rights_r)
		*rights_r = (struct folder_rights){
			entry.st_uid, entry.st_gid, entry.st_mode & 07777};
	return n < 0 ? -1 : 1;
}

int folder_read_file(
	const char *path, struct buf *content, struct folder_rights *rights_r, struct err *err)
{
	const char *name;
	int folder = folder_open_of(path, &name, err), result;

	if (folder < 0)
		return -1;
	result = folder_read(folder, name, content, rights_r, err);
	close(folder);
	return result;
}

static int write_content(int file, const struct buf *content, const struct folder_rights *rights)
{
	for (size_t at = 0; at < content->len;) {
		ssize_t n = write(file, content->data + at, content->len - at);

		if (n < 0 && errno != EINTR)
			return -1;
		at += n > 0 ? (size_t)n : 0;
	}
	/* Owner first: a file that is no longer ours has no permissions yet. */
	return fchown(file, rights->user, rights->group) < 0 || fchmod(file, rights->mode) < 0 ||
			       fsync(file) < 0
		       ? -1
		       : 0;
}

int folder_write(int folder, const char *name, const struct buf *content,
	const struct folder_rights *rights, bool replace, struct err *err)
{
	char fresh[40];
	uint64_t number;
	int file, result;

	secret_random(&number, sizeof(number));
	snprintf(fresh, sizeof(fresh), ".postern.%016llx", (unsigned long long)number);
	file = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return fail(err, "write", name);
	result = write_content(file, content, rights);
	close(file);
	if (result == 0)
		result = renameat2(folder, fresh, folder, name, replace ? 0 : RENAME_NOREPLACE);
	if (result < 0) {
		if (errno == EEXIST && !replace)
			err_set(err, ERR_EXISTS, "%s is there already", name);
		else
			fail(err, "write", name);
		unlinkat(folder, fresh, 0);
		return -1;
	}
	if (fsync(folder) < 0)
		return fail(err, "keep", name);
	return 0;
}

int folder_remove_file(const char *path, struct err *err)
{
	const char *name;
	int folder = folder_open_of(path, &name, err), result;

	if (folder < 0)
		return -1;
	result = unlinkat(folder, name, 0) < 0 && errno != ENOENT ? fail(err, "remove", name) : 0;
	close(folder);
	return result;
}
