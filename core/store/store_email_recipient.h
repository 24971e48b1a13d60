/*
 * store_email_recipient: the recipients of an email, one row each. They are staged with the email;
 * afterwards only their delivery status changes.
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
	int64_t n; /* number in the email; a gap is a recipient that was purged */
	enum recipient_kind kind;
	char *address; /* `local@domain`, as in the envelope */
	char *mailbox; /* as given, `Name <address>`; NULL: the address alone */
	/* False: it is only in a header field, or an earlier row has the same address. */
	bool enveloped;
	unsigned folded; /* a case-insensitive hash of the address; not stored */
	/* The delivery status, for those in the envelope; see delivery_writer.h. */
	enum delivery_status status;
	int64_t attempts;
	int64_t changed_us; /* 0: never */
	char *relay;        /* the host that sent the text; NULL: none */
	char *dsn;          /* enhanced status code, such as 4.7.1 */
	char *text;
};

/* Starts zeroed. */
struct recipients {
	struct recipient *items;
	size_t n;
};

/* Adds a recipient, and takes ownership of address and mailbox. It is in the envelope if `wanted`
 * is true and no earlier recipient has the same address, compared without letter case (Unicode). */
void recipients_add(struct recipients *recipients, enum recipient_kind kind, char *address,
	char *mailbox, bool wanted);
/* Returns the recipient as it was given. */
const char *recipient_text(const struct recipient *recipient);
void recipients_free(struct recipients *recipients);

/* Reads the recipients of the email with this seq: all, or only those in the envelope. Returns 0 or
 * -1. */
int store_recipients_read(struct db *db, int64_t seq, bool enveloped,
	struct recipients *recipients_r, struct err *err);

/* The rest is for the files of the store. */

/* Reads the addresses of the envelope, without suppressed ones. Returns 1; 0 if the envelope is
 * empty, because the email was removed since its row was read; -1 on error. */
int store_recipients_envelope(
	struct db *db, int64_t seq, struct strv *addresses_r, struct err *err);

/* Inserts the rows. In the caller's transaction, which must be rolled back if this fails.
 * ERR_INVALID for a value that cannot be stored. */
int store_recipients_insert(struct db *db, int64_t seq, const char *company_id,
	const struct recipients *recipients, struct err *err);

#endif
