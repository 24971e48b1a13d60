/*
 * addr_scan: finds domains in texts from anyone, and collects them.
 *
 * A domain too many is harmless here, one too few is a forged sender.
 */
#ifndef POSTERN_MAIL_ADDR_SCAN_H
#define POSTERN_MAIL_ADDR_SCAN_H

#include <stddef.h>

#include "core/base/mem.h"
#include "core/base/strv.h"

struct addr_scan;

/* A scan that appends what it finds to the list, each domain once; what the
 * list has already counts as found. The list must outlive it. */
struct addr_scan *addr_scan_new(struct strv *domains);
void addr_scan_free(struct addr_scan *scan);
DEFINE_CLEANUP(addr_scan, addr_scan_free)

/* Adds what follows each @. */
void addr_scan_ats(struct addr_scan *scan, const char *text);

/* Adds each word that could be a domain. */
void addr_scan_words(struct addr_scan *scan, const char *text);

/* Adds the domains that a mail program's parser sees in a list of mailboxes
 * and groups. */
void addr_scan_list(struct addr_scan *scan, const char *value);

#endif
