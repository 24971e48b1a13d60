/*
 * store_email_private: what the files of store_email share.
 */
#ifndef POSTERN_STORE_STORE_EMAIL_PRIVATE_H
#define POSTERN_STORE_STORE_EMAIL_PRIVATE_H

#include "core/store/store_email.h"

/* The state of a word. One that is unknown, which the table rules out, counts
 * as staged: nothing is ever shown or accepted for it. */
enum email_state store_email_state_parse(const char *word);

#endif
