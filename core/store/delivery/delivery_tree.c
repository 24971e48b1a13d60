/*
 * delivery_tree: computes the status of recipients from the tree of deliveries of an email.
 *
 * The nodes are the recipients and the deliveries of all queue messages of the email. An edge leads
 * from a node to each delivery that it became in the next message. The nodes that a message
 * carries, and the rule by which deliveries belong to these nodes:
 *
 *   the message came         its nodes                        their deliveries
 *   ----------------------   ------------------------------   ----------------
 *   through the milter       the recipients                   by address
 *   forwarded by local(8)    the delivery that names it       all
 *   requeued                 the open ones of its parent      by address
 *   from a filter or a       the delivery that names it, and  by address
 *   program of this host     those whose time fits
 *
 * A message comes from one that was in the queue before it (delivery_links.c). If it may have come
 * from a filter, it did not come from a server of this host to which another message of the filter
 * was delivered.
 *
 * By address: the original address of the delivery, or else its address, equals that of the node
 * (delivery_links.c has the order). A delivery without a node is shared: it stands for all nodes of
 * its message that have no delivery of their own there, once that message has left the queue, and
 * counts as unknown rather than delivered.
 *
 * The result of a node is the worst result of its edges (in the order of
 * delivery_status_is_worse()); without edges, it is the node's own state. rules[] has the states
 * that edges replace. A recipient itself is `queued`, so it is always replaced.
 *
 * An alias is delivered only when all addresses of its message were reported, or the message has
 * left the queue. The queue manager logs the number of addresses.
 *
 * A report about a recipient as a whole, from the queue or a bounce, is one more delivery. But
 * `deferred` counts only if no line says more than queued, and `unknown` only if the lines say that
 * the message is still to be delivered.
 *
 * Threads: a tree is used by one thread at a time.
 */
#include "core/store/delivery/delivery_tree_private.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

#define NOTHING DELIVERY_STATUSES /* no state */

/* The states that are replaced; the others are final. */
static const struct {
	bool carried; /* replaced by the result of the message that carries it on */
	bool ended;   /* otherwise replaced by the end of its own message */
	enum delivery_status
		waiting; /* the state while the message that carries it on has no report */
} rules[DELIVERY_STATUSES] = {
	[DELIVERY_QUEUED] = {true, true, DELIVERY_QUEUED},
	[DELIVERY_DEFERRED] = {true, true, DELIVERY_DEFERRED},
	[DELIVERY_HANDED_ON] = {true, false, DELIVERY_HANDED_ON},
	[DELIVERY_DELIVERED] = {true, false, DELIVERY_HANDED_ON},
};

static uint64_t hash_name(const struct delivery *one)
{
	uint64_t hash = mem_hash(MEM_HASH, one->address, strlen(one->address));

	return mem_hash(hash, one->queue_id, strlen(one->queue_id));
}

static bool has_name(const void *a, const void *b)
{
	const struct delivery *one = a, *other = b;

	return one->since_us == other->since_us && str_eq(one->address, other->address) &&
	       str_eq(one->orig_to, other->orig_to) && str_eq(one->queue_id, other->queue_id);
}

struct delivery_tree *delivery_tree_new(const struct recipients *recipients)
{
	struct delivery_tree *tree = mem_new(struct delivery_tree);

	tree->recipients = recipients;
	return tree;
}

static void edges_clear(struct edges *edges)
{
	free(edges->items);
	free(edges->first);
	*edges = (struct edges){0};
}

static void clear_computed(struct delivery_tree *tree)
{
	for (size_t i = 0; i < tree->computed_n; i++) {
		free(tree->computed[i].carried);
		free(tree->computed[i].deliveries);
		free(tree->computed[i].shared);
	}
	free(tree->computed);
	free(tree->nodes);
	free(tree->message_of);
	edges_clear(&tree->became);
	edges_clear(&tree->came_from);
	edges_clear(&tree->carriers);
	tree->computed = NULL;
	tree->computed_n = 0;
	tree->nodes = NULL;
	tree->message_of = NULL;
	tree->has_circle = false;
}

void delivery_tree_free(struct delivery_tree *tree)
{
	if (tree == NULL)
		return;
	clear_computed(tree);
	queue_messages_free(&(struct queue_messages){tree->messages, tree->messages_n});
	for (size_t i = 0; i < tree->n; i++) {
		struct delivery *one = tree->deliveries[i];

		free(one->queue_id);
		free(one->address);
		free(one->orig_to);
		free(one->child);
		free(one->relay);
		free(one->dsn);
		free(one->text);
		free(one);
	}
	free(tree->deliveries);
	hash_table_clear(&tree->by_name);
	free(tree);
}

/*
 * Reports.
 */

struct queue_message *delivery_tree_message(
	struct delivery_tree *tree, const char *queue_id, int64_t since_us)
{
	for (size_t i = 0; i < tree->messages_n; i++)
		if (tree->messages[i].since_us == since_us &&
			str_eq(tree->messages[i].queue_id, queue_id))
			return &tree->messages[i];
	return NULL;
}

const struct queue_message *delivery_tree_first(const struct delivery_tree *tree)
{
	for (size_t i = 0; i < tree->messages_n; i++)
		if (tree->messages[i].how == MESSAGE_RECORDED)
			return &tree->messages[i];
	return NULL;
}

const struct queue_message *delivery_tree_nth_message(const struct delivery_tree *tree, size_t i)
{
	return i < tree->messages_n ? &tree->messages[i] : NULL;
}

void delivery_tree_add_message(struct delivery_tree *tree, const struct queue_message *message)
{
	struct queue_message *there = delivery_tree_message(
		tree, message->queue_id, message->since_us);

	if (there == NULL) {
		tree->messages = mem_append(
			tree->messages, tree->messages_n, sizeof(*tree->messages));
		there = &tree->messages[tree->messages_n++];
		*there = *message;
		there->queue_id = mem_strdup(message->queue_id);
	} else {
		free(there->parent);
	}
	there->how = message->how;
	there->n = message->n;
	if (message->recipients)
		there->recipients = message->recipients;
	there->parent = mem_strdup(message->parent);
}

size_t delivery_tree_add(struct delivery_tree *tree, const struct delivery *delivery)
{
	struct delivery *added = mem_new(struct delivery);

	*added = *delivery;
	added->index = tree->n;
	tree->deliveries = mem_append(tree->deliveries, tree->n, sizeof(*tree->deliveries));
	tree->deliveries[tree->n] = added;
	hash_table_add(&tree->by_name, hash_name(added), added);
	return tree->n++;
}

size_t delivery_tree_find(struct delivery_tree *tree, const char *queue_id, int64_t since_us,
	const char *address, const char *orig_to)
{
	struct delivery name = {.queue_id = (char *)queue_id,
		.since_us = since_us,
		.address = (char *)address,
		.orig_to = (char *)orig_to};
	const struct delivery *there = hash_table_find(
		&tree->by_name, hash_name(&name), has_name, &name);

	if (there)
		return there->index;
	name.queue_id = mem_strdup(queue_id);
	name.address = mem_strdup(address);
	name.orig_to = mem_strdup(orig_to);
	return delivery_tree_add(tree, &name);
}

struct delivery *delivery_tree_whole(const struct delivery_tree *tree, const char *address)
{
	char none[] = "";
	const struct delivery name = {
		.queue_id = none, .address = (char *)address, .orig_to = none};

	return hash_table_find(&tree->by_name, hash_name(&name), has_name, &name);
}

struct delivery *delivery_tree_at(struct delivery_tree *tree, size_t i)
{
	return tree->deliveries[i];
}

size_t delivery_tree_count(const struct delivery_tree *tree)
{
	return tree->n;
}

/*
 * The results of nodes.
 */

/* Keeps the worse of both; of two equal states the one of the newer delivery. */
static void add_worst(struct recipient_status *worst, const struct recipient_status *one)
{
	if (one->state == NOTHING)
		return;
	if (worst->state == one->state
			? one->delivery &&
				  (worst->delivery == NULL ||
					  one->delivery->changed_us > worst->delivery->changed_us)
			: worst->state == NOTHING ||
				  delivery_status_is_worse(one->state, worst->state))
		*worst = *one;
}

static struct recipient_status evaluate_node(struct delivery_tree *tree, size_t node);

static struct recipient_status status_of_end(const struct queue_message *message)
{
	return (struct recipient_status){message->ended, NULL, message->ended_us};
}

/* A report about the message as a whole counts for a node that is known to be in it and has no
 * delivery of its own there. So do shared deliveries, once the message has left the queue. */
static struct recipient_status evaluate_message(struct delivery_tree *tree, size_t node,
	const struct edge *carrier, enum delivery_status waiting)
{
	const struct queue_message *message = &tree->messages[carrier->to];
	const struct message *computed = &tree->computed[carrier->to];
	struct recipient_status worst = {.state = NOTHING};

	if (carrier->certain && message->has_end)
		return status_of_end(message);
	if (message->closed_us == 0)
		return (struct recipient_status){.state = waiting};
	if (!carrier->certain && computed->is_named)
		return worst;
	for (size_t i = 0; i < computed->shared_n; i++) {
		struct recipient_status one = evaluate_node(
			tree, tree->recipients->n + computed->shared[i]);

		if (one.state == DELIVERY_DELIVERED || one.state == DELIVERY_COMPLAINED)
			one.state = DELIVERY_UNKNOWN;
		tree->nodes[node].is_shared = true;
		add_worst(&worst, &one);
	}
	return worst;
}

/* True if the node may have more deliveries in that message than were reported: it is an alias
 * there, and not all addresses of the message were reported. */
static bool may_have_unreported(const struct delivery_tree *tree, size_t delivery)
{
	size_t i = tree->message_of[delivery];
	const struct queue_message *message = &tree->messages[i];
	int64_t all = message->recipients;

	if (all == 0 && message->how == MESSAGE_RECORDED)
		all = (int64_t)tree->recipients->n;
	return message->closed_us == 0 && (int64_t)tree->computed[i].n < all &&
	       (*tree->deliveries[delivery]->orig_to || message->how == MESSAGE_FORWARDED);
}

/* Returns the worst result of the node in other messages; NOTHING if no such result is known. */
static struct recipient_status evaluate_carried(
	struct delivery_tree *tree, size_t node, enum delivery_status waiting)
{
	const struct edges *became = &tree->became, *carriers = &tree->carriers;
	struct recipient_status worst = {.state = NOTHING}, one;

	for (size_t i = became->first[node]; i < became->first[node + 1]; i++) {
		one = evaluate_node(tree, tree->recipients->n + became->items[i].to);
		add_worst(&worst, &one);
		if (may_have_unreported(tree, became->items[i].to))
			add_worst(&worst, &(struct recipient_status){.state = waiting});
	}
	for (size_t i = carriers->first[node];
		!has_edge(became, node) && i < carriers->first[node + 1]; i++) {
		one = evaluate_message(tree, node, &carriers->items[i], waiting);
		add_worst(&worst, &one);
	}
	return worst;
}

static struct recipient_status evaluate_delivery(struct delivery_tree *tree, size_t i)
{
	const struct delivery *one = tree->deliveries[i];
	size_t node = tree->recipients->n + i, message = tree->message_of[i];
	struct recipient_status own = {one->state, one, 0}, other = {.state = NOTHING};

	if (rules[one->state].carried)
		other = evaluate_carried(tree, node, rules[one->state].waiting);
	if (other.state == NOTHING && rules[one->state].ended && message != NONE &&
		tree->messages[message].has_end)
		other = status_of_end(&tree->messages[message]);
	/* It was delivered to a program that did not return it, but a message that may have been
	 * returned belongs to another node. */
	if (other.state == NOTHING && one->state == DELIVERY_DELIVERED &&
		has_edge(&tree->carriers, node))
		own.state = DELIVERY_HANDED_ON;
	if (other.state == NOTHING)
		return own;
	if (other.delivery == NULL)
		other.delivery = one;
	return other;
}

/* Includes reports about the recipient as a whole. */
static struct recipient_status evaluate_recipient(struct delivery_tree *tree, size_t i)
{
	struct recipient_status worst = evaluate_carried(tree, i, DELIVERY_QUEUED);
	const struct delivery *whole = delivery_tree_whole(
		tree, tree->recipients->items[i].address);

	if (worst.state == NOTHING)
		worst.state = DELIVERY_QUEUED;
	if (whole == NULL || whole->state == DELIVERY_QUEUED)
		return worst;
	if (whole->state == DELIVERY_UNKNOWN
			? delivery_is_open(worst.state)
			: (worst.state == DELIVERY_QUEUED || worst.state == DELIVERY_HANDED_ON ||
				  (whole->state != DELIVERY_DEFERRED &&
					  delivery_status_is_worse(whole->state, worst.state))))
		worst = (struct recipient_status){whole->state, whole, 0};
	return worst;
}

static struct recipient_status evaluate_now(struct delivery_tree *tree, size_t node)
{
	size_t recipients = tree->recipients->n;

	return node < recipients ? evaluate_recipient(tree, node)
				 : evaluate_delivery(tree, node - recipients);
}

static struct recipient_status evaluate_node(struct delivery_tree *tree, size_t node)
{
	struct node *one = &tree->nodes[node];

	if (one->work == IN_WORK) {
		tree->has_circle = true;
		return (struct recipient_status){.state = DELIVERY_HANDED_ON};
	}
	if (one->work == UNSEEN) {
		one->work = IN_WORK;
		one->status = evaluate_now(tree, node);
		one->work = DONE;
	}
	return one->status;
}

void delivery_tree_compute(struct delivery_tree *tree)
{
	size_t nodes = tree->recipients->n + tree->n;
	bool changed = true;

	clear_computed(tree);
	delivery_links_find(tree);
	for (size_t i = 0; i < nodes; i++)
		evaluate_node(tree, i);
	if (!tree->has_circle)
		return;
	/* Two messages of the same time may each seem to come from the other. A delivery in such a
	 * cycle is handed on, or has a worse state that leads out of the cycle: all start as handed
	 * on, and are evaluated until nothing changes. Once those outside of cycles are right,
	 * statuses only get worse, so the order does not matter. */
	for (size_t i = 0; i < nodes; i++)
		tree->nodes[i].status = (struct recipient_status){.state = DELIVERY_HANDED_ON};
	for (size_t left = 2 * nodes; changed && left > 0; left--) {
		changed = false;
		for (size_t i = 0; i < nodes; i++) {
			struct recipient_status fresh = evaluate_now(tree, i);

			changed |= fresh.state != tree->nodes[i].status.state ||
				   fresh.delivery != tree->nodes[i].status.delivery;
			tree->nodes[i].status = fresh;
		}
	}
}

/*
 * Results.
 */

const struct recipient_status *delivery_tree_status(
	const struct delivery_tree *tree, size_t recipient)
{
	return &tree->nodes[recipient].status;
}

bool delivery_tree_is_handed_on(const struct delivery_tree *tree, size_t i)
{
	enum delivery_status state = tree->deliveries[i]->state;

	return state == DELIVERY_HANDED_ON ||
	       (state == DELIVERY_DELIVERED && has_edge(&tree->carriers, tree->recipients->n + i));
}

void delivery_tree_sharers(const struct delivery_tree *tree, size_t i, bool *sharers)
{
	const struct message *message;

	if (has_edge(&tree->came_from, i) || tree->message_of[i] == NONE)
		return;
	message = &tree->computed[tree->message_of[i]];
	for (size_t k = 0; k < message->carried_n; k++)
		if (tree->nodes[message->carried[k].node].is_shared)
			delivery_links_owners(tree, message->carried[k].node, sharers);
}

/* Finds the nodes for which the message has open deliveries. */
static size_t find_open(const struct delivery_tree *tree, size_t message, size_t *nodes)
{
	const struct message *computed = &tree->computed[message];
	size_t recipients = tree->recipients->n, n = 0;

	for (size_t i = 0; i < computed->n; i++) {
		size_t node = recipients + computed->deliveries[i];

		if (is_open(tree->deliveries[computed->deliveries[i]]) &&
			!has_edge(&tree->carriers, node))
			nodes[n++] = node;
	}
	for (size_t i = 0; i < computed->carried_n; i++)
		if (computed->carried[i].certain &&
			!has_edge(&tree->became, computed->carried[i].node))
			nodes[n++] = computed->carried[i].node;
	return n;
}

static size_t *new_open(const struct delivery_tree *tree, size_t message)
{
	const struct message *computed = &tree->computed[message];

	return mem_alloc(computed->n + computed->carried_n + 1, sizeof(size_t));
}

void delivery_tree_ended(
	const struct delivery_tree *tree, const struct queue_message *message, bool *recipients)
{
	size_t i = (size_t)(message - tree->messages);
	_cleanup_free_ size_t *nodes = new_open(tree, i);
	size_t n = find_open(tree, i, nodes);

	for (size_t k = 0; k < n; k++)
		delivery_links_owners(tree, nodes[k], recipients);
}

bool delivery_tree_awaits(const struct delivery_tree *tree, const struct queue_message *message)
{
	size_t i = (size_t)(message - tree->messages);
	_cleanup_free_ size_t *nodes = new_open(tree, i);
	size_t n = find_open(tree, i, nodes);

	for (size_t k = 0; k < n; k++)
		if (!tree->nodes[nodes[k]].is_shared)
			return true;
	return false;
}
