/*
 * store_message: the messages of emails, in rows, in files and in chunks.
 *
 * Threads: a handle is used by one thread at a time; files by any.
 */
#include "core/store/email/store_message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/db/db_file.h"
#include "core/store/row.h"

static char *folder_of(const char *database)
{
	return mem_printf("%s-messages", database);
}

static char *path_of(const char *database, const char *id)
{
	return mem_printf("%s-messages/%s", database, id);
}

static int file_failed(const char *path, struct err *err)
{
	return err_set(err, ERR_TEMPORARY, "%s: %s", path, strerror(errno));
}

/* Writes with O_DIRECT where the file system supports it: this saves a copy, and most messages are
 * never read again. If the length is not a multiple of a block, the file is truncated at the
 * end. */
enum { DIRECT_LEAST = 1024 * 1024, DIRECT_BLOCK = 4096, DIRECT_PIECE = 1024 * 1024 };

static bool write_direct(int fd, const struct buf *message)
{
	size_t done = 0;
	void *piece = NULL;
	bool written = message->len >= DIRECT_LEAST && fcntl(fd, F_SETFL, O_DIRECT) == 0 &&
		       posix_memalign(&piece, DIRECT_BLOCK, DIRECT_PIECE) == 0;

	if (!written)
		return false;
	while (written && done < message->len) {
		size_t left = message->len - done, len = left < DIRECT_PIECE ? left : DIRECT_PIECE;
		size_t whole = (len + DIRECT_BLOCK - 1) / DIRECT_BLOCK * DIRECT_BLOCK;

		memcpy(piece, message->data + done, len);
		memset((char *)piece + len, 0, whole - len);
		written = write(fd, piece, whole) == (ssize_t)whole;
		done += len;
	}
	free(piece);
	return written && ftruncate(fd, (off_t)message->len) == 0;
}

static int write_all(int fd, const struct buf *message)
{
	size_t done = 0;

	if (write_direct(fd, message))
		return fsync(fd);
	if (fcntl(fd, F_SETFL, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0 || ftruncate(fd, 0) < 0)
		return -1;
	while (done < message->len) {
		ssize_t n = write(fd, message->data + done, message->len - done);

		if (n < 0 && errno != EINTR)
			return -1;
		done += n > 0 ? (size_t)n : 0;
	}
	return fsync(fd);
}

/* A file made by root gets the owner of the folder, because the daemons must read it. */
static int give_to_owner(int fd, const struct stat *of)
{
	return geteuid() == 0 ? fchown(fd, of->st_uid, of->st_gid) : 0;
}

/* Opens the folder of the files, and creates it if it is missing. Returns a descriptor, or -1. */
static int open_folder(const char *database, const char *path, struct err *err)
{
	_cleanup_free_ char *parent = db_file_folder(database);
	bool made = mkdir(path, 0750) == 0;
	struct stat of;
	int fd;

	if (!made && errno != EEXIST)
		return file_failed(path, err);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return file_failed(path, err);
	if (made && (stat(parent, &of) < 0 || give_to_owner(fd, &of) < 0)) {
		file_failed(path, err);
		close(fd);
		return -1;
	}
	return fd;
}

int store_message_volume(const char *database, struct statvfs *volume_r)
{
	_cleanup_free_ char *folder = folder_of(database);

	return db_file_volume_of(folder, volume_r);
}

int store_message_write(
	const char *database, const char *id, const struct buf *message, struct err *err)
{
	_cleanup_free_ char *path = folder_of(database);
	struct stat of;
	int folder, fd, result = 0;

	if (message->len <= MESSAGE_FILE_BYTES)
		return 0;
	folder = open_folder(database, path, err);
	if (folder < 0)
		return -1;
	fd = openat(folder, id, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0 || fstat(folder, &of) < 0 || give_to_owner(fd, &of) < 0 ||
		write_all(fd, message) < 0 || fsync(folder) < 0)
		result = file_failed(path, err);
	if (fd >= 0) {
		close(fd);
		if (result < 0)
			unlinkat(folder, id, 0);
	}
	close(folder);
	return result;
}

/*
 * Chunks.
 */

enum { CHUNK_BYTES = 256 * 1024 };

struct chunks {
	const char *id;
	const struct buf *message;
	size_t written; /* bytes */
};

/* Adds the next chunk. Returns 1 if there are more, 0 if not, -1 on error. */
static int write_chunk(struct db *db, void *arg, struct err *err)
{
	static const char sql_chunk[] =
		"INSERT INTO message_chunk (email_id, n, created_us, data)"
		" VALUES ($id, $n, $now, $data)"
		" ON CONFLICT (email_id, n) DO UPDATE SET data = excluded.data";
	struct chunks *chunks = arg;
	size_t left = chunks->message->len - chunks->written;
	size_t len = left < CHUNK_BYTES ? left : CHUNK_BYTES;

	if (db_change(db, sql_chunk,
		    DB_PARAMS(DB_TEXT("$id", chunks->id),
			    DB_INT("$n", (int64_t)(chunks->written / CHUNK_BYTES)),
			    DB_INT("$now", clock_now_us(&clock_system)),
			    DB_BLOB("$data", chunks->message->data + chunks->written, len)),
		    err) < 0)
		return -1;
	return left > len;
}

int store_message_write_chunks(
	struct committer *committer, const char *id, const struct buf *message, struct err *err)
{
	struct chunks chunks = {.id = id, .message = message};
	int more = message->len > MESSAGE_FILE_BYTES;

	while (more > 0) {
		more = committer_run(committer, write_chunk, &chunks, err);
		chunks.written += CHUNK_BYTES;
	}
	return more;
}

/* For a message whose chunks were not written before. */
static int keep_chunks(struct db *db, const char *id, const struct buf *message, struct err *err)
{
	static const char sql_any[] = "SELECT 1 FROM message_chunk WHERE email_id = $id LIMIT 1";
	struct chunks chunks = {.id = id, .message = message};
	int64_t one;
	int found = row_number(db, sql_any, DB_PARAMS(DB_TEXT("$id", id)), &one, err);
	int more = found < 0 ? -1 : found == 0;

	while (more > 0) {
		more = write_chunk(db, &chunks, err);
		chunks.written += CHUNK_BYTES;
	}
	return more;
}

/* Returns 1; 0 if some of it is missing; -1 on error. */
static int read_chunks(
	struct db *db, const char *id, int64_t size, struct buf *message_r, struct err *err)
{
	static const char sql_chunks[] =
		"SELECT data FROM message_chunk WHERE email_id = $id AND n = $n";
	int64_t n = 0, done = 0;
	int found = 1;

	while (found > 0 && done < size) {
		struct db_stmt *stmt;
		const void *data;
		size_t len = 0;

		found = db_first(db, sql_chunks, DB_PARAMS(DB_TEXT("$id", id), DB_INT("$n", n++)),
			&stmt, err);
		if (found <= 0)
			break;
		data = db_blob(stmt, 0, &len);
		buf_add(message_r, data, len);
		done += (int64_t)len;
		db_reset(stmt);
	}
	if (found < 0 || done == size)
		return found;
	buf_clear(message_r);
	return 0;
}

#define SQL_ORPHANS                                                                                \
	"(SELECT c.email_id"                                                                       \
	"   FROM message_chunk c"                                                                  \
	"   WHERE c.n = 0 AND c.created_us >= $from AND c.created_us < $before"                    \
	"   AND NOT EXISTS (SELECT 1"                                                              \
	"     FROM email e"                                                                        \
	"     JOIN message m ON m.email = e.seq"                                                   \
	"     WHERE e.id = c.email_id)"                                                            \
	"   ORDER BY c.created_us, c.email_id"                                                     \
	"   LIMIT 1000)"

struct sweep {
	int64_t from_us, before_us;
};

static int sweep_chunks(struct db *db, void *arg, struct err *err)
{
	static const char sql_sweep[] = "DELETE FROM message_chunk WHERE email_id IN " SQL_ORPHANS;
	const struct sweep *sweep = arg;

	return db_change(db, sql_sweep,
		DB_PARAMS(DB_INT("$from", sweep->from_us), DB_INT("$before", sweep->before_us)),
		err);
}

int store_message_sweep_chunks(struct db *db, struct committer *committer, int64_t min_age_s,
	int64_t now_us, struct err *err)
{
	static const char sql_any[] = "SELECT count(*) FROM " SQL_ORPHANS " few";
	struct sweep sweep = {now_us - DAY_US, now_us - min_age_s * SECOND_US};
	int64_t n = 0;

	if (*db_host(db) == '\0')
		return 0;
	/* Reading first keeps others from waiting. */
	if (row_number(db, sql_any,
		    DB_PARAMS(DB_INT("$from", sweep.from_us), DB_INT("$before", sweep.before_us)),
		    &n, err) < 0)
		return -1;
	return n > 0 ? committer_run(committer, sweep_chunks, &sweep, err) : 0;
}
#undef SQL_ORPHANS

void store_message_discard(const char *database, const char *id)
{
	_cleanup_free_ char *path = path_of(database, id);

	unlink(path);
}

int store_message_keep(
	struct db *db, const struct email *email, const struct buf *message, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO message (email, size, content) VALUES ($email, $size, $content)";
	bool in_row = message->len <= MESSAGE_FILE_BYTES;

	if (!in_row && *db_host(db) && keep_chunks(db, email->id, message, err) < 0)
		return -1;
	return db_post(db, sql_add,
		DB_PARAMS(DB_INT("$email", email->seq), DB_INT("$size", (int64_t)message->len),
			DB_BLOB("$content", in_row ? message->data : NULL,
				in_row ? message->len : 0)),
		err);
}

int store_message_left(struct db *db, int64_t email, int64_t size, int64_t now_us, struct err *err)
{
	static const char sql_left[] =
		"INSERT INTO message_kept (left_us, email, size) VALUES ($now, $email, $size)";

	return db_post(db, sql_left,
		DB_PARAMS(DB_INT("$now", now_us), DB_INT("$email", email), DB_INT("$size", size)),
		err);
}

static int read_file(const char *path, int64_t size, struct buf *message_r, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat status;
	int found = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : file_failed(path, err);
	if (fstat(fd, &status) == 0 && status.st_size == size) {
		char *data = buf_reserve(message_r, (size_t)size);
		int64_t done = 0;
		ssize_t n = 1;

		while (done < size && n > 0) {
			n = read(fd, data + done, (size_t)(size - done));
			done += n > 0 ? n : 0;
		}
		found = n < 0 ? file_failed(path, err) : done == size;
		if (found > 0)
			buf_wrote(message_r, (size_t)size);
	}
	close(fd);
	return found;
}

int store_message_read(
	struct db *db, const char *database, const char *id, struct buf *message_r, struct err *err)
{
	static const char sql_read[] =
		"SELECT m.size, m.content"
		" FROM email e"
		" JOIN message m ON m.email = e.seq"
		" WHERE e.id = $id";
	_cleanup_free_ char *path = path_of(database, id);
	struct db_stmt *stmt;
	const void *content;
	int64_t size;
	size_t len;
	int found = db_first(db, sql_read, DB_PARAMS(DB_TEXT("$id", id)), &stmt, err);

	if (found <= 0)
		return found;
	size = db_int(stmt, 0);
	content = db_blob(stmt, 1, &len);
	if (content)
		buf_add(message_r, content, len);
	db_reset(stmt);
	if (content)
		return 1;
	return *db_host(db) ? read_chunks(db, id, size, message_r, err)
			    : read_file(path, size, message_r, err);
}

struct import {
	char *id;
	struct buf message;
};

static int import_message(struct db *db, void *arg, struct err *err)
{
	const struct import *import = arg;

	return keep_chunks(db, import->id, &import->message, err);
}

int64_t store_message_import(
	struct db *to, const char *database, int64_t *missing_r, struct err *err)
{
	static const char sql_orphans[] =
		"DELETE FROM message_chunk"
		" WHERE email_id NOT IN (SELECT e.id FROM email e JOIN message m ON m.email = e.seq)";
	static const char sql_next[] =
		"SELECT m.email, e.id, m.size"
		" FROM message m"
		" JOIN email e ON e.seq = m.email"
		" WHERE m.content IS NULL AND m.email > $after"
		"   AND NOT EXISTS (SELECT 1 FROM message_chunk c WHERE c.email_id = e.id)"
		" ORDER BY m.email"
		" LIMIT 1";
	int64_t after = INT64_MIN, copied = 0, missing = 0;
	int found = db_change(to, sql_orphans, NULL, err);

	while (found >= 0) {
		_cleanup_free_ char *path = NULL;
		struct import import = {.message = BUF_INIT};
		struct db_stmt *stmt;
		int64_t size;

		found = db_first(to, sql_next, DB_PARAMS(DB_INT("$after", after)), &stmt, err);
		if (found <= 0)
			break;
		after = db_int(stmt, 0);
		import.id = db_copy(stmt, 1);
		size = db_int(stmt, 2);
		db_reset(stmt);
		path = path_of(database, import.id);
		found = read_file(path, size, &import.message, err);
		if (found > 0)
			found = db_atomic(to, import_message, &import, err) < 0 ? -1 : 1;
		copied += found > 0;
		missing += found == 0;
		buf_free(&import.message);
		free(import.id);
	}
	*missing_r = missing;
	return found < 0 ? -1 : copied;
}

int store_message_erase(struct db *db, const char *database, int64_t email, struct err *err)
{
	static const char sql_file[] =
		"SELECT e.id"
		" FROM message m"
		" JOIN email e ON e.seq = m.email"
		" WHERE m.email = $email AND m.content IS NULL";
	static const char sql_chunks[] =
		"DELETE FROM message_chunk"
		" WHERE email_id = (SELECT id FROM email WHERE seq = $email)";
	static const char sql_erase[] = "DELETE FROM message WHERE email = $email";
	static const char sql_kept[] = "DELETE FROM message_kept WHERE email = $email";
	const struct db_param *params = DB_PARAMS(DB_INT("$email", email));
	struct db_stmt *stmt;
	int found;

	if (database) {
		found = db_first(db, sql_file, params, &stmt, err);
		if (found < 0)
			return -1;
		if (found > 0) {
			store_message_discard(database, db_text(stmt, 0));
			db_reset(stmt);
		}
	}
	if (*db_host(db) && db_change(db, sql_chunks, params, err) < 0)
		return -1;
	/* The message no longer counts towards the kept bytes. */
	return db_change(db, sql_erase, params, err) < 0 || db_change(db, sql_kept, params, err) < 0
		       ? -1
		       : 0;
}

#define OLD                                                                                        \
	" FROM message_kept"                                                                       \
	" WHERE (left_us, email) <= ($left, $last)"                                                \
	" ORDER BY left_us, email"                                                                 \
	" LIMIT $max)"
/* The seq of a retracted email may have been reused. */
#define OLD_MESSAGES " email IN (SELECT email" OLD " AND email NOT IN (SELECT email FROM outbox)"

int store_message_clean(struct db *db, const char *database, const struct message_left *last,
	int max, struct err *err)
{
	static const char sql_files[] =
		"SELECT (SELECT e.id FROM email e WHERE e.seq = message.email)"
		" FROM message"
		" WHERE content IS NULL AND" OLD_MESSAGES;
	static const char sql_chunks[] =
		"DELETE FROM message_chunk"
		" WHERE email_id IN (SELECT (SELECT e.id FROM email e WHERE e.seq = message.email)"
		"   FROM message"
		"   WHERE content IS NULL AND" OLD_MESSAGES ")";
	static const char sql_messages[] = "DELETE FROM message WHERE" OLD_MESSAGES;
	static const char sql_kept[] =
		"DELETE FROM message_kept WHERE (left_us, email) IN (SELECT left_us, email" OLD;
	const struct db_param *params = DB_PARAMS(
		DB_INT("$left", last->us), DB_INT("$last", last->email), DB_INT("$max", max));
	struct db_stmt *stmt;
	int found;

	if (db_start(db, sql_files, params, &stmt, err) < 0)
		return -1;
	while ((found = db_step(stmt, err)) == 1)
		store_message_discard(database, db_text(stmt, 0));
	if (found < 0 || (*db_host(db) && db_change(db, sql_chunks, params, err) < 0) ||
		db_change(db, sql_messages, params, err) < 0)
		return -1;
	return db_change(db, sql_kept, params, err);
}
#undef OLD_MESSAGES
#undef OLD

int store_message_bound(struct db *db, struct message_bound *bound, int rows, struct err *err)
{
	static const char sql_newest[] =
		"SELECT left_us, email, size"
		" FROM message_kept"
		" WHERE (left_us, email) < ($left, $email)"
		" ORDER BY left_us DESC, email DESC"
		" LIMIT $rows";
	bool begins = bound->last.us == 0;
	struct db_stmt *stmt;
	int found, n = 0;

	if (db_start(db, sql_newest,
		    DB_PARAMS(DB_INT("$left", begins ? INT64_MAX : bound->last.us),
			    DB_INT("$email", begins ? 0 : bound->last.email),
			    DB_INT("$rows", rows)),
		    &stmt, err) < 0)
		return -1;
	while ((found = db_step(stmt, err)) == 1) {
		n++;
		bound->last = (struct message_left){db_int(stmt, 0), db_int(stmt, 1)};
		bound->bytes += db_int(stmt, 2);
		if (bound->bytes > bound->max_bytes) {
			bound->too_many = true;
			db_reset(stmt);
			return 0;
		}
	}
	return found < 0 ? -1 : n == rows;
}

int store_message_cut(struct db *db, const struct message_cut *cut, struct err *err)
{
	static const char sql_cut[] =
		"INSERT INTO message_cut (one, cut_us, left_us)"
		" VALUES (1, $cut, $left)"
		" ON CONFLICT (one) DO UPDATE SET cut_us = $cut, left_us = $left";

	return db_execute(db, sql_cut,
		DB_PARAMS(DB_INT("$cut", cut->cut_us), DB_INT("$left", cut->left_us)), err);
}

int store_message_last_cut(struct db *db, struct message_cut *cut_r, struct err *err)
{
	static const struct row_field cut_fields[] = {
		ROW_FIELD(message_cut, cut_us, ROW_INT64),
		ROW_FIELD(message_cut, left_us, ROW_INT64),
	};
	static const struct row_type cut_type = ROW_TYPE(message_cut, cut_fields);
	static const char sql_last[] = "SELECT cut_us, left_us FROM message_cut";

	return row_get(db, sql_last, NULL, &cut_type, cut_r, err);
}

int store_message_link_key(struct db *db, uint8_t key_r[static SECRET_HASH_LEN], struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO link_key (one, key) VALUES (1, $key) ON CONFLICT (one) DO NOTHING";
	static const char sql_get[] = "SELECT key FROM link_key";
	uint8_t fresh[SECRET_HASH_LEN];
	struct db_stmt *stmt;
	const void *key;
	size_t len;

	secret_random(fresh, sizeof(fresh));
	if (db_change(db, sql_add, DB_PARAMS(DB_BLOB("$key", fresh, sizeof(fresh))), err) < 0 ||
		db_first(db, sql_get, NULL, &stmt, err) != 1)
		return -1;
	key = db_blob(stmt, 0, &len);
	memcpy(key_r, key, SECRET_HASH_LEN);
	db_reset(stmt);
	return 0;
}

int store_message_size(struct db *db, const char *id, int64_t *size_r, struct err *err)
{
	static const char sql_size[] =
		"SELECT m.size"
		" FROM email e"
		" JOIN message m ON m.email = e.seq"
		" WHERE e.id = $id";

	return row_number(db, sql_size, DB_PARAMS(DB_TEXT("$id", id)), size_r, err);
}

int store_message_sweep(struct db *db, const char *database, int64_t min_age_s, struct err *err)
{
	_cleanup_free_ char *folder = folder_of(database);
	DIR *files = opendir(folder);
	const struct dirent *file;
	int removed = 0, has = 0;
	struct stat status;
	int64_t size;

	if (files == NULL)
		return errno == ENOENT ? 0 : file_failed(folder, err);
	while (has >= 0 && (file = readdir(files)) != NULL) {
		char id[ID_SIZE];

		/* A file that is still being written has no row yet. */
		if (!id_parse(file->d_name, id) ||
			fstatat(dirfd(files), file->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(status.st_mode) || status.st_mtime + min_age_s > time(NULL))
			continue;
		has = store_message_size(db, id, &size, err);
		if (has == 0 && unlinkat(dirfd(files), file->d_name, 0) == 0)
			removed++;
	}
	closedir(files);
	return has < 0 ? -1 : removed;
}
