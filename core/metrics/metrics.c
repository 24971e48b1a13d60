/*
 * metrics: the file with a program's counters.
 *
 * It is written in place by one pwrite(2) and not mapped: access to a mapped file raises a
 * signal if somebody truncates it or the disk is full. A reader may see a partial write, which
 * the checksum reveals. The lock is an open file description lock, which ends with the process,
 * however it ends.
 *
 * Threads: a writer is used by one thread at a time; reading is thread-safe.
 */
#include "core/metrics/metrics.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/version.h"

enum {
	VALUES_MAX = 2048,
	NAME_SIZE = 64,
	READ_TRIES = 3, /* a read that meets a write is repeated */
};

static const struct {
	const char *name;
	const char *suffix;
	size_t size;
} programs[] = {
	[METRICS_MILTER] = {"postern-milter", "-metrics-milter", sizeof(struct metrics_milter)},
	[METRICS_EVENTS] = {"postern-events", "-metrics-events", sizeof(struct metrics_events)},
	[METRICS_WEBHOOK] = {"postern-webhook", "-metrics-webhook", sizeof(struct metrics_webhook)},
};
_Static_assert(sizeof(struct metrics_milter) <= VALUES_MAX, "it has to fit");
_Static_assert(sizeof(struct metrics_events) <= VALUES_MAX, "it has to fit");

/* The layout of the file; `size` bytes of values follow. */
struct head {
	char name[NAME_SIZE]; /* program and version, which determine the layout */
	uint64_t size;
	uint64_t sum; /* checksum of the whole image, computed with sum = 0 */
};

struct image {
	struct head head;
	unsigned char values[VALUES_MAX];
};

struct metrics_file {
	enum metrics_program program;
	char *path;
	int64_t start_us;
	int fd; /* -1 if none */
	bool failed;
};

const char *metrics_program_name(enum metrics_program program)
{
	return programs[program].name;
}

char *metrics_path(const char *database, enum metrics_program program)
{
	return mem_printf("%s%s", database, programs[program].suffix);
}

/* Builds the content of the file and returns its length. */
static size_t make_image(enum metrics_program program, const void *values, struct image *image_r)
{
	size_t len = sizeof(image_r->head) + programs[program].size;

	memset(image_r, 0, sizeof(*image_r));
	snprintf(image_r->head.name, sizeof(image_r->head.name), "%s %s", programs[program].name,
		POSTERN_VERSION);
	image_r->head.size = programs[program].size;
	memcpy(image_r->values, values, programs[program].size);
	image_r->head.sum = mem_hash(MEM_HASH, image_r, len);
	return len;
}

/*
 * Writing.
 */

struct metrics_file *metrics_file_new(const char *database, enum metrics_program program)
{
	struct metrics_file *file = mem_new(struct metrics_file);

	file->program = program;
	file->start_us = clock_now_us(&clock_system);
	file->path = metrics_path(database, program);
	file->fd = -1;
	return file;
}

static void close_file(struct metrics_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

void metrics_file_free(struct metrics_file *file)
{
	if (file == NULL)
		return;
	close_file(file);
	free(file->path);
	free(file);
}

static int fail_metrics(const struct metrics_file *file, const char *what, struct err *err)
{
	return err_set(err, ERR_TEMPORARY, "cannot %s %s: %s", what, file->path, strerror(errno));
}

/* Fails if another process of this program has the lock; then that one writes. */
static int open_file(struct metrics_file *file, struct err *err)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	file->fd = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
	if (file->fd < 0)
		return fail_metrics(file, "open", err);
	if (fcntl(file->fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	fail_metrics(file, "lock", err);
	close_file(file);
	return -1;
}

int metrics_file_write(struct metrics_file *file, void *values, struct err *err)
{
	struct image image;
	struct stat status;
	size_t len;

	metrics_process_look(file->start_us, values);
	len = make_image(file->program, values, &image);
	if (file->fd >= 0 && (fstat(file->fd, &status) < 0 || status.st_nlink == 0))
		close_file(file);
	if (file->fd < 0 && open_file(file, err) < 0)
		return -1;
	if (pwrite(file->fd, &image, len, 0) != (ssize_t)len)
		return fail_metrics(file, "write", err);
	if (fstat(file->fd, &status) == 0 && status.st_size != (off_t)len &&
		ftruncate(file->fd, (off_t)len) < 0)
		return fail_metrics(file, "write", err);
	return 0;
}

void metrics_file_update(struct metrics_file *file, void *values, struct log *log)
{
	struct err err = ERR_INIT;
	bool failed = metrics_file_write(file, values, &err) < 0;

	if (failed && !file->failed)
		log_warn(log, "metrics_not_written", "error", err.text);
	file->failed = failed;
}

/*
 * Reading.
 */

static bool is_locked(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static bool read_image(int fd, enum metrics_program program, void *values_r)
{
	size_t len = sizeof(struct head) + programs[program].size;
	struct image image = {0}, again;
	struct stat status;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size != (off_t)len ||
		pread(fd, &image, len, 0) != (ssize_t)len)
		return false;
	make_image(program, image.values, &again);
	if (memcmp(&image.head, &again.head, sizeof(again.head)) != 0)
		return false;
	memcpy(values_r, image.values, programs[program].size);
	return true;
}

enum metrics_found metrics_read(const char *path, enum metrics_program program, void *values_r)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	enum metrics_found found = METRICS_FOREIGN;

	if (fd < 0)
		return errno == ENOENT ? METRICS_MISSING : METRICS_UNREADABLE;
	for (int i = 0; i < READ_TRIES && found == METRICS_FOREIGN; i++)
		if (read_image(fd, program, values_r))
			found = is_locked(fd) ? METRICS_LIVE : METRICS_ENDED;
	close(fd);
	return found;
}

/*
 * The process's data from /proc.
 */

static int64_t resident_bytes(void)
{
	char text[128];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *field;

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	field = strchr(text, ' ');
	return field ? strtoll(field, NULL, 10) * sysconf(_SC_PAGESIZE) : 0;
}

/* Does not count the descriptor that is open for the counting itself. */
static int64_t descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int64_t n = -3; /* `.`, `..`, and the directory's own descriptor */

	if (folder == NULL)
		return 0;
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

void metrics_process_look(int64_t start_us, struct metrics_process *process_r)
{
	struct rlimit limit = {0};
	struct timespec cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	getrlimit(RLIMIT_NOFILE, &limit);
	*process_r = (struct metrics_process){
		.start_us = start_us,
		.cpu_us = (int64_t)cpu.tv_sec * 1000000 + cpu.tv_nsec / 1000,
		.resident_bytes = resident_bytes(),
		.descriptors = descriptors(),
		.descriptors_max = (int64_t)limit.rlim_cur,
	};
}

bool metrics_webhook_runs(const char *database)
{
	_cleanup_free_ char *path = metrics_path(database, METRICS_WEBHOOK);
	struct metrics_webhook values;

	return metrics_read(path, METRICS_WEBHOOK, &values) == METRICS_LIVE && !values.failing;
}
