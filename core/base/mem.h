/*
 * Memory: allocation that cannot fail, and scoped ownership.
 *
 * Every allocator here returns memory or ends the process: out of memory is
 * handled in one place and nowhere else. Memory is freed with free().
 */
#ifndef POSTERN_BASE_MEM_H
#define POSTERN_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A zeroed block of n elements of size bytes each. */
void *mem_alloc(size_t n, size_t size) __attribute__((malloc));

/* Changes the block to n elements of size bytes; the new part is not zeroed. */
void *mem_grow(void *block, size_t n, size_t size);
/* The block of n elements with a zeroed one more. An array that grows by this
 * alone has the power of two at or above n as its capacity, which therefore
 * needs no variable. */
void *mem_append(void *block, size_t n, size_t size);

/* A copy of len bytes, with a NUL behind them that len does not count. */
void *mem_dup(const void *data, size_t len) __attribute__((malloc));

/* A copy of the text; NULL for NULL. */
char *mem_strdup(const char *text) __attribute__((malloc));

/* FNV-1a, of 64 bits: spreads what is not chosen by an adversary over a table,
 * and tells two blocks of bytes apart. It goes on from hash, which is
 * MEM_HASH for the first bytes. */
#define MEM_HASH UINT64_C(14695981039346656037)
uint64_t mem_hash(uint64_t hash, const void *data, size_t len);

/* A new string, formatted as printf does. */
char *mem_printf(const char *format, ...) __attribute__((malloc, format(printf, 1, 2)));

/* One zeroed object of the type. */
#define mem_new(type) ((type *)mem_alloc(1, sizeof(type)))

/* Hands a pointer on: its value is the result, the variable becomes NULL. */
#define TAKE_PTR(pointer)                                                                          \
	({                                                                                         \
		__typeof__(pointer) taken_ = (pointer);                                            \
		(pointer) = NULL;                                                                  \
		taken_;                                                                            \
	})

/* The same for an object whose empty state is all zeros. */
#define TAKE(object)                                                                               \
	({                                                                                         \
		__typeof__(object) *from_ = &(object), taken_ = *from_;                            \
		*from_ = (__typeof__(object)){0};                                                  \
		taken_;                                                                            \
	})

/* Defines the function behind a scoped local: DEFINE_CLEANUP(db, db_close)
 * makes `_cleanup_(db) struct db *db = NULL` close itself. */
#define DEFINE_CLEANUP(name, release)                                                              \
	static inline void name##_cleanup_(struct name **p)                                        \
	{                                                                                          \
		release(*p);                                                                       \
	}
#define _cleanup_(name) __attribute__((cleanup(name##_cleanup_)))

static inline void mem_cleanup_free_(void *p)
{
	free(*(void **)p);
}
#define _cleanup_free_ __attribute__((cleanup(mem_cleanup_free_)))

/* The object of the type that this one is a member of. */
#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* The number of elements of an array (not of a pointer). */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
