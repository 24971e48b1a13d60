/*
 * known_domains: a copy of the registered domains in memory, for the time when the store is away.
 *
 * Mail that claims none of them is nobody's business here, so it need not wait for the store. The
 * copy is read at the start, and again every few seconds while the store answers.
 */
#ifndef POSTERN_MILTER_KNOWN_DOMAINS_H
#define POSTERN_MILTER_KNOWN_DOMAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/mem.h"
#include "core/base/strv.h"
#include "core/db/db_pool.h"

struct known_domains;

/* Makes an empty copy, which excludes no name. The pool must outlive it. */
struct known_domains *known_domains_new(struct db_pool *pool);
void known_domains_free(struct known_domains *known);
DEFINE_CLEANUP(known_domains, known_domains_free)

/* Reads the copy anew. Returns 0, or -1 and keeps the old one. Thread-safe. */
int known_domains_refresh(struct known_domains *known, struct err *err);

/* Starts and ends the thread that refreshes the copy. start returns 0 or -1. stop waits until the
 * thread has ended; it does nothing if there is none. */
int known_domains_start(struct known_domains *known, struct err *err);
void known_domains_stop(struct known_domains *known);

/* True if the copy is at most max_age_ms old, and none of the names is a registered domain or is
 * covered by one. The names are normalized as by addr_domain_normalize(). Thread-safe. */
bool known_domains_exclude(
	struct known_domains *known, const struct strv *names, int64_t max_age_ms);

#endif
