/*
 * key_email: reads a message with a key's login: its row, from what Postfix says about its envelope
 * and header, and its hash.
 *
 * Fields are read as leniently as mail programs read them. What cannot be read is left out of
 * the row, and never stops a message.
 *
 * Threads: any.
 */
#include "milter/key_email.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/buf.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/mime/mime_gmime.h"
#include "core/mime/mime_words.h"
#include "core/read/mime_read.h"
#include "milter/facts.h"
#include "milter/session.h"

/* Replaces control characters of the decoded text by blanks. */
static char *decoded(const char *value)
{
	_cleanup_free_ char *line = str_unfolded(value);
	char *text = mime_words_decode(line);

	for (char *c = text; *c; c++)
		if (ascii_is_control(*c))
			*c = ' ';
	return text;
}

/* The envelope's recipients, and which of them the fields read so far name. */
struct reading {
	const struct session_message *message;
	struct recipients *recipients;
	enum recipient_kind kind;
	unsigned *folded; /* hash of each address, without regard to case */
	bool *found;
};

/* Returns the mailbox with its name decoded; NULL if it has no name. */
static char *mailbox_text(const char *spec, const char *name)
{
	const char *at = strrchr(spec, '@');
	_cleanup_addr_ struct addr addr = {.name = decoded(name)};

	str_squeeze(addr.name);
	if (str_empty(addr.name) || at == NULL)
		return NULL;
	addr.local = mem_dup(spec, (size_t)(at - spec));
	addr.domain = mem_strdup(at + 1);
	return addr_format(&addr);
}

static void on_recipient_mailbox(void *user, const char *given, const char *name)
{
	_cleanup_addr_ struct addr addr = {0};
	_cleanup_free_ char *spec = NULL;
	const char *at = strrchr(given, '@');
	struct reading *reading = user;
	const struct strv *envelope = &reading->message->recipients;
	unsigned folded;

	/* The envelope has quotes and backslashes only where they are needed, as Postfix writes it.
	 */
	spec = at && addr_parse(given, &addr, NULL) == 0 ? mem_printf("%s@%s", addr.local, at + 1)
							 : mem_strdup(given);
	folded = str_hash_folded(spec);
	for (size_t i = 0; i < envelope->n; i++) {
		char *address;

		if (reading->found[i] || reading->folded[i] != folded ||
			!str_eq_folded(envelope->items[i], spec))
			continue;
		reading->found[i] = true;
		address = mem_strdup(envelope->items[i]);
		str_utf8_mend(address);
		recipients_add(reading->recipients, reading->kind, address,
			mailbox_text(spec, name), true);
		return;
	}
}

static void read_field(
	struct reading *reading, const struct session_fields *fields, enum recipient_kind kind)
{
	reading->kind = kind;
	for (size_t i = 0; i < fields->values.n; i++) {
		_cleanup_free_ char *line = str_unfolded(fields->values.items[i]);

		mime_mailboxes(line, on_recipient_mailbox, reading);
	}
}

static void read_recipients(const struct session_message *message, struct recipients *recipients)
{
	const struct strv *envelope = &message->recipients;
	struct reading reading = {.message = message, .recipients = recipients};

	reading.folded = mem_alloc(envelope->n + 1, sizeof(*reading.folded));
	reading.found = mem_alloc(envelope->n + 1, sizeof(*reading.found));
	for (size_t i = 0; i < envelope->n; i++)
		reading.folded[i] = str_hash_folded(envelope->items[i]);
	read_field(&reading, &message->to, RECIPIENT_TO);
	read_field(&reading, &message->cc, RECIPIENT_CC);
	for (size_t i = 0; i < envelope->n; i++) {
		char *address;

		if (reading.found[i])
			continue;
		address = mem_strdup(envelope->items[i]);
		str_utf8_mend(address);
		recipients_add(recipients, RECIPIENT_BCC, address, NULL, true);
	}
	free(reading.folded);
	free(reading.found);
}

/* Returns From with its display name if it parses strictly, otherwise the mailbox alone. */
static char *from_text(const struct session_message *message, const struct facts *facts)
{
	_cleanup_free_ char *line = str_unfolded(message->froms.values.items[0]);
	_cleanup_addr_ struct addr addr = {0};
	_cleanup_free_ char *spec = NULL;

	if (addr_parse(line, &addr, NULL) < 0)
		return mem_strdup(facts->mailbox);
	spec = addr_spec(&addr);
	return str_eq(spec, facts->mailbox) ? addr_format(&addr) : mem_strdup(facts->mailbox);
}

static void on_reply_mailbox(void *user, const char *spec, const char *name)
{
	char *text = mailbox_text(spec, name);

	strv_take(user, text ? text : decoded(spec));
}

void key_email_make(const struct milter_session *session, const struct facts *facts, int64_t now_us,
	struct email *email_r)
{
	const struct session_message *message = &session->message;
	struct email *email = email_r;
	char time[17];

	*email = (struct email){.way = EMAIL_WAY_AUTH, .answered = true, .created_us = now_us};
	id_new(email->id);
	memcpy(email->company_id, facts->login.company_id, ID_SIZE);
	memcpy(email->key_id, facts->login.key_id, ID_SIZE);
	/* Nobody gets the ticket of such an email, and it counts on no way, so it need not be
	 * secret. It begins with the time, so that the tickets of emails that are recorded together
	 * are on one page of the index. */
	secret_ticket(email->ticket);
	snprintf(time, sizeof(time), "%016" PRIx64, (uint64_t)now_us);
	memcpy(email->ticket, time, sizeof(time) - 1);
	secret_ticket(email->nonce);
	email->domain = mem_strdup(facts->domain);
	email->sender = mem_strdup(message->sender);
	str_utf8_mend(email->sender);
	email->from = from_text(message, facts);
	email->subject = message->subject ? decoded(message->subject) : mem_strdup("");
	if (message->message_ids.n > 0)
		email->message_id = decoded(message->message_ids.items[0]);
	else
		email->message_id = mem_printf("<%s@%s>", email->id, facts->domain);
	mime_read_texts(message->copy.data, message->copy.len, &email->html, &email->text);
	email->tags = mem_strdup(facts->tags);
	email->variables = mem_strdup(facts->variables);
	read_recipients(message, &email->recipients);
	for (size_t i = 0; i < message->reply_to.values.n; i++)
		mime_mailboxes(
			message->reply_to.values.items[i], on_reply_mailbox, &email->reply_to);
}

/* The hash of a message. */

static void add_value(struct buf *out, const char *value)
{
	buf_add(out, value ? value : "", (value ? strlen(value) : 0) + 1);
}

static void add_fields(struct buf *out, const struct session_fields *fields)
{
	for (size_t i = 0; i < fields->values.n; i++)
		add_value(out, fields->values.items[i]);
	buf_add_char(out, '\n');
}

static int compare_addresses(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void key_email_hash(const struct session_message *message, const char *tags, const char *variables,
	uint8_t payload_r[static SECRET_HASH_LEN])
{
	_cleanup_free_ char *html = NULL, *text = NULL;
	_cleanup_mime_files_ struct mime_files files = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	size_t n = message->recipients.n;
	char **sorted = mem_alloc(n + 1, sizeof(*sorted));

	add_value(&out, "smtp");
	add_value(&out, message->sender);
	for (size_t i = 0; i < n; i++)
		sorted[i] = message->recipients.items[i];
	qsort(sorted, n, sizeof(*sorted), compare_addresses);
	for (size_t i = 0; i < n; i++)
		add_value(&out, sorted[i]);
	buf_add_char(&out, '\n');
	free(sorted);
	add_fields(&out, &message->froms);
	add_fields(&out, &message->to);
	add_fields(&out, &message->cc);
	add_fields(&out, &message->reply_to);
	add_value(&out, message->subject);
	add_value(&out, tags);
	add_value(&out, variables);
	mime_read_texts(message->copy.data, message->copy.len, &html, &text);
	add_value(&out, text);
	add_value(&out, html);
	mime_read_files(message->copy.data, message->copy.len, &files);
	for (size_t i = 0; i < files.n; i++) {
		uint8_t hash[SECRET_HASH_LEN];
		_cleanup_buf_ struct buf content = BUF_INIT;

		add_value(&out, files.items[i].name);
		add_value(&out, files.items[i].type);
		mime_file_content(&files.items[i], &content);
		secret_hash(buf_str(&content), content.len, hash);
		buf_add(&out, hash, sizeof(hash));
	}
	secret_hash(out.data, out.len, payload_r);
}
