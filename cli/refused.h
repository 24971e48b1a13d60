/*
 * refused: what the milter stopped, or would have: emails and other mail in
 * one list.
 */
#ifndef POSTERN_CLI_REFUSED_H
#define POSTERN_CLI_REFUSED_H

#include "cli/report.h"
#include "core/store/store_email.h"

/* Fills the report, begun anew with columns of its own, with the newest limit
 * ones. A company has no mail but its emails. 0 or -1. */
int refused_list(struct db *db, const struct email_scope *scope, int limit,
	struct report *report, struct err *err);

#endif
