/*
 * milter_ask: asks postern-milter about a message, as Postfix does.
 */
#ifndef POSTERN_CLI_MILTER_ASK_H
#define POSTERN_CLI_MILTER_ASK_H

#include "core/base/err.h"
#include "core/base/strv.h"

/* A message that came by sendmail(1), with everything that the rules examine. */
struct milter_message {
	const char *queue_id;
	const char *sender; /* "": the null sender */
	const struct strv *recipients;
	const char *header; /* its fields, as in the message */
};

enum milter_answer {
	MILTER_PASSES,
	MILTER_CHANGES, /* accepted with changes */
	MILTER_HOLDS,
	MILTER_REJECTS,
	MILTER_DISCARDS,
};

/* Asks at the milter's socket. The milter records its verdict as usual. *text_r is the milter's
 * text for people, or NULL; the caller frees it. Returns 0, or -1 with ERR_TEMPORARY if the milter
 * does not answer or cannot decide now. */
int milter_ask(const char *socket, const struct milter_message *message,
	enum milter_answer *answer_r, char **text_r, struct err *err);

#endif
