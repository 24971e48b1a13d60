/*
 * apply: carries a verdict out.
 */
#ifndef POSTERN_MILTER_APPLY_H
#define POSTERN_MILTER_APPLY_H

#include <stdbool.h> /* before mfapi.h, which else makes a bool of its own */
#include <libmilter/mfapi.h>

#include "milter/facts.h"
#include "milter/service.h"
#include "milter/session.h"

/* Takes the tickets off, writes the decision down, sets the reply, counts the
 * message and logs one line. The result is the answer to the end of the
 * message: accept only when all of it has worked, so that what was accepted is
 * recorded. */
sfsistat apply_verdict(SMFICTX *ctx, struct service *service,
	const struct session *session, const struct facts *facts);

#endif
