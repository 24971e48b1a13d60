/*
 * store_email_recipient: the recipients of an email, one row each. They are
 * staged with the email and never change, but for what became of them.
 */
#ifndef POSTERN_STORE_STORE_EMAIL_RECIPIENT_H
#define POSTERN_STORE_STORE_EMAIL_RECIPIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/store/delivery_status.h"

enum recipient_kind { RECIPIENT_TO, RECIPIENT_CC, RECIPIENT_BCC, RECIPIENT_KINDS };

const char *recipient_kind_name(enum recipient_kind kind);

struct recipient {
	int64_t n; /* of the row: a gap is a recipient that was forgotten */
	enum recipient_kind kind;
	char *address;   /* `local@domain`, as the envelope has it */
	char *mailbox;   /* as given, `Name <address>`; NULL: the address alone */
	bool enveloped;  /* false: only a header field names it, or an earlier
			  * row has the address */
	unsigned folded; /* a hash of the address in any letter case; not kept */
	/* What became of it, for those in the envelope; see delivery_writer.h. */
	enum delivery_status status;
	int64_t attempts;
	int64_t changed_us; /* 0: never */
	char *relay;        /* who said the text; NULL for nobody */
	char *dsn;          /* 4.7.1 */
	char *text;
};

/* Starts zeroed. */
struct recipients {
	struct recipient *items;
	size_t n;
};

/* One more, which takes ownership of address and mailbox. It is in the envelope
 * when it is wanted there and no earlier one has the address, in any letter
 * case of any script. */
void recipients_add(struct recipients *recipients, enum recipient_kind kind, char *address,
	char *mailbox, bool wanted);
/* As it was given. */
const char *recipient_text(const struct recipient *recipient);
void recipients_free(struct recipients *recipients);

/* The recipients of the email with this seq, or those in the envelope alone: 0
 * or -1. */
int store_recipients_read(struct db *db, int64_t seq, bool enveloped,
	struct recipients *recipients_r, struct err *err);

/* The rest is for the files of the store. */

/* The addresses of those in the envelope, but for who is suppressed: 1, or 0 when nobody is in
 * the envelope, because the email was removed since its row was read, or -1. */
int store_recipients_envelope(
	struct db *db, int64_t seq, struct strv *addresses_r, struct err *err);

/* In the caller's transaction, which must be undone when this fails.
 * ERR_INVALID for what cannot be stored. */
int store_recipients_insert(struct db *db, int64_t seq, const char *company_id,
	const struct recipients *recipients, struct err *err);

#endif
