/*
 * db_rights: why a database cannot be used, in words that an admin can act on.
 *
 * Threads: any; holds no state.
 */
#include "core/db/db_rights.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"

enum { PASSWD_BYTES = 4096 };

static const struct {
	int mode;
	const char *what;
	const char *own;    /* for chmod, by the owner */
	const char *others; /* a command that lets this user; NULL: chown */
} rights[] = {
	[DB_RIGHT_FILE] = {R_OK | W_OK, "read and write the database", "u+rw",
		NULL},
	[DB_RIGHT_FOLDER] = {W_OK | X_OK,
		"make files in the folder of the database", "u+rwx", NULL},
	[DB_RIGHT_PATH] = {X_OK, "enter this folder above the database", "u+rx",
		"chmod o+x"},
};

bool db_rights_have(const char *path, enum db_right right)
{
	return faccessat(AT_FDCWD, path, rights[right].mode, AT_EACCESS) == 0;
}

/* The caller frees it. */
static char *name_of(uid_t uid)
{
	char text[PASSWD_BYTES];
	struct passwd entry, *found = NULL;

	if (getpwuid_r(uid, &entry, text, sizeof(text), &found) == 0 && found)
		return mem_strdup(found->pw_name);
	return mem_printf("%u", (unsigned)uid);
}

static char *advice(const char *path, enum db_right right, uid_t owner)
{
	_cleanup_free_ char *name = name_of(owner);
	_cleanup_free_ char *self = name_of(geteuid());

	if (owner == geteuid())
		return mem_printf("`chmod %s %s`", rights[right].own, path);
	if (rights[right].others)
		return mem_printf("run this as %s%s, or `%s %s`", name,
			owner == 0 ? "" : " or root", rights[right].others, path);
	return mem_printf("run this as %s%s, or `chown %s %s`", name,
		owner == 0 ? "" : " or root", self, path);
}

/* Goes up to what can be looked at. */
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

int db_rights_refuse(const char *path, enum db_right right, struct err *err)
{
	struct stat info = {0};
	_cleanup_free_ char *at = find_barrier(path, &info);
	_cleanup_free_ char *self = name_of(geteuid());
	_cleanup_free_ char *owner = name_of(info.st_uid);
	_cleanup_free_ char *mend = NULL;

	if (!str_eq(at, path))
		right = DB_RIGHT_PATH;
	mend = advice(at, right, info.st_uid);
	return err_set(err, ERR_CONFIG,
		"%s: the user %s may not %s; it belongs to %s, with mode %04o: "
		"%s",
		at, self, rights[right].what, owner,
		(unsigned)info.st_mode & 07777, mend);
}
