/*
 * mime_field: whole header fields, folded and encoded.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/mime_field.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/mime_fold.h"
#include "core/mail/mime_words.h"

enum {
	/* A word of text this long is encoded, so that lines can be broken. */
	TEXT_WORD_MAX = 200,
	/* Three of these are within the 32 KiB of the milter. */
	SENDER_MAX = 10000,
	/* A name longer than this is not put in quotes. */
	QUOTED_MAX = 60,
};

static bool is_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] >= 0x80)
			return false;
	return true;
}

struct text_rules {
	size_t word_max; /* longer words are encoded */
	bool literal;    /* what looks like an encoded word is encoded */
};

static bool must_encode(
	const struct text_rules *rules, const char *word, size_t len)
{
	return !is_ascii(word, len) || len > rules->word_max ||
	       (rules->literal && memmem(word, len, "=?", 2) != NULL);
}

static size_t blanks_at(const char *text)
{
	return strspn(text, " \t");
}

static size_t word_at(const char *text)
{
	return strcspn(text, " \t");
}

/* The length of the run of words at text that must all be encoded: one encoded
 * word takes in the blanks between them, which would else be lost. */
static size_t run_at(const struct text_rules *rules, const char *text)
{
	size_t end = 0, next = 0;

	for (;;) {
		size_t len = word_at(text + next);

		if (len == 0 || !must_encode(rules, text + next, len))
			return end;
		end = next + len;
		next = end + blanks_at(text + end);
	}
}

/* Adds the value, which begins with a blank. Of several blanks before a run all
 * but one go into it: decoders keep what is inside. */
static void add_text(struct mime_fold *fold, const char *value,
	const struct text_rules *rules)
{
	for (;;) {
		size_t blanks = blanks_at(value), len = word_at(value + blanks);
		size_t run = run_at(rules, value + blanks);

		if (len == 0)
			return;
		if (run > 0)
			mime_words_add(fold, value + 1, blanks - 1 + run);
		else
			mime_fold_add(fold, value, blanks, blanks + len);
		value += blanks + (run ? run : len);
	}
}

static void add_field(struct buf *out, const char *name, const char *value,
	const struct text_rules *rules)
{
	_cleanup_free_ char *text = NULL;
	struct mime_fold fold;

	text = mem_printf(" %s", value + blanks_at(value));
	mime_fold_start(&fold, out, name);
	add_text(&fold, text, rules);
	mime_fold_end(&fold);
}

void mime_field_text(struct buf *out, const char *name, const char *value)
{
	struct text_rules rules = {
		.word_max = TEXT_WORD_MAX,
		.literal = !is_ascii(value, strlen(value)),
	};

	add_field(out, name, value, &rules);
}

void mime_field_custom(struct buf *out, const char *name, const char *value)
{
	struct text_rules rules = {
		.word_max = SIZE_MAX,
		.literal = !is_ascii(value, strlen(value)),
	};

	add_field(out, name, value, &rules);
}

/* Whether the name is made of atoms (RFC 5322 3.2.3). */
static bool is_atoms(const char *name)
{
	return name[strspn(name, " !#$%&'*+-/=?^_`{|}~0123456789"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "abcdefghijklmnopqrstuvwxyz")] == '\0';
}

/* The name as a quoted string. */
static char *quote(const char *name)
{
	struct buf text = BUF_INIT;

	buf_add_char(&text, '"');
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			buf_add_char(&text, '\\');
		buf_add_char(&text, *name);
	}
	buf_add_char(&text, '"');
	return buf_take(&text);
}

/* A name that is atoms goes as words, a short one in ASCII in quotes, on one
 * line: not all programs unfold what is inside. Nor do all leave alone what
 * looks like an encoded word there. Every other name is encoded. */
static void add_name(struct mime_fold *fold, const char *name)
{
	const struct text_rules rules = {.word_max = TEXT_WORD_MAX};
	size_t len = strlen(name);
	_cleanup_free_ char *text = NULL;

	if (strstr(name, "=?")) {
		mime_words_add(fold, name, len);
	} else if (is_atoms(name)) {
		text = mem_printf(" %s", name);
		add_text(fold, text, &rules);
	} else if (is_ascii(name, len) && len <= QUOTED_MAX) {
		text = quote(name);
		mime_fold_word(fold, text);
	} else {
		mime_words_add(fold, name, len);
	}
}

static void add_mailbox(
	struct mime_fold *fold, const struct addr *addr, bool named, bool last)
{
	_cleanup_free_ char *spec = addr_spec(addr);
	_cleanup_free_ char *word = NULL;

	if (named)
		add_name(fold, addr->name);
	word = mem_printf(named ? "<%s>%s" : "%s%s", spec, last ? "" : ",");
	mime_fold_word(fold, word);
}

/* Adds the field, with or without all display names. */
static void add_mailboxes(struct buf *out, const char *name,
	const struct addr_list *list, bool names)
{
	struct mime_fold fold;

	mime_fold_start(&fold, out, name);
	for (size_t i = 0; i < list->n; i++) {
		const struct addr *addr = &list->items[i];

		add_mailbox(&fold, addr, names && !str_empty(addr->name),
			i + 1 == list->n);
	}
	mime_fold_end(&fold);
}

void mime_field_addrs(
	struct buf *out, const char *name, const struct addr_list *list)
{
	size_t start = out->len;

	if (list->n == 0)
		return;
	add_mailboxes(out, name, list, true);
	if (list->n == 1 || out->len - start <= MIME_FIELD_MAX)
		return;
	out->len = start;
	add_mailboxes(out, name, list, false);
}

size_t mime_field_max(const char *name)
{
	static const char *const senders[] = {
		"From", "Sender", "Resent-From", "Resent-Sender"};

	for (size_t i = 0; i < ARRAY_SIZE(senders); i++)
		if (str_eq_nocase(name, senders[i]))
			return SENDER_MAX;
	return MIME_FIELD_MAX;
}

int mime_field_check(
	const struct buf *out, size_t start, const char *name, struct err *err)
{
	size_t max = mime_field_max(name);

	if (out->len - start > max)
		return err_set(err, ERR_INVALID,
			"the header field %s is longer than %zu bytes", name,
			max);
	while (start < out->len) {
		const char *line = out->data + start;
		size_t len = strcspn(line, "\n");

		if (len > MIME_FOLD_MAX)
			return err_set(err, ERR_INVALID,
				"the header field %s has more than %d "
				"characters without a blank",
				name, MIME_FOLD_MAX);
		start += len + 1;
	}
	return 0;
}
