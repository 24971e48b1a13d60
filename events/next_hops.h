/*
 * next_hops: tells who takes over mail from this Postfix: a content filter, this host or
 * another one. Also has the syslog names of Postfix's services.
 *
 * A queue id in a reply is trusted only if the next hop is this host or one of its own filters.
 * Other hosts can reply anything.
 */
#ifndef POSTERN_EVENTS_NEXT_HOPS_H
#define POSTERN_EVENTS_NEXT_HOPS_H

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/store/delivery/store_delivery.h"
#include "events/log_parse.h"

struct next_hops;

/* config_dir: Postfix's configuration directory, "" for the default. instance: its syslog_name. */
struct next_hops *next_hops_new(const char *config_dir, const char *instance);
void next_hops_free(struct next_hops *next_hops);
DEFINE_CLEANUP(next_hops, next_hops_free)

/* Reads the settings if their files have changed. Returns 0, or -1 on error: the previous
 * settings stay, and each call fails until a retry succeeds, which is made after a minute or
 * when the files change. Runs postconf(1), which takes about ten milliseconds, so call it
 * without holding a lock. Do not process lines with old settings: a delivery to a new filter
 * would count as a delivery to a mailbox. */
int next_hops_refresh(struct next_hops *next_hops, struct err *err);

/* The instances for log_parse(). Valid until the next refresh. */
const char *next_hops_instances(const struct next_hops *next_hops);

/* Tells who took a message, from the agent that logged it and its relay. */
enum delivery_via next_hops_via(
	const struct next_hops *next_hops, enum log_agent agent, const char *relay);
/* Decides from the relay alone. */
enum delivery_via next_hops_via_relay(const struct next_hops *next_hops, const char *relay);

/* True if a client of smtpd, `name[address]`, is this host or a content filter, so that its
 * mail may be what a filter gives back. */
bool next_hops_is_local_client(const struct next_hops *next_hops, struct span client);

/* For tests: sets the values of content_filter, separated by blanks. */
void next_hops_set_filters(struct next_hops *next_hops, const char *filters);

#endif
