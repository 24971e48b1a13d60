/*
 * postfix_limit: what the local Postfix is configured to take.
 */
#ifndef POSTERN_HTTPD_POSTFIX_LIMIT_H
#define POSTERN_HTTPD_POSTFIX_LIMIT_H

#include <stdint.h>

#include "core/base/err.h"

/* Postfix's message_size_limit in bytes, 0 for no limit, asked of postconf(1)
 * for the configuration folder ("": Postfix's default). Blocks while it runs:
 * for start and reload only. */
int postfix_limit_read(const char *config_dir, int64_t *bytes_r, struct err *err);

#endif
