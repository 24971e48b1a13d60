/*
 * buf: a byte buffer that grows.
 *
 * Always followed by a NUL that len does not count, so that data of a text
 * can be used as a C string. Start with BUF_INIT; end with buf_free(), or take
 * the bytes over with buf_take().
 */
#ifndef POSTERN_BASE_BUF_H
#define POSTERN_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data; /* never NULL once something was added */
	size_t len;
	size_t cap;
};

#define BUF_INIT ((struct buf){0})

/* Each appends: len bytes, a text without its NUL, one byte, and what printf
 * makes of the arguments. What is added may not be part of the buffer itself. */
void buf_add(struct buf *buf, const void *data, size_t len);
void buf_add_str(struct buf *buf, const char *text);
void buf_add_char(struct buf *buf, char c);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Room for at least len more bytes; returns where they go. The caller writes
 * there and then says with buf_wrote() how many. */
char *buf_reserve(struct buf *buf, size_t len);
void buf_wrote(struct buf *buf, size_t len);

/* The text so far, "" for an empty buffer; owned by buf. */
const char *buf_str(const struct buf *buf);

/* Hands the bytes over to the caller, who frees them; never NULL. */
char *buf_take(struct buf *buf);

/* Empties the buffer, keeps its memory. */
void buf_clear(struct buf *buf);

/* Frees the memory and returns to BUF_INIT. */
void buf_free(struct buf *buf);

#define _cleanup_buf_ __attribute__((cleanup(buf_free)))

#endif
