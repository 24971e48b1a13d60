/*
 * source_file: follows a log file through its rotations.
 *
 * A file is identified by its first bytes, not by name or inode. A position is `OFFSET LENGTH
 * HASH`: the offset of a line in the file whose first LENGTH bytes have this hash, gzipped or
 * not. So the file is found again after it was renamed, copied or compressed, even while the
 * reader was not running. Files rotated since then are read in the order of their modification
 * times.
 *
 * The writer continues in a renamed file until it reopens its log, so the old file is read
 * until the new one has content.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/gzip.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "events/source.h"

enum {
	FINGERPRINT_MAX = 200,
	READ_SIZE = 65536,
	LINE_MAX_BYTES = 65536, /* longer lines are not Postfix's */
};

/* Identifies a file by its first bytes. */
struct fingerprint {
	unsigned len;
	uint8_t hash[SECRET_HASH_LEN];
};

struct source_file {
	struct source base;
	char *path;
	bool once;
	struct strv rotated;            /* rotated files to read before the current one */
	size_t rotated_n;               /* how many of them were opened */
	struct gzip_file *old;          /* the rotated file that is being read, */
	int64_t old_time_us;            /* and its modification time; */
	int fd;                         /* or the current file; -1 if none */
	struct stat opened;             /* state of fd when it was opened */
	struct fingerprint fingerprint; /* of the file that is being read */
	char first[FINGERPRINT_MAX];    /* the bytes of the fingerprint */
	int64_t offset;                 /* of the next line */
	struct buf data;                /* bytes read; the next line begins at used */
	size_t used;                    /* bytes of data already returned as lines */
	bool at_end;                    /* the current file was read to its end once */
	const char *gap;                /* to be returned next */
};

static struct source_file *of(struct source *source)
{
	return CONTAINER_OF(source, struct source_file, base);
}

static void make_fingerprint(const char *bytes, unsigned len, struct fingerprint *fingerprint_r)
{
	fingerprint_r->len = len;
	secret_hash(bytes, len, fingerprint_r->hash);
}

static bool has_fingerprint(const char *bytes, unsigned n, const struct fingerprint *fingerprint)
{
	struct fingerprint other;

	if (fingerprint->len == 0)
		return true; /* nothing is known, so every file matches */
	if (n < fingerprint->len)
		return false;
	make_fingerprint(bytes, fingerprint->len, &other);
	return memcmp(other.hash, fingerprint->hash, sizeof(other.hash)) == 0;
}

/* Reads the first bytes of a file that may be gzipped. Returns their number, or -1 on error. */
static long first_bytes(const char *path, char bytes[static FINGERPRINT_MAX], bool *gone)
{
	_cleanup_(gzip_file) struct gzip_file *file = NULL;
	struct err err = ERR_INIT;

	if (gzip_file_open(path, &file, &err) < 0) {
		*gone |= err.code == ERR_NOT_FOUND;
		return -1;
	}
	return gzip_file_read(file, bytes, FINGERPRINT_MAX, NULL);
}

struct candidate {
	char *path;
	int64_t time_us; /* modification time */
	bool same;       /* it has the fingerprint that was looked for */
};

static int by_time(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return (x->time_us > y->time_us) - (x->time_us < y->time_us);
}

static int64_t mtime_us(const struct stat *st)
{
	return st->st_mtim.tv_sec * SECOND_US + st->st_mtim.tv_nsec / 1000;
}

static void free_candidates(struct candidate *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(all[i].path);
	free(all);
}

/* Lists the rotated files. Sets *gone if one of them was renamed or compressed meanwhile. */
static size_t look_into_folder(const struct source_file *file,
	const struct fingerprint *fingerprint, struct candidate **all_r, bool *gone)
{
	const char *base = strrchr(file->path, '/') + 1;
	_cleanup_free_ char *folder = mem_dup(file->path, (size_t)(base - file->path));
	struct candidate *all = NULL;
	struct dirent *entry;
	DIR *dir = opendir(folder);
	size_t n = 0;

	while (dir && (entry = readdir(dir)) != NULL) {
		char bytes[FINGERPRINT_MAX];
		struct stat st;
		long len;

		if (!str_starts(entry->d_name, base) || str_eq(entry->d_name, base))
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st, 0) < 0) {
			*gone |= errno == ENOENT;
			continue;
		}
		if (!S_ISREG(st.st_mode))
			continue;
		all = mem_grow(all, n + 1, sizeof(*all));
		all[n].path = mem_printf("%s%s", folder, entry->d_name);
		all[n].time_us = mtime_us(&st);
		len = first_bytes(all[n].path, bytes, gone);
		all[n].same = len > 0 && has_fingerprint(bytes, (unsigned)len, fingerprint);
		n++;
	}
	if (dir)
		closedir(dir);
	*all_r = all;
	return n;
}

/* Lists the rotated files, oldest first, again until no file has changed its name meanwhile. The
 * caller frees the list. */
static size_t list_rotated(const struct source_file *file, const struct fingerprint *fingerprint,
	struct candidate **all_r)
{
	enum { LOOKS_MAX = 100 };
	struct candidate *all = NULL;
	bool gone = true;
	size_t n = 0;

	for (int looks = 0; gone && looks < LOOKS_MAX; looks++) {
		free_candidates(all, n);
		gone = false;
		n = look_into_folder(file, fingerprint, &all, &gone);
	}
	if (n)
		qsort(all, n, sizeof(*all), by_time);
	*all_r = all;
	return n;
}

static void close_all(struct source_file *file)
{
	gzip_file_close(TAKE_PTR(file->old));
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	file->at_end = false;
	file->offset = 0;
	file->used = 0;
	file->fingerprint.len = 0;
	buf_clear(&file->data);
}

/* Opens a rotated file at the offset. Returns 1, 0 if the file is shorter, -1 on error. */
static int open_rotated(struct source_file *file, const char *path, int64_t offset, struct err *err)
{
	struct stat st;
	long len;
	int found;

	close_all(file);
	if (gzip_file_open(path, &file->old, err) < 0)
		return -1;
	file->old_time_us = stat(path, &st) == 0 ? mtime_us(&st) : clock_now_us(&clock_system);
	len = gzip_file_read(file->old, file->first, FINGERPRINT_MAX, err);
	if (len < 0)
		return -1;
	make_fingerprint(file->first, (unsigned)len, &file->fingerprint);
	found = gzip_file_seek(file->old, offset, err);
	if (found == 1)
		file->offset = offset;
	return found;
}

/* Extends the fingerprint of a short file that has grown. Not if the file was truncated and begins
 * with other bytes now. */
static void widen_fingerprint(struct source_file *file)
{
	char bytes[FINGERPRINT_MAX];
	ssize_t n;

	if (file->fd < 0 || file->fingerprint.len == FINGERPRINT_MAX)
		return;
	n = pread(file->fd, bytes, FINGERPRINT_MAX, 0);
	if (n <= (ssize_t)file->fingerprint.len ||
		memcmp(bytes, file->first, file->fingerprint.len) != 0)
		return;
	memcpy(file->first, bytes, (size_t)n);
	make_fingerprint(bytes, (unsigned)n, &file->fingerprint);
}

/* Opens the current file, but nothing that has no end or would be waited for, as /dev/stdout.
 * Returns 1, 0 if there is none, -1 on error. */
static int open_current(struct source_file *file, int64_t offset, struct err *err)
{
	close_all(file);
	file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0 && errno == ENOENT)
		return 0;
	if (file->fd < 0 || fstat(file->fd, &file->opened) < 0)
		return err_set(err, errno == EACCES ? ERR_CONFIG : ERR_TEMPORARY, "%s: %s",
			file->path, strerror(errno));
	if (!S_ISREG(file->opened.st_mode)) {
		close_all(file);
		return err_set(err, ERR_TEMPORARY, "%s: this is no regular file", file->path);
	}
	file->offset = offset;
	widen_fingerprint(file);
	return 1;
}

static bool is_packed(const char *path)
{
	size_t len = strlen(path);

	return len > 3 && str_eq(path + len - 3, ".gz");
}

/* Continues in the file with this fingerprint. While a file is being compressed it exists twice,
 * and the compressed one is incomplete, so the other is preferred. */
static int locate(struct source_file *file, const struct fingerprint *fingerprint, int64_t offset,
	const char *gap, struct err *err)
{
	struct candidate *all = NULL;
	size_t n = list_rotated(file, fingerprint, &all), found = n;
	const char *path = NULL;
	int result = 0;

	strv_free(&file->rotated);
	file->rotated_n = 0;
	for (size_t i = 0; i < n; i++)
		if (all[i].same &&
			(found == n || !is_packed(all[i].path) || is_packed(all[found].path)))
			found = i;
	if (found < n) {
		strv_add(&file->rotated, all[found].path);
		for (size_t i = found + 1; i < n; i++)
			if (!all[i].same)
				strv_add(&file->rotated, all[i].path);
		path = file->rotated.items[0];
		file->rotated_n = 1;
		result = open_rotated(file, path, offset, err);
	}
	free_candidates(all, n);
	if (result < 0)
		return -1;
	if (result == 0) {
		file->gap = gap;
		result = open_current(file, 0, err);
	}
	return result < 0 ? -1 : 0;
}

static int read_position(const char *position, struct fingerprint *fingerprint_r, int64_t *offset_r)
{
	struct fingerprint fingerprint = {0};
	char hash[2 * SECRET_HASH_LEN + 1];
	int64_t offset;

	if (sscanf(position, "%" SCNd64 " %u %64s", &offset, &fingerprint.len, hash) != 3 ||
		strlen(hash) != sizeof(hash) - 1 || offset < 0 || fingerprint.len > FINGERPRINT_MAX)
		return -1;
	for (size_t i = 0; i < sizeof(fingerprint.hash); i++) {
		int byte = ascii_hex_pair(hash + 2 * i);

		if (byte < 0)
			return -1;
		fingerprint.hash[i] = (uint8_t)byte;
	}
	*fingerprint_r = fingerprint;
	*offset_r = offset;
	return 0;
}

static int open_at(struct source_file *file, const char *position, struct err *err)
{
	struct fingerprint fingerprint;
	int64_t offset;
	int found = open_current(file, 0, err);

	if (found < 0)
		return -1;
	if (position == NULL)
		return 0;
	if (read_position(position, &fingerprint, &offset) < 0) {
		file->gap = "cursor_lost";
		return 0;
	}
	if (file->fd >= 0 && file->opened.st_size >= offset &&
		has_fingerprint(file->first, file->fingerprint.len, &fingerprint)) {
		file->offset = offset;
		return 0;
	}
	return locate(file, &fingerprint, offset, "cursor_lost", err);
}

/* Reads more bytes. Returns their number, 0 at the end, -1 on error. */
static long read_more(struct source_file *file, struct err *err)
{
	size_t left = file->data.len - file->used;
	int64_t end = file->offset + (int64_t)left;
	char *room;
	long n;

	/* The used part goes, if it is large or there is nothing else. */
	if (left == 0 || file->used >= READ_SIZE) {
		if (left)
			memmove(file->data.data, file->data.data + file->used, left);
		file->data.len = left;
		file->used = 0;
	}
	room = buf_reserve(&file->data, READ_SIZE);
	if (file->old) {
		n = gzip_file_read(file->old, room, READ_SIZE, err);
	} else if (file->fd >= 0) {
		n = pread(file->fd, room, READ_SIZE, end);
		if (n < 0)
			return err_set(err, ERR_TEMPORARY, "%s: %s", file->path, strerror(errno));
	} else {
		n = 0;
	}
	if (n > 0)
		buf_wrote(&file->data, (size_t)n);
	return n;
}

/* Takes the next line from data; with all, also one without a newline. */
static bool take_line(struct source_file *file, bool all, struct source_line *line_r)
{
	size_t left = file->data.len - file->used, len;
	char *from, *end;

	if (left == 0)
		return false;
	from = file->data.data + file->used;
	end = memchr(from, '\n', left);
	if (end == NULL && !all && left <= LINE_MAX_BYTES)
		return false;
	len = end ? (size_t)(end - from) : left;
	file->used += len + (end != NULL);
	file->offset += (int64_t)(len + (end != NULL));
	/* A writer that does not notice that its file was truncated leaves a hole of zero
	 * bytes. */
	while (len && *from == '\0')
		from++, len--;
	*line_r = (struct source_line){
		.text = from,
		.len = len,
		.anchor_us = file->old ? file->old_time_us : clock_now_us(&clock_system),
		.live = file->at_end,
	};
	return true;
}

/* Lists the files that were rotated after the given time, to be read before the current file. */
static void list_following(struct source_file *file, int64_t written_us)
{
	struct candidate *all = NULL;
	size_t n = list_rotated(file, &file->fingerprint, &all);

	strv_free(&file->rotated);
	file->rotated_n = 0;
	for (size_t i = 0; i < n; i++)
		if (!all[i].same && all[i].time_us > written_us)
			strv_add(&file->rotated, all[i].path);
	free_candidates(all, n);
}

/* Opens the next rotated file, or the current one. Returns 1, 0 if there is none, -1 on error.
 * While the current file is empty, the position stays after the rotated one, because the
 * current file may be rotated again before it is read. */
static int open_following(struct source_file *file, struct err *err)
{
	struct stat st;

	if (file->rotated_n == file->rotated.n && file->old && !file->once) {
		if (stat(file->path, &st) < 0 || st.st_size == 0)
			return 0;
		list_following(file, file->old_time_us);
	}
	if (file->rotated_n < file->rotated.n) {
		const char *path = file->rotated.items[file->rotated_n];
		int result = open_rotated(file, path, 0, err);

		if (result >= 0)
			file->rotated_n++;
		return result < 0 ? -1 : 1;
	}
	if (file->once) {
		file->at_end = true;
		return 0;
	}
	return open_current(file, 0, err);
}

/* At the end of the current file, finds out if the writer uses another file now. Returns 1 if
 * there is more to read, 2 if the file was renamed, 0 if there is nothing yet, -1 on error. */
static int look_around(struct source_file *file, struct err *err)
{
	char bytes[FINGERPRINT_MAX];
	struct fingerprint before = file->fingerprint;
	struct stat now, open_now;
	int64_t offset = file->offset;
	ssize_t n;

	if (fstat(file->fd, &open_now) < 0)
		return err_set(err, ERR_TEMPORARY, "%s: %s", file->path, strerror(errno));
	n = pread(file->fd, bytes, FINGERPRINT_MAX, 0);
	if (open_now.st_size < offset + (int64_t)(file->data.len - file->used) ||
		n < (ssize_t)before.len || !has_fingerprint(bytes, (unsigned)n, &before))
		return locate(file, &before, offset, "truncated", err) < 0 ? -1 : 1;
	if (stat(file->path, &now) < 0)
		return 0;
	if (now.st_ino == open_now.st_ino && now.st_dev == open_now.st_dev)
		return 0;
	if (now.st_size == 0)
		return 0;
	/* The renamed file is complete now. Its end is read once more. */
	return 2;
}

static int file_next(struct source *source, struct source_line *line_r, struct err *err)
{
	struct source_file *file = of(source);
	bool complete = false;
	struct stat st;
	long n;
	int result;

	for (;;) {
		if (file->gap) {
			*line_r = (struct source_line){.gap = file->gap};
			file->gap = NULL;
			return 1;
		}
		if (take_line(file, false, line_r))
			return 1;
		n = read_more(file, err);
		if (n < 0 && file->old == NULL)
			return -1;
		if (n > 0)
			continue;
		if (n < 0)
			file->gap = "unreadable";
		if (file->old || complete) {
			/* Nobody writes to this file any more. */
			if (take_line(file, true, line_r))
				return 1;
		}
		if (file->old) {
			result = open_following(file, err);
		} else if (file->fd < 0) {
			result = file->once ? 0 : open_current(file, 0, err);
		} else if (complete) {
			/* The renamed file is read to its end: the files after it follow. */
			list_following(file, fstat(file->fd, &st) == 0 ? mtime_us(&st) : 0);
			close_all(file);
			result = open_following(file, err);
			complete = false;
		} else {
			widen_fingerprint(file);
			file->at_end = true;
			result = look_around(file, err);
			complete = result == 2;
		}
		if (result <= 0)
			return result;
	}
}

static void file_position(struct source *source, struct buf *position)
{
	struct source_file *file = of(source);

	widen_fingerprint(file);
	buf_printf(position, "%" PRId64 " %u ", file->offset, file->fingerprint.len);
	buf_add_hex(position, file->fingerprint.hash, sizeof(file->fingerprint.hash));
}

static void file_free(struct source *source)
{
	struct source_file *file = of(source);

	close_all(file);
	buf_free(&file->data);
	strv_free(&file->rotated);
	free(file->path);
	free(file);
}

static const struct source_ops file_ops = {file_next, file_position, file_free};

static struct source_file *new_file(const char *path)
{
	struct source_file *file = mem_new(struct source_file);

	file->base.ops = &file_ops;
	file->path = mem_strdup(path);
	file->fd = -1;
	return file;
}

int source_file_open(
	const char *path, const char *position, struct source **source_r, struct err *err)
{
	struct source_file *file = new_file(path);

	if (open_at(file, position, err) < 0) {
		file_free(&file->base);
		return -1;
	}
	*source_r = &file->base;
	return 0;
}

int source_file_once(const char *path, struct source **source_r, struct err *err)
{
	struct source_file *file = new_file(path);

	file->once = true;
	if (open_rotated(file, path, 0, err) < 0) {
		file_free(&file->base);
		return -1;
	}
	*source_r = &file->base;
	return 0;
}
