/*
 * json_long: JSON with long strings, read and written fast.
 *
 * To be read, long strings are taken out of the text, each replaced by a short
 * one that nobody can guess, and put into the tree that jansson makes of the
 * rest. Only strings that are surely well-formed are taken out; about all
 * others, and about a text that is not JSON, jansson has the word.
 *
 * Threads: any; holds no state.
 */
#include "httpd/json/json_long.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "httpd/http/json_text.h"
#include "httpd/json/json_string.h"

/* What stands for a string that was taken out: the nonce and its number. */
enum { NUMBER_LEN = 8, MARK_LEN = SECRET_TICKET_SIZE - 1 + NUMBER_LEN };

struct taken {
	struct buf *strings;
	size_t n;
	char nonce[SECRET_TICKET_SIZE];
};

static void free_taken(struct taken *taken)
{
	for (size_t i = 0; i < taken->n; i++)
		buf_free(&taken->strings[i]);
	free(taken->strings);
}

/* Whether the string that begins with this quote follows a colon. */
static bool is_member(const char *text, const char *quote)
{
	while (quote > text && strchr(" \t\r\n", quote[-1]) && quote[-1] != '\0')
		quote--;
	return quote > text && quote[-1] == ':';
}

/* Puts the mark of a string into rest, and its bytes aside. */
static bool take(
	struct taken *taken, const char *raw, size_t len, struct buf *rest)
{
	struct buf string = BUF_INIT;

	if (json_string_decode(raw, len, &string) < 0) {
		buf_free(&string);
		return false;
	}
	if (taken->n == 0)
		secret_ticket(taken->nonce);
	taken->strings = mem_grow(
		taken->strings, taken->n + 1, sizeof(*taken->strings));
	buf_printf(rest, "%s%0*zx", taken->nonce, NUMBER_LEN, taken->n);
	taken->strings[taken->n++] = string;
	return true;
}

/* What is left of the text. */
static void take_out(const char *text, size_t len, size_t min,
	struct taken *taken, struct buf *rest)
{
	size_t kept = 0, at = 0;
	const char *quote;

	while ((quote = memchr(text + at, '"', len - at)) != NULL) {
		size_t begin = (size_t)(quote + 1 - text);
		size_t end = json_text_end(text, len, begin);

		if (end == len)
			return;
		at = end + 1;
		if (end - begin < min || !is_member(text, quote))
			continue;
		buf_add(rest, text + kept, begin - kept);
		kept = take(taken, text + begin, end - begin, rest) ? end : begin;
	}
	if (taken->n > 0)
		buf_add(rest, text + kept, len - kept);
}

static void put_string_back(json_t *value, struct taken *taken)
{
	const char *mark = json_string_value(value);
	struct buf *string;
	size_t number;

	if (json_string_length(value) != MARK_LEN ||
		memcmp(mark, taken->nonce, MARK_LEN - NUMBER_LEN) != 0)
		return;
	number = strtoul(mark + MARK_LEN - NUMBER_LEN, NULL, 16);
	string = &taken->strings[number];
	json_string_setn_nocheck(value, buf_str(string), string->len);
	buf_free(string);
}

static void put_back(json_t *value, struct taken *taken)
{
	json_t *item;
	const char *name;
	size_t i;

	if (json_is_string(value))
		put_string_back(value, taken);
	json_array_foreach(value, i, item)
		put_back(item, taken);
	json_object_foreach(value, name, item)
		put_back(item, taken);
}

json_t *json_long_load(const char *text, size_t len, size_t min, size_t flags,
	json_error_t *error)
{
	struct taken taken = {0};
	_cleanup_buf_ struct buf rest = BUF_INIT;
	json_t *root = NULL;

	if (len >= min)
		take_out(text, len, min, &taken, &rest);
	if (taken.n > 0)
		root = json_loadb(rest.data, rest.len, flags, error);
	if (root)
		put_back(root, &taken);
	free_taken(&taken);
	return root ? root : json_loadb(text, len, flags, error);
}

/* 0, or -1 when it cannot be printed. */
static int add_member(const struct json_long_member *member, struct buf *out)
{
	buf_printf(out, ",\"%s\":", member->name);
	if (member->text == NULL) {
		buf_add_str(out, "null");
		return 0;
	}
	buf_add_char(out, '"');
	if (json_string_encode(member->text, strlen(member->text), out) < 0)
		return -1;
	buf_add_char(out, '"');
	return 0;
}

char *json_long_dump(
	const json_t *object, const struct json_long_member *members, size_t n)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	_cleanup_free_ char *own = json_dumps(object, JSON_COMPACT);

	if (own == NULL)
		return NULL;
	buf_add(&out, own, strlen(own) - 1);
	for (size_t i = 0; i < n; i++)
		if (add_member(&members[i], &out) < 0)
			return NULL;
	buf_add_char(&out, '}');
	return buf_take(&out);
}
