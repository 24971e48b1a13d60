/*
 * nearest: the word that somebody meant who wrote another one.
 *
 * Threads: any; holds no state.
 */
#include "cli/nearest.h"

#include <string.h>

/* Longer texts are no misspelt words of ours. */
enum { LENGTH_MAX = 32 };

/* Three rows of the table of distances between beginnings of a and of b: row i
 * is for i letters of a. */
struct table {
	const char *a;
	const char *b;
	size_t rows[3][LENGTH_MAX + 1];
};

static size_t *row(struct table *table, size_t i)
{
	return table->rows[i % 3];
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* From the distances of what is shorter. */
static size_t cell(struct table *table, size_t i, size_t k)
{
	const char *a = table->a, *b = table->b;
	size_t best = row(table, i - 1)[k - 1] + (a[i - 1] != b[k - 1]);

	best = min(best, row(table, i - 1)[k] + 1);
	best = min(best, row(table, i)[k - 1] + 1);
	if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
		best = min(best, row(table, i - 2)[k - 2] + 1);
	return best;
}

size_t nearest_distance(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);
	struct table table = {.a = a, .b = b};

	if (a_len > LENGTH_MAX || b_len > LENGTH_MAX)
		return a_len + b_len;
	for (size_t k = 0; k <= b_len; k++)
		row(&table, 0)[k] = k;
	for (size_t i = 1; i <= a_len; i++) {
		row(&table, i)[0] = i;
		for (size_t k = 1; k <= b_len; k++)
			row(&table, i)[k] = cell(&table, i, k);
	}
	return row(&table, a_len)[b_len];
}

void nearest_try(struct nearest *nearest, const char *word)
{
	size_t distance = nearest_distance(nearest->text, word);

	if (distance > (strlen(nearest->text) + 2) / 3)
		return;
	if (nearest->word && nearest->distance <= distance)
		return;
	nearest->word = word;
	nearest->distance = distance;
}

void nearest_add(
	const struct nearest *nearest, const char *before, struct buf *out)
{
	if (nearest->word)
		buf_printf(out, "; did you mean %s%s?", before, nearest->word);
}
