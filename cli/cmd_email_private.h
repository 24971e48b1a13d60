/*
 * cmd_email_private: what the lists of emails have in common.
 */
#ifndef POSTERN_CLI_CMD_EMAIL_PRIVATE_H
#define POSTERN_CLI_CMD_EMAIL_PRIVATE_H

#include "cli/cmd.h"
#include "core/store/store_email.h"

#define EMAIL_LIMIT_HELP "How many at most, from 1 to 1000. Without this, 20."

/* What the options --company, --domain and --limit ask for. */
struct email_query {
	struct email_scope scope; /* points into the others */
	char company_id[ID_SIZE];
	char *domain;
	int limit;
};

/* The caller clears the query, also after a failure. 0, or -1 with ERR_INVALID. */
int email_query_read(
	const struct call *call, struct email_query *query_r, struct err *err);
void email_query_clear(struct email_query *query);
#define _cleanup_email_query_ __attribute__((cleanup(email_query_clear)))

#endif
