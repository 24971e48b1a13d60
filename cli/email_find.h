/*
 * email_find: the email that the argument of a verb names.
 */
#ifndef POSTERN_CLI_EMAIL_FIND_H
#define POSTERN_CLI_EMAIL_FIND_H

#include "cli/call.h"
#include "core/store/store_email.h"

/* By its id; by that in a Message-ID, as the form API answers it; or by the
 * Message-ID that its client chose. Those may be several, which is an error
 * that names their ids. 0, and the caller clears the email, or -1. */
int email_find(const struct call *call, struct email *email_r, struct err *err);

#endif
