/*
 * delivery_tree_private: the tree for its two files. delivery_links finds what leads to what;
 * delivery_tree stores the reports and computes the results.
 */
#ifndef POSTERN_STORE_DELIVERY_TREE_PRIVATE_H
#define POSTERN_STORE_DELIVERY_TREE_PRIVATE_H

#include "core/base/hash_table.h"
#include "core/store/delivery/delivery_tree.h"

#define NONE SIZE_MAX

/* A node that a message carries. */
struct carried {
	size_t node;
	bool certain; /* the message is known to be the node's */
};

/* The computed data of a message. */
struct message {
	size_t parent; /* the message that is known to have led to this one; NONE */
	struct carried *carried;
	size_t carried_n;
	size_t *deliveries;
	size_t n;
	size_t *shared; /* deliveries that belong to no node */
	size_t shared_n;
	bool is_named; /* a delivery names it */
};

/* From a node to a delivery, or to a message. */
struct edge {
	size_t from;
	size_t to;
	bool certain;
};
/* The edges of all nodes; those of node i are first[i] up to first[i + 1]. */
struct edges {
	struct edge *items;
	size_t n;
	size_t *first;
};

struct node {
	struct recipient_status status;
	enum { UNSEEN, IN_WORK, DONE } work;
	bool is_shared; /* a shared delivery decides */
};

struct delivery_tree {
	const struct recipients *recipients;
	struct queue_message *messages;
	size_t messages_n;
	struct delivery **deliveries;
	size_t n;
	struct hash_table by_name;
	/* Computed. The first nodes are the recipients, then come the deliveries. */
	struct node *nodes;
	struct message *computed; /* one per message */
	size_t computed_n;
	size_t *message_of;     /* the message of each delivery; NONE */
	struct edges became;    /* to deliveries */
	struct edges came_from; /* reversed: from deliveries to nodes */
	struct edges carriers;  /* to messages */
	bool has_circle;
};

/* Computes all links. The nodes are zeroed. The computed members must be clear. */
void delivery_links_find(struct delivery_tree *tree);
/* Sets the flags of the recipients that lead to the node. */
void delivery_links_owners(const struct delivery_tree *tree, size_t node, bool *owners);

static inline bool has_edge(const struct edges *edges, size_t node)
{
	return edges->first[node] < edges->first[node + 1];
}

static inline bool is_open(const struct delivery *delivery)
{
	return delivery->state == DELIVERY_QUEUED || delivery->state == DELIVERY_DEFERRED;
}

#endif
