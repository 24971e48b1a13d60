/*
 * outcome: classifies a delivery attempt beyond its kind: why an email bounced, which provider it
 * went to, how long it took.
 *
 * Pure. Each classification has few words, so the counts by them (store_outcome) stay small.
 */
#ifndef POSTERN_STORE_OUTCOME_H
#define POSTERN_STORE_OUTCOME_H

#include <stddef.h>
#include <stdint.h>

/* Returns the reason of a bounce, from the enhanced status code (RFC 3463) and the text of the
 * server; either may be NULL. One of no_mailbox, no_domain, disabled, full, too_large, spam,
 * policy, unreachable, other. */
const char *outcome_reason(const char *dsn, const char *text);

/* Returns the provider that runs the mail servers, by the host that accepted or refused the email,
 * as Postfix logs it (NULL: none), else by the domain of the recipient. A word such as google or
 * microsoft; `other` for an unknown one. */
const char *outcome_provider(const char *relay, const char *address);

/* Delays are counted in classes; each begins where the previous one ends. */
enum { OUTCOME_DELAYS = 28 };
size_t outcome_delay_class(int64_t delay_us);
/* The class in the store: two digits. */
const char *outcome_delay_name(size_t class);
/* Returns the percentile of the delays in milliseconds, interpolated linearly within a class. -1 if
 * there are none. */
int64_t outcome_delay_percentile_ms(const int64_t counts[static OUTCOME_DELAYS], int percent);

#endif
