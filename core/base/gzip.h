/*
 * gzip: unpacks what was packed with gzip (RFC 1952).
 */
#ifndef POSTERN_BASE_GZIP_H
#define POSTERN_BASE_GZIP_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* Appends the unpacked data, of one member or of several behind each other; on
 * failure out holds what it held. ERR_TOO_LARGE as soon as it is more than max
 * bytes, and never more than that is allocated; ERR_INVALID for what is no
 * gzip, ends early or has something else behind it. */
int gzip_unpack(const void *data, size_t len, size_t max, struct buf *out,
	struct err *err);

#endif
