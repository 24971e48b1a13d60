/*
 * delivery_tree: the deliveries of an email, as a tree.
 *
 * A delivery is an address that a queue message is delivered to. If it was handed on within this
 * host, to an alias or a content filter, the deliveries of the queue message that carries it on
 * replace it. The status of a recipient is the worst of the leaves of its tree, in whatever order
 * the log lines came. delivery_status has the tables.
 *
 * The tree is pure: delivery_writer fills it, and stores what changed.
 */
#ifndef POSTERN_STORE_DELIVERY_TREE_H
#define POSTERN_STORE_DELIVERY_TREE_H

#include "core/store/delivery/store_email_recipient.h"
#include "core/store/delivery/store_queue_message.h"

/* Where a delivery went. */
enum delivery_via {
	VIA_FINAL,  /* another host, or a mailbox: the end of what the log shows */
	VIA_LOCAL,  /* a program of this host: handed on if the message comes back */
	VIA_FILTER, /* a content filter of Postfix: the message comes back */
	VIA_ALIAS,  /* local(8), which logs the queue id of the message that it creates */
};

struct delivery {
	char *queue_id; /* "": a report about the recipient as a whole */
	int64_t since_us;
	char *address; /* as in the log */
	char *orig_to; /* before alias expansion; "" for none */
	enum delivery_status state;
	enum delivery_via via;
	char *child;      /* the queue id that the next hop gave it; NULL */
	int64_t began_us; /* the last attempt */
	int64_t changed_us;
	char *relay;
	char *dsn;
	char *text;
	bool changed; /* not stored yet */
	size_t index; /* in the tree, which sets it */
};

/* Time limits for a queue message that continues a delivery. It may come up to DELIVERY_PROGRAM_US
 * before the delivery; after it, up to DELIVERY_FILTER_US if a content filter took the email, up to
 * DELIVERY_PROGRAM_US if a program of this host did. */
#define DELIVERY_FILTER_US  INT64_C(600000000)
#define DELIVERY_PROGRAM_US INT64_C(60000000)

/* The computed status of a recipient. */
struct recipient_status {
	enum delivery_status state;
	const struct delivery *delivery; /* the one that decides; NULL: none is known */
	int64_t ended_us;                /* when its queue message ended, if that decides; else 0 */
};

struct delivery_tree;

/* The recipients must not change during the life of the tree. */
struct delivery_tree *delivery_tree_new(const struct recipients *recipients);
void delivery_tree_free(struct delivery_tree *tree);
DEFINE_CLEANUP(delivery_tree, delivery_tree_free)

/* Adds a copy of the message. If the tree has the message already, its how, parent and n are
 * updated. */
void delivery_tree_add_message(struct delivery_tree *tree, const struct queue_message *message);
/* Returns the message with this queue id and time, or NULL. The pointer is valid until the next
 * message is added. */
struct queue_message *delivery_tree_message(
	struct delivery_tree *tree, const char *queue_id, int64_t since_us);

/* Return the message that the milter recorded, or NULL; and the i-th one, NULL past the end. */
const struct queue_message *delivery_tree_first(const struct delivery_tree *tree);
const struct queue_message *delivery_tree_nth_message(const struct delivery_tree *tree, size_t i);

/* Adds a delivery that the tree does not have, and takes ownership of its strings. Returns its
 * index. */
size_t delivery_tree_add(struct delivery_tree *tree, const struct delivery *delivery);
/* Returns the index of the delivery with these four values. If there is none, it is added as
 * queued. */
size_t delivery_tree_find(struct delivery_tree *tree, const char *queue_id, int64_t since_us,
	const char *address, const char *orig_to);
/* Return the report about the recipient with this address as a whole, or NULL; and the i-th
 * delivery. */
struct delivery *delivery_tree_whole(const struct delivery_tree *tree, const char *address);
struct delivery *delivery_tree_at(struct delivery_tree *tree, size_t i);
size_t delivery_tree_count(const struct delivery_tree *tree);

/* True if a queue message that appeared at since_us may continue this delivery. */
bool delivery_may_lead_to(const struct delivery *delivery, const char *queue_id, int64_t since_us);

/* Computes everything. The functions below return the results of the last call. */
void delivery_tree_compute(struct delivery_tree *tree);
const struct recipient_status *delivery_tree_status(
	const struct delivery_tree *tree, size_t recipient);
/* True if another queue message carries the delivery on. */
bool delivery_tree_is_handed_on(const struct delivery_tree *tree, size_t i);
/* Sets a flag for each recipient that the delivery belongs to. */
void delivery_tree_owners(const struct delivery_tree *tree, size_t i, bool *owners);
/* The same for a delivery that cannot be assigned to one recipient: sets a flag for each that it
 * may belong to. For these it counts as unknown rather than delivered. */
void delivery_tree_sharers(const struct delivery_tree *tree, size_t i, bool *sharers);
/* Sets a flag for each recipient for whom the message had open deliveries when it ended. */
void delivery_tree_ended(
	const struct delivery_tree *tree, const struct queue_message *message, bool *recipients);
/* True if the message has left the queue and a delivery of it was never reported. */
bool delivery_tree_awaits(const struct delivery_tree *tree, const struct queue_message *message);

#endif
