/*
 * op_email_list: the list of emails, and the searches of it.
 */
#ifndef POSTERN_OPS_OP_EMAIL_LIST_H
#define POSTERN_OPS_OP_EMAIL_LIST_H

#include "core/ops/op.h"

/* All conditions must hold; a member that is NULL or 0 is no condition. */
struct op_email_list {
	const char *company_id; /* may be removed */
	const char *domain;
	const char *key_id;
	/* What somebody typed: an id, Message-ID or queue id; the address of a recipient; or
	 * words. */
	const char *q;
	const char *to;      /* a recipient */
	const char *from;    /* the sender */
	const char *subject; /* a part of it */
	const char *tag;
	const char *status;           /* one of store_email_statuses */
	const char *recipient_status; /* status of a recipient, or of the one in `to` */
	int64_t since;                /* created then or later */
	int64_t until;                /* created before */
};

/* Gives emails, newest first. A key sees those that were sent or answered, as GET /emails shows
 * them, and has no search by q, key or status of a recipient.
 *
 * Admins see all, as email_render_for_admins() shows them, with the recipients that matched
 * (`matched`). Further members: what q was taken for (`found_by`), how far a search came that
 * stopped (`looked`), and how much of all emails the text index does not have yet
 * (`unread_percent`). */
extern const struct operation op_email_list;

#endif
