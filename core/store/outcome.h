/*
 * outcome: what can be told of an attempt of delivery beyond its kind: why an email bounced, whose
 * mail servers it was for, how long it took.
 *
 * Pure. There are few words of each kind, so that counts by them stay small (store_outcome).
 */
#ifndef POSTERN_STORE_OUTCOME_H
#define POSTERN_STORE_OUTCOME_H

#include <stddef.h>
#include <stdint.h>

/* Why, by the enhanced status code (RFC 3463) and the words of the server; either may be NULL. One
 * of no_mailbox, no_domain, disabled, full, too_large, spam, policy, unreachable, other. */
const char *outcome_reason(const char *dsn, const char *text);

/* Who runs the mail servers: by the host that took or refused it, as Postfix logs it (NULL: none),
 * else by the domain of the recipient. A word as google, microsoft; `other` for who is not known.
 */
const char *outcome_provider(const char *relay, const char *address);

/* Delays are counted in classes, of which each begins where the one before ends. */
enum { OUTCOME_DELAYS = 28 };
size_t outcome_delay_class(int64_t delay_us);
/* As the store has it: two digits. */
const char *outcome_delay_name(size_t class);
/* Where the class ends, in milliseconds; of the last one, where it would. */
int64_t outcome_delay_end_ms(size_t class);
/* Within which time so many percent of all were: in milliseconds, between the ends of a class as
 * if they were spread evenly over it. -1 when there are none. */
int64_t outcome_delay_percentile_ms(const int64_t counts[static OUTCOME_DELAYS], int percent);

#endif
