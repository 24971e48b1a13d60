/*
 * store_return: finds the email that a message to a return path is about.
 */
#ifndef POSTERN_STORE_STORE_RETURN_H
#define POSTERN_STORE_STORE_RETURN_H

#include <stdint.h>

#include "core/base/id.h"
#include "core/base/secret.h"
#include "core/db/db.h"

struct return_email {
	int64_t seq;
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char nonce[SECRET_TICKET_SIZE];
	char *domain;
};

/* Finds the email with this id, if it was sent. Returns 1, 0 if there is none, -1 on error. */
int store_return_email(
	struct db *db, const char *id, struct return_email *email_r, struct err *err);
void store_return_email_clear(struct return_email *email);
/* Returns 1 if a message with this queue id in this host's Postfix carried the email, 0 if not, -1
 * on error. */
int store_return_is_message(struct db *db, int64_t email, const char *queue_id, struct err *err);

#endif
