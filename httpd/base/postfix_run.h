/*
 * postfix_run: tells one run of the system, and of Postfix on it, from another.
 *
 * What Postfix had accepted, but not yet put into its queue, is gone in the
 * next run; within one, it only is when a part of Postfix is killed.
 */
#ifndef POSTERN_HTTPD_POSTFIX_RUN_H
#define POSTERN_HTTPD_POSTFIX_RUN_H

#include "core/store/store_idempotency.h"

enum { POSTFIX_RUN_BOOT_SIZE = 40 };

/* What Linux calls the present run of the system; "-" when it does not tell. */
void postfix_run_boot(char boot_r[static POSTFIX_RUN_BOOT_SIZE]);

/* The name of the run, never "": the boot, and when Postfix's master started,
 * if smtp_server is a socket in its queue. */
void postfix_run_name(const char *boot, const char *smtp_server,
	char name_r[static IDEMPOTENCY_RUN_SIZE]);

#endif
