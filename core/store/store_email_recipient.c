/*
 * store_email_recipient: the recipients of an email, a row each.
 *
 * They are staged with the email and do not change afterwards, but for their
 * state.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include <assert.h>
#include <string.h>

#include "core/base/str.h"
#include "core/store/store_email_private.h"
#include "core/store/store_row.h"

static const char *const kind_names[] = {
	[RECIPIENT_TO] = "to",
	[RECIPIENT_CC] = "cc",
	[RECIPIENT_BCC] = "bcc",
};

/* Of which nobody knows yet what became of the email. */
static const char queued[] = "queued";

static bool has_address(const struct recipients *recipients, const char *address)
{
	for (size_t i = 0; i < recipients->n; i++)
		if (recipients->items[i].enveloped &&
			str_eq(recipients->items[i].address, address))
			return true;
	return false;
}

static struct recipient *add(struct recipients *recipients)
{
	recipients->items = mem_grow(recipients->items, recipients->n + 1,
		sizeof(*recipients->items));
	return &recipients->items[recipients->n++];
}

void recipients_add(struct recipients *recipients, enum recipient_kind kind,
	char *address, char *mailbox, bool wanted)
{
	bool enveloped = wanted && !has_address(recipients, address);

	*add(recipients) = (struct recipient){kind, address, mailbox, enveloped};
}

const char *recipient_text(const struct recipient *recipient)
{
	return recipient->mailbox ? recipient->mailbox : recipient->address;
}

void recipients_free(struct recipients *recipients)
{
	for (size_t i = 0; i < recipients->n; i++) {
		free(recipients->items[i].address);
		free(recipients->items[i].mailbox);
	}
	free(recipients->items);
	*recipients = (struct recipients){0};
}

static int read_one(
	struct db_stmt *stmt, struct recipients *recipients, struct err *err)
{
	size_t kind = store_row_word(
		kind_names, ARRAY_SIZE(kind_names), db_text(stmt, 0));

	if (kind == ARRAY_SIZE(kind_names))
		return store_row_bad_word(stmt, 0, err);
	*add(recipients) = (struct recipient){
		.kind = (enum recipient_kind)kind,
		.address = db_copy(stmt, 1),
		.mailbox = db_copy(stmt, 2),
		.enveloped = db_int(stmt, 3) != 0,
	};
	return 0;
}

int store_recipients_read(struct db *db, int64_t seq,
	struct recipients *recipients_r, struct err *err)
{
	static const char sql_read[] =
		"SELECT kind, address, mailbox, state IS NOT NULL"
		" FROM email_recipient WHERE email = $seq ORDER BY n";
	struct recipients recipients = {0};
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_read, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$seq", seq);
	while ((result = db_step(stmt, err)) == 1)
		if (read_one(stmt, &recipients, err) < 0) {
			result = -1;
			break;
		}
	if (result < 0) {
		recipients_free(&recipients);
		return -1;
	}
	*recipients_r = recipients;
	return recipients.n > 0;
}

int store_recipients_envelope(
	struct db *db, int64_t seq, struct strv *addresses_r, struct err *err)
{
	static const char sql_envelope[] =
		"SELECT address FROM email_recipient"
		" WHERE email = $seq AND state IS NOT NULL ORDER BY n";
	struct strv addresses = STRV_INIT;
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_envelope, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$seq", seq);
	while ((result = db_step(stmt, err)) == 1)
		strv_add(&addresses, db_text(stmt, 0));
	if (result < 0) {
		strv_free(&addresses);
		return -1;
	}
	*addresses_r = addresses;
	return addresses.n > 0;
}

static bool is_line(const char *text)
{
	return !str_empty(text) && strchr(text, '\n') == NULL;
}

int store_recipients_check(const struct recipients *recipients, struct err *err)
{
	bool any = false;

	for (size_t i = 0; i < recipients->n; i++) {
		const struct recipient *one = &recipients->items[i];

		if (!is_line(one->address) || !is_line(recipient_text(one)))
			return err_set(err, ERR_INVALID,
				"%s: a mailbox is empty or has a line break",
				kind_names[one->kind]);
		any |= one->enveloped;
	}
	return any ? 0 : err_set(err, ERR_INVALID, "an email needs a recipient");
}

int store_recipients_insert(struct db *db, int64_t seq,
	const struct recipients *recipients, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO email_recipient"
		" (email, n, kind, address, mailbox, state)"
		" VALUES ($email, $n, $kind, $address, $mailbox, $state)";

	for (size_t i = 0; i < recipients->n; i++) {
		const struct recipient *one = &recipients->items[i];
		struct db_stmt *stmt;

		if (db_prepare(db, sql_insert, &stmt, err) != 0)
			return -1;
		db_bind_int(stmt, "$email", seq);
		db_bind_int(stmt, "$n", (int64_t)i);
		db_bind_text(stmt, "$kind", kind_names[one->kind]);
		db_bind_text(stmt, "$address", one->address);
		db_bind_text(stmt, "$mailbox", one->mailbox);
		db_bind_text(stmt, "$state", one->enveloped ? queued : NULL);
		if (db_run(stmt, err) != 0)
			return -1;
	}
	return 0;
}
