/*
 * intake: handles one message that came to a return path, in one transaction.
 *
 * Only a token that we issued counts (return_path), and only for the recipients of its email. What
 * is known already changes nothing, so the same message may come any number of times.
 */
#ifndef POSTERN_INTAKE_INTAKE_H
#define POSTERN_INTAKE_INTAKE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/id.h"
#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/store/delivery/delivery_writer.h"

struct intake_message {
	const char *sender; /* of the envelope; "" for <> */
	struct strv recipients;
	const char *data; /* its first bytes, up to INTAKE_READ_MAX */
	size_t len;
	int64_t now_us;
	struct suppression_terms suppression; /* which recipients become suppressed */
};
enum { INTAKE_READ_MAX = 1024 * 1024 };

/* A message that is forwarded to a person gets this field. One that has it is not forwarded again.
 */
#define INTAKE_FIELD "X-Postern-Returned"

enum intake_result {
	INTAKE_STORED,  /* events were added */
	INTAKE_KNOWN,   /* nothing in it is new */
	INTAKE_IGNORED, /* a delay, an automatic reply */
	INTAKE_FORGED,  /* the token was not issued, or its email is gone */
	INTAKE_LOOP,    /* it was forwarded before */
	INTAKE_FORWARD, /* it is for a person */
	INTAKE_EARLY,   /* from this host's Postfix, whose log will say the same in a moment */
};

struct intake_outcome {
	enum intake_result result;
	const char *kind;       /* of message, for the log */
	const char *reason;     /* why it is for a person; NULL */
	char email_id[ID_SIZE]; /* "" for none */
	int64_t recipients;     /* that it reports on */
	int64_t unlisted; /* of these, those for whom the list of suppressed addresses was full */
};
const char *intake_result_name(enum intake_result result);

/* Returns 0, or -1 with nothing stored. */
int intake_store(struct db *db, const struct intake_message *message,
	struct intake_outcome *outcome_r, struct err *err);

#endif
