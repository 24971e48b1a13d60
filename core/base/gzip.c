/*
 * gzip: compresses and decompresses with zlib.
 *
 * Invariant of gzip_unpack(): out never grows by more than max + 1 bytes and a NUL. Threads:
 * any.
 */
#include "core/base/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/base/mem.h"

enum {
	GZIP_ONLY = 16 + MAX_WBITS, /* see inflateInit2() */
	ROOM_FIRST = 4096,
};

struct gzip {
	z_stream stream;
	const unsigned char *data; /* input that zlib has not got yet */
	size_t len;
	struct buf *out;
	size_t start; /* offset of our data in out */
	size_t max;
};

/* Grows out by doubling, but at most to one byte more than max, which is enough to notice that
 * the limit is exceeded. buf_reserve() would allocate more. */
static void make_room(struct gzip *gzip)
{
	struct buf *out = gzip->out;
	size_t used = out->len - gzip->start;
	size_t room = used < ROOM_FIRST / 2 ? ROOM_FIRST : 2 * used;

	if (room > gzip->max)
		room = gzip->max + 1;
	if (out->cap > gzip->start + room)
		return;
	out->cap = gzip->start + room + 1;
	out->data = mem_grow(out->data, out->cap, 1);
}

static uInt at_most(size_t n)
{
	return n < UINT_MAX ? (uInt)n : UINT_MAX;
}

/* Calls zlib once and returns its status. */
static int inflate_some(struct gzip *gzip)
{
	z_stream *stream = &gzip->stream;
	uInt in = at_most(gzip->len), room;
	int status;

	make_room(gzip);
	room = at_most(gzip->out->cap - gzip->out->len - 1);
	stream->next_in = (z_const Bytef *)gzip->data;
	stream->avail_in = in;
	stream->next_out = (Bytef *)gzip->out->data + gzip->out->len;
	stream->avail_out = room;
	status = inflate(stream, Z_NO_FLUSH);
	gzip->data += in - stream->avail_in;
	gzip->len -= in - stream->avail_in;
	buf_wrote(gzip->out, room - stream->avail_out);
	return status;
}

/* Decompresses one member. */
static int unpack_member(struct gzip *gzip, struct err *err)
{
	int status;

	do {
		status = inflate_some(gzip);
		if (gzip->out->len - gzip->start > gzip->max)
			return err_set(err, ERR_TOO_LARGE,
				"the unpacked data is larger than %zu bytes", gzip->max);
	} while (status == Z_OK && (gzip->len > 0 || gzip->stream.avail_out == 0));
	if (status == Z_STREAM_END)
		return 0;
	if (gzip->len == 0 && (status == Z_OK || status == Z_BUF_ERROR))
		return err_set(err, ERR_INVALID, "the gzip data is not complete: it ends early");
	return err_set(err, ERR_INVALID, "the data is not valid gzip: %s",
		gzip->stream.msg ? gzip->stream.msg : "damaged");
}

int gzip_unpack(const void *data, size_t len, size_t max, struct buf *out, struct err *err)
{
	struct gzip gzip = {.data = data, .len = len, .out = out, .start = out->len, .max = max};
	int result;

	if (inflateInit2(&gzip.stream, GZIP_ONLY) != Z_OK)
		return err_set(err, ERR_TEMPORARY, "zlib has no memory");
	do {
		result = unpack_member(&gzip, err);
		if (result == 0)
			inflateReset(&gzip.stream);
	} while (result == 0 && gzip.len > 0);
	inflateEnd(&gzip.stream);
	if (result < 0 && out->data) {
		out->len = gzip.start;
		out->data[out->len] = '\0';
	}
	return result;
}

void gzip_pack(const void *data, size_t len, struct buf *out)
{
	z_stream stream = {0};

	if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_ONLY, 9,
		    Z_DEFAULT_STRATEGY) != Z_OK)
		abort(); /* out of memory */
	stream.next_in = (z_const Bytef *)data;
	stream.avail_in = (uInt)len;
	stream.avail_out = (uInt)deflateBound(&stream, len);
	stream.next_out = (Bytef *)buf_reserve(out, stream.avail_out);
	deflate(&stream, Z_FINISH);
	buf_wrote(out, stream.total_out);
	deflateEnd(&stream);
}

/* Wraps gzFile, which is a pointer itself. */
struct gzip_file {
	gzFile stream;
	char *path;
};

int gzip_file_open(const char *path, struct gzip_file **file_r, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct gzip_file *file;

	if (fd < 0)
		return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_TEMPORARY, "%s: %s", path,
			strerror(errno));
	file = mem_new(struct gzip_file);
	file->stream = gzdopen(fd, "rb");
	if (file->stream == NULL)
		abort(); /* out of memory */
	file->path = mem_strdup(path);
	*file_r = file;
	return 0;
}

void gzip_file_close(struct gzip_file *file)
{
	if (file == NULL)
		return;
	gzclose_r(file->stream);
	free(file->path);
	free(file);
}

long gzip_file_read(struct gzip_file *file, void *data, unsigned size, struct err *err)
{
	int n = gzread(file->stream, data, size), number;

	if (n >= 0)
		return n;
	return err_set(err, ERR_TEMPORARY, "%s: %s", file->path, gzerror(file->stream, &number));
}

int gzip_file_seek(struct gzip_file *file, int64_t offset, struct err *err)
{
	char skipped[65536];
	long n;

	gzrewind(file->stream);
	while (offset > 0) {
		n = gzip_file_read(file, skipped,
			offset < (int64_t)sizeof(skipped) ? (unsigned)offset : sizeof(skipped),
			err);
		if (n <= 0)
			return (int)n;
		offset -= n;
	}
	return 1;
}
