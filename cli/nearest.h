/*
 * nearest: the word that somebody meant who wrote another one.
 */
#ifndef POSTERN_CLI_NEAREST_H
#define POSTERN_CLI_NEAREST_H

#include <stddef.h>

#include "core/base/buf.h"

/* Begin with the text as it was written; then try all words. */
struct nearest {
	const char *text;
	const char *word; /* the nearest so far; NULL: none is near */
	size_t distance;  /* of it, if there is one */
};

/* How many letters have to be added, left out, changed or swapped with the next
 * one to make b of a. */
size_t nearest_distance(const char *a, const char *b);

/* A word is near when at most one letter in three is wrong. Of equally near
 * ones the first stays. */
void nearest_try(struct nearest *nearest, const char *word);

/* Appends `; did you mean WORD?`, with what stands before it; nothing when no
 * word is near. */
void nearest_add(
	const struct nearest *nearest, const char *before, struct buf *out);

#endif
