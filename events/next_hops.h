/*
 * next_hops: who takes mail from this Postfix, as its settings say: its content
 * filters, this host itself, or others. And the names its services log under.
 *
 * The words of a hop count for more than words only where it is this host or a
 * filter of its own: any other may say what it likes.
 */
#ifndef POSTERN_EVENTS_NEXT_HOPS_H
#define POSTERN_EVENTS_NEXT_HOPS_H

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/store/store_delivery.h"
#include "events/log_parse.h"

struct next_hops;

/* config_dir: of Postfix, "" for its default; instance: its syslog_name. */
struct next_hops *next_hops_new(const char *config_dir, const char *instance);
void next_hops_free(struct next_hops *next_hops);
DEFINE_CLEANUP(next_hops, next_hops_free)

/* Reads the settings if their files have changed. 0, or -1: what was read
 * before stays; it is tried again after a minute, or when the files change, and
 * the result is -1 until then. Runs postconf(1), and so takes some ten
 * milliseconds then; hold no lock. Lines wait for it: by old settings a filter
 * would be taken for a mailbox. */
int next_hops_refresh(struct next_hops *next_hops, struct err *err);

/* The names for log_parse(). Until the next refresh. */
const char *next_hops_instances(const struct next_hops *next_hops);

/* Who took a message, by the agent that logged it and the relay it named. */
enum delivery_via next_hops_via(
	const struct next_hops *next_hops, enum log_agent agent, const char *relay);
/* The same of a relay alone. */
enum delivery_via next_hops_via_relay(const struct next_hops *next_hops, const char *relay);

/* Whether a client of smtpd, `name[address]`, is this host or a content filter:
 * what it sends may be what a filter gives back. */
bool next_hops_is_local_client(const struct next_hops *next_hops, struct span client);

/* For tests: instead of the settings, the values of content_filter, with blanks
 * between. */
void next_hops_set_filters(struct next_hops *next_hops, const char *filters);

#endif
