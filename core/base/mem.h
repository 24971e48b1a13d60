/*
 * mem: allocation that cannot fail, and scoped ownership.
 *
 * Allocators return memory or end the process, so out of memory is handled only here. Free
 * memory with free().
 */
#ifndef POSTERN_BASE_MEM_H
#define POSTERN_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Allocates n zeroed elements of size bytes each. */
void *mem_alloc(size_t n, size_t size) __attribute__((malloc));

/* Resizes the block to n elements of size bytes. New elements are not zeroed. */
void *mem_grow(void *block, size_t n, size_t size);
/* Appends a zeroed element to a block of n elements. The capacity of an array that grows only
 * by this function is the next power of two at or above n, so it is not stored. */
void *mem_append(void *block, size_t n, size_t size);

/* Copies len bytes and adds a NUL. */
void *mem_dup(const void *data, size_t len) __attribute__((malloc));

/* Copies the string; NULL for NULL. */
char *mem_strdup(const char *text) __attribute__((malloc));

/* 64-bit FNV-1a, for tables and for comparing blocks of bytes; not for keys that an attacker
 * can choose. Continues from hash; start with MEM_HASH. */
#define MEM_HASH UINT64_C(14695981039346656037)
uint64_t mem_hash(uint64_t hash, const void *data, size_t len);

/* Returns a string formatted as by printf. The caller frees it. */
char *mem_printf(const char *format, ...) __attribute__((malloc, format(printf, 1, 2)));
char *mem_vprintf(const char *format, va_list args) __attribute__((malloc, format(printf, 1, 0)));

/* Allocates one zeroed object of the type. */
#define mem_new(type) ((type *)mem_alloc(1, sizeof(type)))

/* Passes a pointer on: the result is its value, and the variable becomes NULL. */
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

/* Defines the cleanup function of a scoped local: after DEFINE_CLEANUP(db, db_close),
 * `_cleanup_(db) struct db *db = NULL` is closed at the end of its scope. */
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

/* Returns the object of this type that the member belongs to. */
#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* The number of elements of an array (not of a pointer). */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
