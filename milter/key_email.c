/*
 * key_email: what the sent folder has of a message, from what Postfix tells of
 * its envelope and header.
 *
 * Fields are read as leniently as mail programs read them: what cannot be read
 * is left out of the row, and never keeps a message from going out.
 *
 * Threads: any.
 */
#include "milter/key_email.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/mime/mime_gmime.h"
#include "core/mime/mime_words.h"

/* What a decoded value has of control characters are blanks. */
static char *decoded(const char *value)
{
	char *text = mime_words_decode(value);

	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
	return text;
}

/* Field after field: the recipients of the envelope, and which of them were found. */
struct reading {
	const struct session_message *message;
	struct recipients *recipients;
	enum recipient_kind kind;
	unsigned *folded; /* a hash of each address in any letter case */
	bool *found;
};

static char *mailbox_text(const char *spec, const char *name)
{
	_cleanup_free_ char *shown = decoded(name);
	struct addr addr = {.name = shown, .local = NULL, .domain = NULL};
	const char *at = strrchr(spec, '@');
	char *text;

	if (str_empty(shown) || at == NULL)
		return NULL;
	addr.local = mem_dup(spec, (size_t)(at - spec));
	addr.domain = mem_strdup(at + 1);
	text = addr_format(&addr);
	free(addr.local);
	free(addr.domain);
	return text;
}

static void on_recipient_mailbox(void *user, const char *spec, const char *name)
{
	struct reading *reading = user;
	const struct strv *envelope = &reading->message->recipients;
	unsigned folded = str_hash_folded(spec);

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

	reading.folded = mem_grow(NULL, envelope->n + 1, sizeof(*reading.folded));
	reading.found = mem_grow(NULL, envelope->n + 1, sizeof(*reading.found));
	for (size_t i = 0; i < envelope->n; i++) {
		reading.folded[i] = str_hash_folded(envelope->items[i]);
		reading.found[i] = false;
	}
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

/* With its display name, where that is read strictly. */
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

	*email = (struct email){.way = EMAIL_WAY_AUTH, .answered = true, .created_us = now_us};
	id_new(email->id);
	memcpy(email->company_id, facts->key.company_id, ID_SIZE);
	memcpy(email->key_id, facts->key.id, ID_SIZE);
	secret_ticket(email->ticket);
	email->domain = mem_strdup(facts->domain);
	email->sender = mem_strdup(message->sender);
	str_utf8_mend(email->sender);
	email->from = from_text(message, facts);
	email->subject = message->subject ? decoded(message->subject) : mem_strdup("");
	if (message->message_ids.n > 0)
		email->message_id = decoded(message->message_ids.items[0]);
	else
		email->message_id = mem_printf("<%s@%s>", email->id, facts->domain);
	email->html = mem_strdup("");
	email->text = mem_strdup("");
	read_recipients(message, &email->recipients);
	for (size_t i = 0; i < message->reply_to.values.n; i++)
		mime_mailboxes(
			message->reply_to.values.items[i], on_reply_mailbox, &email->reply_to);
}
