/*
 * intake: what is done with a message that came to a return path.
 *
 * Only a token that was issued counts (return_path), and only for recipients of its own
 * email. What is known already changes nothing, so a message may come any number of
 * times. All of it is one transaction.
 */
#ifndef POSTERN_INTAKE_INTAKE_H
#define POSTERN_INTAKE_INTAKE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/id.h"
#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/store/delivery_writer.h"

struct intake_message {
	const char *sender; /* of the envelope; "" for <> */
	struct strv recipients;
	const char *data; /* its first bytes, INTAKE_READ_MAX at most */
	size_t len;
	int64_t now_us;
	struct suppression_terms suppression; /* whom it puts into the lists */
};
enum { INTAKE_READ_MAX = 1024 * 1024 };

/* Each message that is handed to a person has this field, and is not handed on again. */
#define INTAKE_FIELD "X-Postern-Returned"

enum intake_result {
	INTAKE_STORED,  /* events were added */
	INTAKE_KNOWN,   /* it tells nothing new */
	INTAKE_IGNORED, /* it tells nothing that counts: a delay, an automatic answer */
	INTAKE_FORGED,  /* it has a token that is none, or of an email that is gone */
	INTAKE_LOOP,    /* it was handed to a person before */
	INTAKE_FORWARD, /* it is for a person */
	INTAKE_EARLY,   /* of this Postfix, whose log tells the same in a moment */
};

struct intake_outcome {
	enum intake_result result;
	const char *kind;       /* what it is, for the log */
	const char *reason;     /* why it is for a person; NULL */
	char email_id[ID_SIZE]; /* "" for none */
	int64_t recipients;     /* of whom it tells */
	int64_t unlisted; /* of these, for whom the list of suppressed addresses had no room */
};
const char *intake_result_name(enum intake_result result);

int intake_store(struct db *db, const struct intake_message *message,
	struct intake_outcome *outcome_r, struct err *err);

#endif
