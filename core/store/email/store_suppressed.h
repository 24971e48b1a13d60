/*
 * store_suppressed: the suppressed recipients of an email that is about to go out. The milter
 * leaves them out of the envelope, and records who was left out (store_suppression has the lists).
 */
#ifndef POSTERN_STORE_STORE_SUPPRESSED_H
#define POSTERN_STORE_STORE_SUPPRESSED_H

#include "core/store/company/store_suppression.h"

struct suppressed {
	int64_t n; /* of the recipient */
	char *address;
	enum suppression_reason reason;
};
struct suppressed_list {
	struct suppressed *items;
	size_t n;
};
void store_suppressed_free(struct suppressed_list *list);
/* Reads which recipients of the email with this seq are suppressed now. Nearly all companies have
 * no list, so ask first: email_ticket.suppresses, key_login.suppresses. 0 or -1. */
int store_suppressed_read(struct db *db, int64_t email, const char *company_id, const char *domain,
	struct suppressed_list *list_r, struct err *err);
/* Records their status, with an event for each, in the transaction that records the email of the
 * ticket as sent. 0 or -1. */
int store_suppressed_record(struct db *db, const char *ticket, const struct suppressed_list *list,
	int64_t now_us, struct err *err);

#endif
