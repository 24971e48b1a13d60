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
#include "core/store/event/delivery_status.h"

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
 * -1. _ahead announces that (db_read_ahead()). */
void store_recipients_read_ahead(struct db *db, int64_t seq, bool enveloped);
int store_recipients_read(struct db *db, int64_t seq, bool enveloped,
	struct recipients *recipients_r, struct err *err);

/* Recipients without a final status, oldest email first. */
struct open_recipient {
	int64_t email;
	int64_t n;
	int64_t decided_us;
	enum delivery_status status;
	char *queue_id; /* recorded by the milter */
	char *address;
	int64_t seen; /* 1: the log has mentioned the message */
};
struct open_recipients {
	struct open_recipient *items;
	size_t n;
};
/* Lists those of emails that were sent at or after from_us and before to_us. */
int store_open_recipients(struct db *db, int64_t from_us, int64_t to_us, int limit,
	struct open_recipients *open_r, struct err *err);
/* Lists those of emails that were staged and due before before_us, about which the milter has not
 * decided, that nothing has stopped and that are not in the outbox, which would submit them again.
 * decided_us is the time of staging, queue_id the ticket. */
int store_staged_recipients(struct db *db, int64_t before_us, int limit,
	struct open_recipients *open_r, struct err *err);
void store_open_recipients_free(struct open_recipients *open);

/* The rest is for the files of the store. */

extern const struct row_type store_recipient_type;

/* Inserts the rows. In the caller's transaction, which must be rolled back if this fails.
 * ERR_INVALID for a value that cannot be stored. */
int store_recipients_insert(struct db *db, int64_t seq, const char *company_id,
	const struct recipients *recipients, struct err *err);

/* For the files of the store: the WITH clause `owner (id)` with the companies that have staged
 * emails, see ROW_OWNERS(). */
#define STORE_STAGED_OWNERS ROW_OWNERS("email", "state = 'staged' AND queue_id IS NULL")

#endif
