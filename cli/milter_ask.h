/*
 * milter_ask: asks postern-milter about a message, as Postfix does.
 */
#ifndef POSTERN_CLI_MILTER_ASK_H
#define POSTERN_CLI_MILTER_ASK_H

#include "core/base/err.h"
#include "core/base/strv.h"

/* A message that came by sendmail(1), with all that the rules look at. */
struct milter_message {
	const char *queue_id;
	const char *sender; /* "": the null sender */
	const struct strv *recipients;
	const char *header; /* its fields, as they stand in the message */
};

enum milter_answer {
	MILTER_PASSES,
	MILTER_CHANGES, /* passes, but not as it is */
	MILTER_HOLDS,
	MILTER_REJECTS,
	MILTER_DISCARDS,
};

/* Asks at the milter's socket. The milter records its verdict as it always
 * does. text_r gets what it says for people, or NULL; the caller frees it. 0,
 * or -1: ERR_TEMPORARY when it cannot be asked or cannot tell now. */
int milter_ask(const char *socket, const struct milter_message *message,
	enum milter_answer *answer_r, char **text_r, struct err *err);

#endif
