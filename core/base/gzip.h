/*
 * gzip: compresses and decompresses (RFC 1952).
 */
#ifndef POSTERN_BASE_GZIP_H
#define POSTERN_BASE_GZIP_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"

/* Appends the decompressed data of one or several concatenated members. On error out is
 * unchanged. ERR_TOO_LARGE as soon as it exceeds max bytes; no more than that is ever
 * allocated. ERR_INVALID if the data is not gzip, ends early or is followed by something else. */
int gzip_unpack(const void *data, size_t len, size_t max, struct buf *out, struct err *err);

/* Appends the data with the best compression. */
void gzip_pack(const void *data, size_t len, struct buf *out);

/* A file that is read decompressed if it is gzipped, and as it is otherwise. */
struct gzip_file;
int gzip_file_open(const char *path, struct gzip_file **file_r, struct err *err);
void gzip_file_close(struct gzip_file *file);
DEFINE_CLEANUP(gzip_file, gzip_file_close)
/* Reads up to size bytes. Returns their number, 0 at the end, -1 on error. */
long gzip_file_read(struct gzip_file *file, void *data, unsigned size, struct err *err);
/* Seeks to an offset in the decompressed data. Returns 1, 0 if the file is shorter, -1 on
 * error. */
int gzip_file_seek(struct gzip_file *file, int64_t offset, struct err *err);

#endif
