/*
 * store_return: what a return path needs to know of an email that something came back for.
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

/* The email with this id, if it was sent: 1, 0, -1. */
int store_return_email(
	struct db *db, const char *id, struct return_email *email_r, struct err *err);
void store_return_email_clear(struct return_email *email);
/* Whether a message of this host's Postfix with that queue id carried it: 1, 0, -1. */
int store_return_is_message(struct db *db, int64_t email, const char *queue_id, struct err *err);

#endif
