/*
 * gzip: packs, and unpacks what was packed (RFC 1952).
 */
#ifndef POSTERN_BASE_GZIP_H
#define POSTERN_BASE_GZIP_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"

/* Appends the unpacked data, of one member or of several behind each other; on
 * failure out holds what it held. ERR_TOO_LARGE as soon as it is more than max
 * bytes, and never more than that is allocated; ERR_INVALID for what is no
 * gzip, ends early or has something else behind it. */
int gzip_unpack(const void *data, size_t len, size_t max, struct buf *out, struct err *err);

/* Appends the data, packed as small as it gets. */
void gzip_pack(const void *data, size_t len, struct buf *out);

/* A file, packed or not, as it was before. */
struct gzip_file;
int gzip_file_open(const char *path, struct gzip_file **file_r, struct err *err);
void gzip_file_close(struct gzip_file *file);
DEFINE_CLEANUP(gzip_file, gzip_file_close)
/* The next bytes, at most size: how many, 0 at the end, -1. */
long gzip_file_read(struct gzip_file *file, void *data, unsigned size, struct err *err);
/* Goes to this place from the beginning: 1; 0 when the file is shorter; -1. */
int gzip_file_seek(struct gzip_file *file, int64_t offset, struct err *err);

#endif
