/*
 * mime_fields: writes the header of a message.
 */
#include "core/compose/mime_fields.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/address/addr_field.h"
#include "core/address/addr_header.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mime/mime_gmime.h"
#include "core/mime/mime_header.h"
#include "core/mime/mime_scan.h"
#include "core/mime/mime_words.h"

enum {
	/* Longer words of text are encoded, so that lines can break. */
	TEXT_WORD_MAX = 200,
	/* Three such fields fit into the milter's 32 KiB. */
	SENDER_MAX = 10000,
	/* Longer names are encoded instead of quoted. */
	QUOTED_MAX = 60,
};

static const char reply_to[] = "Reply-To";

static bool is_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] >= 0x80)
			return false;
	return true;
}

struct text_rules {
	size_t word_max; /* longer words are encoded */
	bool literal;    /* words that look like encoded words are encoded */
};

static bool must_encode(const struct text_rules *rules, const char *word, size_t len)
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

/* Returns the length of the run of words at text that must be encoded. They go into one encoded
 * word with the blanks between them, which would be lost otherwise. */
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

/* Adds the value, which begins with a blank. If several blanks precede a run, all but one go
 * into it, because decoders keep blanks inside. */
static void add_field_text(
	struct mime_fold *fold, const char *value, const struct text_rules *rules)
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

/* Appends a field. word_max: TEXT_WORD_MAX for text for people; SIZE_MAX for values with an
 * unknown grammar, whose ASCII words are never encoded for their length. */
static void add_folded_field(struct buf *out, const char *name, const char *value, size_t word_max)
{
	const struct text_rules rules = {
		.word_max = word_max,
		.literal = !is_ascii(value, strlen(value)),
	};
	_cleanup_free_ char *text = mem_printf(" %s", value + blanks_at(value));
	struct mime_fold fold;

	mime_fold_start(&fold, out, name);
	add_field_text(&fold, text, &rules);
	mime_fold_end(&fold);
}

/* Adds a display name. Atoms (RFC 5322 3.2.3) are written as words. A short ASCII name is quoted,
 * on one line, because not all programs unfold quoted strings. Other names are encoded, and so is a
 * name that looks like an encoded word, which some programs decode even inside quotes. */
static void add_name(struct mime_fold *fold, const char *name)
{
	static const char atoms[] =
		" !#$%&'*+-/=?^_`{|}~0123456789"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	const struct text_rules rules = {.word_max = TEXT_WORD_MAX};
	size_t len = strlen(name);
	_cleanup_free_ char *text = NULL;

	if (strstr(name, "=?")) {
		mime_words_add(fold, name, len);
	} else if (name[strspn(name, atoms)] == '\0') {
		text = mem_printf(" %s", name);
		add_field_text(fold, text, &rules);
	} else if (is_ascii(name, len) && len <= QUOTED_MAX) {
		_cleanup_buf_ struct buf quoted = BUF_INIT;

		mime_quoted_add(&quoted, name);
		mime_fold_word(fold, quoted.data);
	} else {
		mime_words_add(fold, name, len);
	}
}

/* Adds the field with or without display names. */
static void add_mailboxes(
	struct buf *out, const char *name, const struct addr_list *list, bool names)
{
	struct mime_fold fold;

	mime_fold_start(&fold, out, name);
	for (size_t i = 0; i < list->n; i++) {
		const struct addr *addr = &list->items[i];
		const char *comma = i + 1 < list->n ? "," : "";
		bool named = names && !str_empty(addr->name);
		_cleanup_free_ char *spec = addr_spec(addr);
		_cleanup_free_ char *word = mem_printf(named ? "<%s>%s" : "%s%s", spec, comma);

		if (named)
			add_name(&fold, addr->name);
		mime_fold_word(&fold, word);
	}
	mime_fold_end(&fold);
}

/* Returns the value of the field that starts at byte `start` of out. */
static struct span value_at(const struct buf *out, size_t start, const char *name)
{
	start += strlen(name) + 1;
	return (struct span){out->data + start, out->len - start};
}

static bool names_sender(struct span name)
{
	static const char *const senders[] = {"From", "Sender", "Resent-From", "Resent-Sender"};

	for (size_t i = 0; i < ARRAY_SIZE(senders); i++)
		if (span_is_nocase(name, senders[i]))
			return true;
	return false;
}

size_t mime_fields_max(const char *name)
{
	return names_sender((struct span){name, strlen(name)}) ? SENDER_MAX : MIME_FIELDS_MAX;
}

/* Senders of up to this many bytes cannot name too many domains. */
enum { SENDERS_FEW = 128 };

static void add_domains(const struct mime_scan_field *field, struct strv *domains)
{
	_cleanup_addr_header_ struct addr_header sender;
	_cleanup_free_ char *value = mime_scan_value(field);

	addr_header_read(value, &sender);
	for (size_t i = 0; i < sender.domains.n; i++)
		if (domains->n < ADDR_SENDER_DOMAINS && !strv_has(domains, sender.domains.items[i]))
			strv_add(domains, sender.domains.items[i]);
}

int mime_fields_check_all(struct span header, struct err *err)
{
	_cleanup_strv_ struct strv domains = STRV_INIT;
	struct span rest = header;
	struct mime_scan_field field;
	size_t n = 0, bytes = 0, hops = 0;

	while (mime_scan_field(&rest, &field)) {
		hops += span_is_nocase(field.name, "Received");
		if (!names_sender(field.name))
			continue;
		n++;
		bytes += field.raw.len;
	}
	if (hops > MIME_FIELDS_HOPS_MAX)
		return err_set(err, ERR_INVALID,
			"more than %d header fields Received: Postfix takes the message for one "
			"that goes round in circles",
			MIME_FIELDS_HOPS_MAX);
	if (n > ADDR_SENDER_FIELDS || bytes > ADDR_SENDER_BYTES)
		return err_set(err, ERR_INVALID,
			"more than %d header fields or %d bytes name a sender (From, Sender, "
			"Resent-From, Resent-Sender)",
			ADDR_SENDER_FIELDS, ADDR_SENDER_BYTES);
	if (bytes <= SENDERS_FEW)
		return 0;
	while (mime_scan_field(&header, &field))
		if (names_sender(field.name))
			add_domains(&field, &domains);
	/* The envelope can add two more. */
	if (domains.n + 2 > ADDR_SENDER_DOMAINS)
		return err_set(err, ERR_INVALID,
			"the header fields that name a sender name %d domains or more",
			ADDR_SENDER_DOMAINS - 1);
	return 0;
}

/* Checks the field at byte `start` of out: its lines are within MIME_FOLD_MAX, and Postfix neither
 * cuts it nor changes its addresses. ERR_INVALID names the field. */
static int check_field(const struct buf *out, size_t start, const char *name, struct err *err)
{
	size_t max = mime_fields_max(name);

	if (out->len - start > max)
		return err_set(err, ERR_INVALID, "the header field %s is longer than %zu bytes",
			name, max);
	if (addr_field_is(name) && addr_field_check(value_at(out, start, name), err) < 0)
		return err_prefix(err, "the header field %s", name);
	while (start < out->len) {
		const char *line = out->data + start;
		size_t len = strcspn(line, "\n");

		if (len > MIME_FOLD_MAX)
			return err_set(err, ERR_INVALID,
				"the header field %s has more than %d characters without a blank",
				name, MIME_FOLD_MAX);
		start += len + 1;
	}
	return 0;
}

static int bad_value(const char *field, struct err *err)
{
	return err_set(err, ERR_INVALID,
		"the header field %s is not UTF-8, or has a line break or another control "
		"character",
		field);
}

/* Appends a field of mailboxes, or nothing if the list is empty. If a field with several
 * mailboxes gets too long, it is written without display names, because the addresses matter
 * more. */
static int add_addrs(
	struct buf *out, const char *field, const struct addr_list *list, struct err *err)
{
	size_t start = out->len;

	if (list->n == 0)
		return 0;
	for (size_t i = 0; i < list->n; i++)
		if (!mime_header_value_valid(list->items[i].name))
			return bad_value(field, err);
	add_mailboxes(out, field, list, true);
	if (list->n > 1 && (out->len - start > MIME_FIELDS_MAX ||
				   addr_field_check(value_at(out, start, field), NULL) < 0)) {
		out->len = start;
		add_mailboxes(out, field, list, false);
	}
	return check_field(out, start, field, err);
}

static int add_text_field(struct buf *out, const char *field, const char *text, struct err *err)
{
	size_t start = out->len;

	if (str_empty(text))
		return 0;
	if (!mime_header_value_valid(text))
		return bad_value(field, err);
	add_folded_field(out, field, text, TEXT_WORD_MAX);
	return check_field(out, start, field, err);
}

/* Adds the fields that the message's table names. */
static int add_members(struct buf *out, const struct mime_message *message, struct err *err)
{
	for (size_t i = 0; i < MIME_MESSAGE_N; i++) {
		const struct mime_member *member = &mime_message_members[i];
		const void *at = (const char *)message + member->offset;
		struct addr one;
		int result = 0;

		if (member->field == NULL)
			continue;
		switch (member->kind) {
		case MIME_ADDR:
			one = *(const struct addr *)at;
			result = add_addrs(out, member->field, &(struct addr_list){&one, 1}, err);
			break;
		case MIME_ADDRS:
			result = add_addrs(out, member->field, at, err);
			break;
		case MIME_TEXT:
			result = add_text_field(out, member->field, *(char *const *)at, err);
			break;
		case MIME_HEADERS:
		case MIME_ATTACHMENTS:
		case MIME_BYTES:
			assert(!"a field of one value");
		}
		if (result < 0)
			return -1;
	}
	return 0;
}

/* True for fields that may occur once (RFC 5322 3.6) and that a caller may set. */
static bool is_single(const char *name)
{
	static const char *const names[] = {"date", "sender", "in-reply-to", "references"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq_nocase(name, names[i]))
			return true;
	return false;
}

static int check_custom(const struct mime_message *message, size_t i, struct err *err)
{
	const struct header *header = &message->headers.items[i];
	int64_t time_us;

	if (!mime_header_name_valid(header->name))
		return err_set(err, ERR_INVALID, "\"%.*s\" cannot name a header field",
			(int)str_utf8_cut(header->name, 80), header->name);
	if (!mime_header_value_valid(header->value))
		return bad_value(header->name, err);
	if (is_single(header->name) && mime_message_header(message, header->name) != header)
		return err_set(err, ERR_INVALID, "the header field %s is given more than once",
			header->name);
	if (str_eq_nocase(header->name, "Date") && mime_date_parse(header->value, &time_us) < 0)
		return err_set(err, ERR_INVALID, "the header field Date is no date of RFC 5322");
	return 0;
}

/* Field names in sorted order, ignoring case, and which of them a header has. */
struct presence {
	struct named {
		const char *name;
		bool present;
	} * items;
	size_t n;
};

static int by_name(const void *a, const void *b)
{
	return strcasecmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static struct named *find_presence(const struct presence *presence, const char *name)
{
	const struct named wanted = {.name = name};

	return bsearch(&wanted, presence->items, presence->n, sizeof(wanted), by_name);
}

/* Finds which of Reply-To and the message's custom fields the header has. The caller frees the
 * items. */
static struct presence find_present(const struct mime_message *message, struct span header)
{
	struct presence presence = {.n = message->headers.n + 1};
	struct mime_scan_field field;

	presence.items = mem_alloc(presence.n, sizeof(*presence.items));
	for (size_t i = 0; i < message->headers.n; i++)
		presence.items[i].name = message->headers.items[i].name;
	presence.items[message->headers.n].name = reply_to;
	qsort(presence.items, presence.n, sizeof(*presence.items), by_name);
	while (mime_scan_field(&header, &field)) {
		_cleanup_free_ char *name = mem_dup(field.name.data, field.name.len);
		struct named *named = find_presence(&presence, name);

		if (named)
			named->present = true;
	}
	return presence;
}

/* Adds the custom fields that are not present; with presence NULL, all. */
static int add_custom(struct buf *out, const struct mime_message *message,
	const struct presence *presence, struct err *err)
{
	for (size_t i = 0; i < message->headers.n; i++) {
		const struct header *header = &message->headers.items[i];
		size_t start = out->len;

		if (mime_header_reserved(header->name) ||
			(presence && find_presence(presence, header->name)->present))
			continue;
		if (check_custom(message, i, err) < 0)
			return -1;
		add_folded_field(out, header->name, header->value, SIZE_MAX);
		if (check_field(out, start, header->name, err) < 0)
			return -1;
	}
	return 0;
}

int mime_fields_add_missing(
	struct buf *out, const struct mime_message *message, struct span header, struct err *err)
{
	struct presence presence = find_present(message, header);
	int result = 0;

	if (!find_presence(&presence, reply_to)->present)
		result = add_addrs(out, reply_to, &message->reply_to, err);
	if (result == 0)
		result = add_custom(out, message, &presence, err);
	free(presence.items);
	return result;
}

int mime_fields_add(struct buf *out, const struct mime_message *message, struct err *err)
{
	size_t start = out->len;
	char date[CLOCK_TEXT_SIZE];

	if (add_members(out, message, err) < 0)
		return -1;
	if (mime_message_header(message, "Date") == NULL) {
		clock_rfc5322(message->date_us, date);
		buf_printf(out, "Date: %s\n", date);
	}
	buf_printf(out, "Message-ID: %s\n", message->message_id);
	buf_add_str(out, "MIME-Version: 1.0\n");
	if (add_custom(out, message, NULL, err) < 0)
		return -1;
	return mime_fields_check_all((struct span){out->data + start, out->len - start}, err);
}
