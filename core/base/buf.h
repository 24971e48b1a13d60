/*
 * buf: a byte buffer that grows.
 *
 * The data is always followed by a NUL that len does not count, so that text can be used as a C
 * string. Initialize with BUF_INIT; end with buf_free(), or take the bytes with buf_take().
 */
#ifndef POSTERN_BASE_BUF_H
#define POSTERN_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data; /* never NULL after something was added */
	size_t len;
	size_t cap;
};

#define BUF_INIT ((struct buf){0})

/* Append len bytes, a string without its NUL, one byte, or formatted text. The source must not
 * be in the buffer itself. */
void buf_add(struct buf *buf, const void *data, size_t len);
void buf_add_str(struct buf *buf, const char *text);
void buf_add_char(struct buf *buf, char c);
/* Appends the bytes as hexadecimal digits, in lower case. */
void buf_add_hex(struct buf *buf, const void *data, size_t len);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Makes room for at least len more bytes and returns where they go. The caller writes there,
 * and then calls buf_wrote() with the number of bytes. */
char *buf_reserve(struct buf *buf, size_t len);
void buf_wrote(struct buf *buf, size_t len);

/* The content as a string, "" if empty; owned by buf. */
const char *buf_str(const struct buf *buf);

/* Passes the bytes to the caller, who frees them. Never NULL. */
char *buf_take(struct buf *buf);

/* Empties the buffer but keeps its memory. */
void buf_clear(struct buf *buf);

/* Frees the memory and resets to BUF_INIT. */
void buf_free(struct buf *buf);

#define _cleanup_buf_ __attribute__((cleanup(buf_free)))

#endif
