/*
 * store_email_private: what the statements of store_email_read and store_email_search have in
 * common.
 */
#ifndef POSTERN_STORE_STORE_EMAIL_PRIVATE_H
#define POSTERN_STORE_STORE_EMAIL_PRIVATE_H

#include "core/store/email/store_email.h"

/* The columns of `email e`, without its content. */
#define EMAIL_COLUMNS                                                                              \
	"e.seq, e.id, e.company_id, e.key_id, e.ticket, e.domain, e.sender,"                       \
	" e.header_from, e.reply_to, e.subject, e.message_id, e.created_us,"                       \
	" e.state, e.decided_us, e.queue_id, e.host, e.last_event, e.refusal, e.scheduled_us, e.way"

/* True if the row is in the folder: $all is 1 for every row, 0 for sent ones. */
#define EMAIL_IN_FOLDER                                                                            \
	" (e.state = 'sent' OR e.answered = 1 OR $all = 1"                                         \
	" OR (e.state = 'staged' AND e.last_event IS NOT NULL))"

#endif
