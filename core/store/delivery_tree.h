/*
 * delivery_tree: what becomes of an email, as a tree of deliveries.
 *
 * A delivery is an address that a queue message is delivered to. One that was
 * handed on within this host, to an alias or a content filter, is replaced by
 * the deliveries of the queue message that carries it on. The delivery status of
 * a recipient is computed from its tree, and is the worst of its ends,
 * whatever order the lines came in. delivery_status has the tables.
 *
 * The tree is pure: delivery_writer fills it, and stores what changed.
 */
#ifndef POSTERN_STORE_DELIVERY_TREE_H
#define POSTERN_STORE_DELIVERY_TREE_H

#include "core/store/store_email_recipient.h"
#include "core/store/store_event.h"

/* Who took a delivery. */
enum delivery_via {
	VIA_FINAL,  /* a host elsewhere, or a mailbox: nobody sees further */
	VIA_LOCAL,  /* a program of this host: if the message comes back, it was
		     * handed on */
	VIA_FILTER, /* a content filter of Postfix: the message comes back */
	VIA_ALIAS,  /* local(8), which names the message that it makes */
};

struct delivery {
	char *queue_id; /* "": told of the recipient as a whole */
	int64_t since_us;
	char *address; /* as the log writes it */
	char *orig_to; /* before aliases; "" for none */
	enum delivery_status state;
	enum delivery_via via;
	char *child;      /* the queue id that the next hop gave it; NULL */
	int64_t began_us; /* the last attempt */
	int64_t changed_us;
	char *relay;
	char *dsn;
	char *text;
	bool changed; /* not stored yet */
};

/* How long a queue message may come after a filter has taken the email, and how
 * much earlier than it was said or later that a program of this host may give
 * it back. */
#define DELIVERY_FILTER_US  INT64_C(600000000)
#define DELIVERY_PROGRAM_US INT64_C(60000000)

/* What was computed for a recipient. */
struct recipient_status {
	enum delivery_status state;
	const struct delivery *delivery; /* which decides; NULL: none is known */
	int64_t ended_us;                /* when its message ended, if that decides; or 0 */
};

struct delivery_tree;

/* The recipients and their number stay as they are as long as the tree is. */
struct delivery_tree *delivery_tree_new(const struct recipients *recipients);
void delivery_tree_free(struct delivery_tree *tree);
DEFINE_CLEANUP(delivery_tree, delivery_tree_free)

/* Both are copied. A message that is there gets the new how, parent and n. */
void delivery_tree_add_message(struct delivery_tree *tree, const struct queue_message *message);
/* The message with this name, or NULL. Until the next one is added. */
struct queue_message *delivery_tree_message(
	struct delivery_tree *tree, const char *queue_id, int64_t since_us);

/* The one that the milter recorded, or NULL; and the i-th, NULL behind the last. */
const struct queue_message *delivery_tree_first(const struct delivery_tree *tree);
const struct queue_message *delivery_tree_nth_message(const struct delivery_tree *tree, size_t i);

/* Adds one that is not there; its texts become the tree's. Its index. */
size_t delivery_tree_add(struct delivery_tree *tree, const struct delivery *delivery);
/* The delivery with these four names, which is added as queued if there is
 * none: its index. */
size_t delivery_tree_find(struct delivery_tree *tree, const char *queue_id, int64_t since_us,
	const char *address, const char *orig_to);
/* What was told of the recipient with this address as a whole, or NULL; and the
 * i-th of all. Until the next one is added. */
struct delivery *delivery_tree_whole(const struct delivery_tree *tree, const char *address);
struct delivery *delivery_tree_at(struct delivery_tree *tree, size_t i);
size_t delivery_tree_count(const struct delivery_tree *tree);

/* Whether a queue message that came up then may be what a delivery led to. */
bool delivery_may_lead_to(const struct delivery *delivery, const char *queue_id, int64_t since_us);

/* Computes all; what follows is of the last time. */
void delivery_tree_compute(struct delivery_tree *tree);
const struct recipient_status *delivery_tree_status(
	const struct delivery_tree *tree, size_t recipient);
/* Whether another queue message carries the delivery on. */
bool delivery_tree_is_handed_on(const struct delivery_tree *tree, size_t i);
/* Which recipients the delivery is of: a flag for each. */
void delivery_tree_owners(const struct delivery_tree *tree, size_t i, bool *owners);
/* The same of one that belongs to none, and stands for those that cannot be
 * told apart: it counts as unknown rather than delivered. */
void delivery_tree_sharers(const struct delivery_tree *tree, size_t i, bool *sharers);
/* For whom something of the message was still to be delivered when it ended. */
void delivery_tree_ended(
	const struct delivery_tree *tree, const struct queue_message *message, bool *recipients);
/* Whether something of the message, which has left the queue, was not told. */
bool delivery_tree_awaits(const struct delivery_tree *tree, const struct queue_message *message);

#endif
