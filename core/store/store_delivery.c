/*
 * store_delivery: what becomes of an email, as a tree of deliveries.
 *
 * The nodes are the recipients and the deliveries of all queue messages of the
 * email. An edge leads from a node to each delivery that it became in the next
 * message. Which nodes a message carries, and which deliveries are theirs:
 *
 *   the message came         the nodes                        their deliveries
 *   ----------------------   ------------------------------   ----------------
 *   by the milter            the recipients                   by address
 *   forwarded by local(8)    the delivery that names it       all
 *   requeued                 what its parent has open         by address
 *   from a filter or a       the delivery that names it, and  by address
 *   program of this host     those that it came in time for
 *
 * What a filter gives back as several messages came from the filter, and not
 * from the server of this host that one of them was delivered to.
 *
 * By address: the delivery's original address, else its address, is that of the
 * node (how_alike() has the order). A delivery of no node is shared: it stands
 * for all whose message it is and who have no delivery of their own there, once
 * that message has left the queue, and is unknown rather than delivered.
 *
 * What a node becomes:
 *
 *   state of the delivery         it has edges   else
 *   ---------------------------   ------------   ------------------------------
 *   bounced, discarded, unknown   as it is       as it is
 *   delivered                     the worst      delivered
 *   handed on                     the worst      handed on
 *   queued, deferred              the worst      how its message ended, or as it
 *                                                is
 *   (a recipient)                 the worst      the same of the first message
 *
 * What is told of a recipient as a whole, by the queue or a report, is one more
 * leaf. But `deferred` counts only where no line says more than queued, and
 * `unknown` only where the lines say that it is still to be delivered.
 */
#include "core/store/store_delivery.h"

#include <stdlib.h>
#include <string.h>

#include "core/address/addr_logged.h"
#include "core/base/mem.h"
#include "core/base/str.h"

#define NOTHING FATES /* no fate */

/* A node to a delivery, or to a message. */
struct edge {
	size_t from;
	size_t to;
	bool certain; /* the message is known to be the node's */
};
struct edges {
	struct edge *items;
	size_t n;
	size_t *first; /* of each node, and one more */
};

struct node {
	struct delivery_status status;
	enum { UNSEEN, IN_WORK, DONE } work;
};

struct delivery_tree {
	const struct recipients *recipients;
	struct hop *messages;
	size_t messages_n;
	struct delivery *deliveries;
	size_t n;
	/* Computed. */
	struct node *nodes;
	struct edges edges;    /* to deliveries */
	struct edges carriers; /* to messages */
	size_t *message_of;    /* each delivery; messages_n: none */
	bool *has_parent;      /* each delivery */
	bool *is_named;        /* each message: a delivery names it */
	bool *shared_by;       /* each node: a shared delivery decides */
};

static const char *const vias[] = {
	[VIA_FINAL] = "final",
	[VIA_LOCAL] = "local",
	[VIA_FILTER] = "filter",
	[VIA_ALIAS] = "alias",
};
static const struct row_words via_words = {vias, ARRAY_SIZE(vias), false};

static const struct row_field delivery_fields[] = {
	ROW_FIELD(delivery, queue_id, ROW_TEXT),
	ROW_FIELD(delivery, since_us, ROW_INT64),
	ROW_FIELD(delivery, address, ROW_TEXT),
	ROW_FIELD(delivery, orig_to, ROW_TEXT),
	ROW_WORD(delivery, state, ROW_ENUM, "state", &fate_words),
	ROW_WORD(delivery, via, ROW_ENUM, "via", &via_words),
	ROW_FIELD(delivery, child, ROW_TEXT),
	ROW_FIELD(delivery, began_us, ROW_INT64),
	ROW_FIELD(delivery, changed_us, ROW_INT64),
	ROW_FIELD(delivery, relay, ROW_TEXT),
	ROW_FIELD(delivery, dsn, ROW_TEXT),
	ROW_FIELD(delivery, text, ROW_TEXT),
};
static const struct row_type delivery_type = ROW_TYPE(delivery, delivery_fields);

/* A name that may be missing, which is that of no other. */
static bool names_id(const char *name, const char *queue_id)
{
	return name && str_eq(name, queue_id);
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

static void forget_computed(struct delivery_tree *tree)
{
	edges_clear(&tree->edges);
	edges_clear(&tree->carriers);
	free(tree->nodes);
	free(tree->message_of);
	free(tree->has_parent);
	free(tree->is_named);
	free(tree->shared_by);
	tree->nodes = NULL;
	tree->message_of = NULL;
	tree->has_parent = tree->is_named = tree->shared_by = NULL;
}

void delivery_tree_free(struct delivery_tree *tree)
{
	if (tree == NULL)
		return;
	forget_computed(tree);
	store_hop_list_free(&(struct hop_list){tree->messages, tree->messages_n});
	row_list_free(&delivery_type, tree->deliveries, tree->n);
	free(tree);
}

struct hop *delivery_tree_message(
	struct delivery_tree *tree, const char *queue_id, int64_t since_us)
{
	for (size_t i = 0; i < tree->messages_n; i++)
		if (tree->messages[i].since_us == since_us &&
			str_eq(tree->messages[i].queue_id, queue_id))
			return &tree->messages[i];
	return NULL;
}

const struct hop *delivery_tree_first(const struct delivery_tree *tree)
{
	for (size_t i = 0; i < tree->messages_n; i++)
		if (tree->messages[i].how == HOP_MILTER)
			return &tree->messages[i];
	return NULL;
}

const struct hop *delivery_tree_nth_message(const struct delivery_tree *tree, size_t i)
{
	return i < tree->messages_n ? &tree->messages[i] : NULL;
}

void delivery_tree_add_message(struct delivery_tree *tree, const struct hop *message)
{
	struct hop *there = delivery_tree_message(tree, message->queue_id, message->since_us);

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
	there->parent = mem_strdup(message->parent);
}

size_t delivery_tree_find(struct delivery_tree *tree, const char *queue_id, int64_t since_us,
	const char *address, const char *orig_to)
{
	struct delivery *fresh;

	for (size_t i = 0; i < tree->n; i++) {
		const struct delivery *one = &tree->deliveries[i];

		if (one->since_us == since_us && str_eq(one->address, address) &&
			str_eq(one->orig_to, orig_to) && str_eq(one->queue_id, queue_id))
			return i;
	}
	tree->deliveries = mem_append(tree->deliveries, tree->n, sizeof(*tree->deliveries));
	fresh = &tree->deliveries[tree->n];
	*fresh = (struct delivery){.queue_id = mem_strdup(queue_id),
		.since_us = since_us,
		.address = mem_strdup(address),
		.orig_to = mem_strdup(orig_to)};
	return tree->n++;
}

struct delivery *delivery_tree_at(struct delivery_tree *tree, size_t i)
{
	return &tree->deliveries[i];
}

size_t delivery_tree_count(const struct delivery_tree *tree)
{
	return tree->n;
}

bool delivery_may_lead_to(const struct delivery *delivery, const char *queue_id, int64_t since_us)
{
	int64_t end_us = delivery->changed_us;

	if (delivery->state != FATE_DELIVERED && delivery->state != FATE_HANDED_ON)
		return false;
	switch (delivery->via) {
	case VIA_FILTER:
		return names_id(delivery->child, queue_id) ||
		       (since_us >= delivery->since_us - DELIVERY_PROGRAM_US &&
			       since_us <= end_us + DELIVERY_FILTER_US);
	case VIA_LOCAL:
		if (delivery->child)
			return names_id(delivery->child, queue_id);
		return since_us >= delivery->began_us - DELIVERY_PROGRAM_US &&
		       since_us <= end_us + DELIVERY_PROGRAM_US;
	case VIA_ALIAS:
		return names_id(delivery->child, queue_id);
	case VIA_FINAL:
		break;
	}
	return false;
}

/*
 * The edges.
 */

static void edges_add(struct edges *edges, size_t from, size_t to, bool certain)
{
	edges->items = mem_append(edges->items, edges->n, sizeof(*edges->items));
	edges->items[edges->n++] = (struct edge){from, to, certain};
}

static int by_node(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static void edges_index(struct edges *edges, size_t nodes)
{
	size_t at = 0;

	if (edges->n)
		qsort(edges->items, edges->n, sizeof(*edges->items), by_node);
	edges->first = mem_alloc(nodes + 1, sizeof(*edges->first));
	for (size_t i = 0; i <= nodes; i++) {
		while (at < edges->n && edges->items[at].from < i)
			at++;
		edges->first[i] = at;
	}
}

/* A name of a node, with a hash by which most others are told apart. */
struct name {
	const char *address;
	const char *orig_to;
	unsigned address_hash;
	unsigned orig_hash;
};

static struct name name_of(const char *address, const char *orig_to)
{
	return (struct name){
		address, orig_to, addr_logged_hash(address), addr_logged_hash(orig_to)};
}

static bool is_same(const char *a, unsigned a_hash, const char *b, unsigned b_hash)
{
	return *a && *b && a_hash == b_hash && addr_logged_eq(a, b);
}

/* How surely the delivery is what became of the node: 0 it is not. */
static int how_alike(const struct name *one, const struct name *node)
{
	bool same = is_same(one->address, one->address_hash, node->address, node->address_hash);

	if (same && (is_same(one->orig_to, one->orig_hash, node->orig_to, node->orig_hash) ||
			    (!*one->orig_to && !*node->orig_to)))
		return 4;
	if (is_same(one->orig_to, one->orig_hash, node->address, node->address_hash))
		return 3;
	/* Else it is another one's, whose alias leads to this address. */
	if (same && !*one->orig_to)
		return 2;
	return is_same(one->orig_to, one->orig_hash, node->orig_to, node->orig_hash);
}

static bool is_open(const struct delivery *delivery)
{
	return delivery->state == FATE_QUEUED || delivery->state == FATE_DEFERRED;
}

/* Whether the message came from a filter or a program. */
static bool is_given_back(const struct hop *message)
{
	return message->how == HOP_QUEUED_AS || message->how == HOP_MESSAGE_ID;
}

/* The message whose delivery the message came from, as far as is known: one of
 * the carriers that were found; messages_n: none. */
static size_t origin_of(const struct delivery_tree *tree, size_t message)
{
	for (size_t i = 0; i < tree->carriers.n; i++)
		if (tree->carriers.items[i].to == message &&
			tree->carriers.items[i].from >= tree->recipients->n)
			return tree->message_of[tree->carriers.items[i].from - tree->recipients->n];
	return tree->messages_n;
}

/* Whose the message is: an edge to it from each such node. With origins, where
 * each message came from, those deliveries alone that may have led to it where
 * nothing else did: to a server of this host, of a message that was given back. */
static void find_carried(struct delivery_tree *tree, size_t message, const size_t *origins)
{
	const struct hop *hop = &tree->messages[message];
	size_t recipients = tree->recipients->n;

	if (origins && !is_given_back(hop))
		return;
	switch (hop->how) {
	case HOP_MILTER:
		for (size_t i = 0; i < recipients; i++)
			edges_add(&tree->carriers, i, message, true);
		return;
	case HOP_ORIG_ID: /* when those of its parent are known */
		return;
	case HOP_FORWARDED:
	case HOP_QUEUED_AS:
	case HOP_MESSAGE_ID:
		break;
	}
	for (size_t i = 0; i < tree->n; i++) {
		const struct delivery *one = &tree->deliveries[i];
		bool names = names_id(one->child, hop->queue_id);
		size_t of = tree->message_of[i];
		bool late = one->via == VIA_LOCAL && !names && of < tree->messages_n &&
			    is_given_back(&tree->messages[of]);

		if (late != (origins != NULL) || (late && origins[message] != tree->messages_n &&
							 origins[message] == origins[of]))
			continue;
		if (tree->message_of[i] == message ||
			!delivery_may_lead_to(one, hop->queue_id, hop->since_us))
			continue;
		if (hop->how == HOP_FORWARDED && (one->via != VIA_ALIAS || !names))
			continue;
		edges_add(&tree->carriers, tree->recipients->n + i, message, names);
		tree->is_named[message] |= names;
	}
}

/* A requeued message has what the one of before had still to deliver. */
static void find_requeued(struct delivery_tree *tree, size_t message)
{
	const struct hop *hop = &tree->messages[message];
	size_t parent = tree->messages_n, n = tree->carriers.n;

	for (size_t i = 0; i < tree->messages_n; i++)
		if (i != message && hop->parent && str_eq(tree->messages[i].queue_id, hop->parent))
			parent = i;
	if (parent == tree->messages_n)
		return;
	for (size_t i = 0; i < tree->n; i++)
		if (tree->message_of[i] == parent && is_open(&tree->deliveries[i]))
			edges_add(&tree->carriers, tree->recipients->n + i, message, true);
	/* And those of whom it has told nothing yet. */
	for (size_t i = 0; i < n; i++)
		if (tree->carriers.items[i].to == parent)
			edges_add(&tree->carriers, tree->carriers.items[i].from, message,
				tree->carriers.items[i].certain);
}

/* The deliveries of the message, each with the nodes that it is of. */
static void find_edges(struct delivery_tree *tree, size_t message, const struct name *names)
{
	size_t recipients = tree->recipients->n, n = 0;
	size_t *nodes = mem_alloc(tree->carriers.n + 1, sizeof(*nodes));

	for (size_t i = 0; i < tree->carriers.n; i++)
		if (tree->carriers.items[i].to == message)
			nodes[n++] = tree->carriers.items[i].from;
	for (size_t i = 0; i < tree->n; i++) {
		bool all = tree->messages[message].how == HOP_FORWARDED;
		int best = 1;

		if (tree->message_of[i] != message)
			continue;
		for (size_t k = 0; k < n; k++) {
			int alike = all ? 1 : how_alike(&names[recipients + i], &names[nodes[k]]);

			if (alike > best)
				best = alike;
		}
		for (size_t k = 0; k < n; k++)
			if (nodes[k] != recipients + i &&
				(all || how_alike(&names[recipients + i], &names[nodes[k]]) ==
						best)) {
				edges_add(&tree->edges, nodes[k], i, true);
				tree->has_parent[i] = true;
			}
	}
	free(nodes);
}

/*
 * What becomes of a node.
 */

static bool is_better_known(const struct delivery_status *one, const struct delivery_status *than)
{
	if (than->fate == NOTHING || one->fate != than->fate)
		return than->fate == NOTHING || fate_is_worse(one->fate, than->fate);
	return one->leaf && (than->leaf == NULL || one->leaf->changed_us > than->leaf->changed_us);
}

static void count_worst(struct delivery_status *worst, const struct delivery_status *one)
{
	if (one->fate != NOTHING && is_better_known(one, worst))
		*worst = *one;
}

static struct delivery_status evaluate(struct delivery_tree *tree, size_t node);

/* What is said of the message as a whole counts for a node that is known to be
 * in it and has no delivery of its own; so do shared deliveries, once it has
 * left the queue. */
static struct delivery_status evaluate_message(
	struct delivery_tree *tree, size_t node, const struct edge *carrier, enum fate waiting)
{
	const struct hop *message = &tree->messages[carrier->to];
	struct delivery_status worst = {.fate = NOTHING};

	if (carrier->certain && message->has_end)
		return (struct delivery_status){message->ended, NULL, message->ended_us};
	if (message->closed_us == 0)
		return (struct delivery_status){.fate = waiting};
	if (!carrier->certain && tree->is_named[carrier->to])
		return worst;
	for (size_t i = 0; i < tree->n; i++) {
		struct delivery_status one;

		if (tree->message_of[i] != carrier->to || tree->has_parent[i])
			continue;
		one = evaluate(tree, tree->recipients->n + i);
		if (one.fate == FATE_DELIVERED || one.fate == FATE_COMPLAINED)
			one.fate = FATE_UNKNOWN;
		tree->shared_by[node] = true;
		count_worst(&worst, &one);
	}
	return worst;
}

/* The worst of what the node became in other messages; NOTHING: it became
 * nothing there that is known. */
static struct delivery_status evaluate_carried(
	struct delivery_tree *tree, size_t node, enum fate waiting)
{
	const struct edges *edges = &tree->edges, *carriers = &tree->carriers;
	struct delivery_status worst = {.fate = NOTHING}, one;

	for (size_t i = edges->first[node]; i < edges->first[node + 1]; i++) {
		one = evaluate(tree, tree->recipients->n + edges->items[i].to);
		count_worst(&worst, &one);
	}
	if (worst.fate != NOTHING)
		return worst;
	for (size_t i = carriers->first[node]; i < carriers->first[node + 1]; i++) {
		one = evaluate_message(tree, node, &carriers->items[i], waiting);
		count_worst(&worst, &one);
	}
	return worst;
}

static struct delivery_status evaluate_delivery(struct delivery_tree *tree, size_t i)
{
	const struct delivery *one = &tree->deliveries[i];
	size_t node = tree->recipients->n + i, message = tree->message_of[i];
	struct delivery_status carried;

	switch (one->state) {
	case FATE_DELIVERED:
	case FATE_HANDED_ON:
		carried = evaluate_carried(tree, node, FATE_HANDED_ON);
		if (carried.fate == NOTHING)
			break;
		if (carried.leaf == NULL)
			carried.leaf = one;
		return carried;
	case FATE_QUEUED:
	case FATE_DEFERRED:
		carried = evaluate_carried(tree, node, one->state);
		if (carried.fate == NOTHING && message < tree->messages_n &&
			tree->messages[message].has_end)
			carried = (struct delivery_status){tree->messages[message].ended, NULL,
				tree->messages[message].ended_us};
		if (carried.fate == NOTHING)
			break;
		if (carried.leaf == NULL)
			carried.leaf = one;
		return carried;
	default:
		break;
	}
	/* It was delivered to a program that has not given it back, but a
	 * message of which it may have been so is another's. */
	carried = (struct delivery_status){one->state, one, 0};
	if (one->state == FATE_DELIVERED &&
		tree->carriers.first[node] < tree->carriers.first[node + 1])
		carried.fate = FATE_HANDED_ON;
	return carried;
}

/* What was told of it as a whole, too. */
static struct delivery_status evaluate_recipient(struct delivery_tree *tree, size_t i)
{
	const char *address = tree->recipients->items[i].address;
	struct delivery_status worst = evaluate_carried(tree, i, FATE_QUEUED);

	if (worst.fate == NOTHING)
		worst.fate = FATE_QUEUED;
	for (size_t k = 0; k < tree->n; k++) {
		const struct delivery *one = &tree->deliveries[k];
		struct delivery_status whole = {one->state, one, 0};

		if (*one->queue_id || one->state == FATE_QUEUED || !str_eq(one->address, address))
			continue;
		if (one->state == FATE_UNKNOWN
				? fate_is_open(worst.fate)
				: (worst.fate == FATE_QUEUED || worst.fate == FATE_HANDED_ON ||
					  (one->state != FATE_DEFERRED &&
						  fate_is_worse(one->state, worst.fate))))
			worst = whole;
	}
	return worst;
}

/* A node that is in work is reached by going in a circle: two messages that
 * came at one time may each seem to come from the other. */
static struct delivery_status evaluate(struct delivery_tree *tree, size_t node)
{
	struct node *one = &tree->nodes[node];

	if (one->work == IN_WORK)
		return (struct delivery_status){.fate = NOTHING};
	if (one->work == UNSEEN) {
		size_t recipients = tree->recipients->n;
		struct delivery_status status;

		one->work = IN_WORK;
		status = node < recipients ? evaluate_recipient(tree, node)
					   : evaluate_delivery(tree, node - recipients);
		one->status = status;
		one->work = DONE;
	}
	return one->status;
}

void delivery_tree_compute(struct delivery_tree *tree)
{
	size_t recipients = tree->recipients->n, nodes = recipients + tree->n;
	struct name *names = mem_alloc(nodes + 1, sizeof(*names));
	size_t *origins;

	forget_computed(tree);
	tree->nodes = mem_alloc(nodes + 1, sizeof(*tree->nodes));
	tree->message_of = mem_alloc(tree->n + 1, sizeof(*tree->message_of));
	tree->has_parent = mem_alloc(tree->n + 1, sizeof(bool));
	tree->shared_by = mem_alloc(nodes + 1, sizeof(bool));
	tree->is_named = mem_alloc(tree->messages_n + 1, sizeof(bool));
	for (size_t i = 0; i < recipients; i++)
		names[i] = name_of(tree->recipients->items[i].address, "");
	for (size_t i = 0; i < tree->n; i++) {
		const struct delivery *one = &tree->deliveries[i];
		const struct hop *message = delivery_tree_message(
			tree, one->queue_id, one->since_us);

		names[recipients + i] = name_of(one->address, one->orig_to);
		tree->message_of[i] = message ? (size_t)(message - tree->messages)
					      : tree->messages_n;
	}
	for (size_t i = 0; i < tree->messages_n; i++)
		find_carried(tree, i, NULL);
	origins = mem_alloc(tree->messages_n + 1, sizeof(*origins));
	for (size_t i = 0; i < tree->messages_n; i++)
		origins[i] = origin_of(tree, i);
	for (size_t i = 0; i < tree->messages_n; i++)
		find_carried(tree, i, origins);
	free(origins);
	/* Again for each message that was requeued more than once. */
	for (size_t i = 0; i < tree->messages_n; i++)
		if (tree->messages[i].how == HOP_ORIG_ID)
			find_requeued(tree, i);
	for (size_t i = 0; i < tree->messages_n; i++)
		find_edges(tree, i, names);
	edges_index(&tree->edges, nodes);
	edges_index(&tree->carriers, nodes);
	for (size_t i = 0; i < nodes; i++)
		evaluate(tree, i);
	free(names);
}

const struct delivery_status *delivery_tree_status(
	const struct delivery_tree *tree, size_t recipient)
{
	return &tree->nodes[recipient].status;
}

bool delivery_tree_is_handed_on(const struct delivery_tree *tree, size_t i)
{
	size_t node = tree->recipients->n + i;
	enum fate state = tree->deliveries[i].state;

	return state == FATE_HANDED_ON ||
	       (state == FATE_DELIVERED &&
		       tree->carriers.first[node] < tree->carriers.first[node + 1]);
}

/* Follows the edges back. Each node is visited once: seen has one flag for each. */
static void find_owners(const struct delivery_tree *tree, size_t node, bool *seen, bool *owners)
{
	size_t recipients = tree->recipients->n;

	if (seen[node])
		return;
	seen[node] = true;
	if (node < recipients) {
		owners[node] = true;
		return;
	}
	for (size_t i = 0; i < tree->edges.n; i++)
		if (tree->edges.items[i].to == node - recipients)
			find_owners(tree, tree->edges.items[i].from, seen, owners);
	if (*tree->deliveries[node - recipients].queue_id == '\0')
		for (size_t i = 0; i < recipients; i++)
			owners[i] |= str_eq(tree->recipients->items[i].address,
				tree->deliveries[node - recipients].address);
}

static void add_owners(const struct delivery_tree *tree, size_t node, bool *owners)
{
	_cleanup_free_ bool *seen = mem_alloc(tree->recipients->n + tree->n + 1, sizeof(bool));

	find_owners(tree, node, seen, owners);
}

/* Of a delivery that is of no node yet, since the line that handed it on was
 * not read: those that it is most like. */
static void add_likely_owners(const struct delivery_tree *tree, size_t i, bool *owners)
{
	size_t recipients = tree->recipients->n, nodes = recipients + tree->n;
	const struct delivery *one = &tree->deliveries[i];
	const struct name name = name_of(one->address, one->orig_to);
	int best = 2, alike;

	for (int pass = 0; pass < 2; pass++)
		for (size_t k = 0; k < nodes; k++) {
			const struct delivery *other = k < recipients
							       ? NULL
							       : &tree->deliveries[k - recipients];
			struct name node;

			if (other && tree->message_of[k - recipients] == tree->message_of[i])
				continue;
			node = other ? name_of(other->address, other->orig_to)
				     : name_of(tree->recipients->items[k].address, "");
			alike = how_alike(&name, &node);
			if (pass == 0 && alike > best)
				best = alike;
			if (pass == 1 && alike == best)
				add_owners(tree, k, owners);
		}
}

void delivery_tree_owners(const struct delivery_tree *tree, size_t i, bool *owners)
{
	if (tree->has_parent[i] || *tree->deliveries[i].queue_id == '\0')
		add_owners(tree, tree->recipients->n + i, owners);
	else
		add_likely_owners(tree, i, owners);
}

void delivery_tree_sharers(const struct delivery_tree *tree, size_t i, bool *sharers)
{
	for (size_t k = 0; k < tree->carriers.n; k++) {
		const struct edge *carrier = &tree->carriers.items[k];

		if (carrier->to == tree->message_of[i] && !tree->has_parent[i] &&
			tree->shared_by[carrier->from])
			add_owners(tree, carrier->from, sharers);
	}
}

/* Whether the node has a delivery of its own in the message. */
static bool has_own(const struct delivery_tree *tree, size_t node, size_t message)
{
	const struct edges *edges = &tree->edges;

	for (size_t i = edges->first[node]; i < edges->first[node + 1]; i++)
		if (message == tree->messages_n || tree->message_of[edges->items[i].to] == message)
			return true;
	return false;
}

/* The nodes for which something of the message is still to be delivered. */
static size_t find_open(const struct delivery_tree *tree, size_t message, size_t *nodes)
{
	size_t recipients = tree->recipients->n, n = 0;

	for (size_t i = 0; i < tree->n; i++)
		if (tree->message_of[i] == message && is_open(&tree->deliveries[i]) &&
			tree->carriers.first[recipients + i] ==
				tree->carriers.first[recipients + i + 1])
			nodes[n++] = recipients + i;
	for (size_t i = 0; i < tree->carriers.n; i++) {
		const struct edge *carrier = &tree->carriers.items[i];

		if (carrier->to == message && carrier->certain &&
			!has_own(tree, carrier->from, tree->messages_n))
			nodes[n++] = carrier->from;
	}
	return n;
}

void delivery_tree_ended(
	const struct delivery_tree *tree, const struct hop *message, bool *recipients)
{
	_cleanup_free_ size_t *nodes = mem_alloc(tree->n + tree->carriers.n + 1, sizeof(*nodes));
	size_t n = find_open(tree, (size_t)(message - tree->messages), nodes);

	for (size_t i = 0; i < n; i++)
		add_owners(tree, nodes[i], recipients);
}

bool delivery_tree_awaits(const struct delivery_tree *tree, const struct hop *message)
{
	_cleanup_free_ size_t *nodes = mem_alloc(tree->n + tree->carriers.n + 1, sizeof(*nodes));
	size_t n = find_open(tree, (size_t)(message - tree->messages), nodes);

	for (size_t i = 0; i < n; i++)
		if (!tree->shared_by[nodes[i]])
			return true;
	return false;
}

int store_delivery_read(struct db *db, int64_t email, struct delivery_tree *tree, struct err *err)
{
	static const char sql_read[] =
		"SELECT queue_id, since_us, address, orig_to, state, via, child, began_us,"
		" changed_us, relay, dsn, text"
		" FROM delivery"
		" WHERE email = $email";
	struct hop_list hops;

	if (store_hops_of_email(db, email, &hops, err) < 0)
		return -1;
	tree->messages = hops.items;
	tree->messages_n = hops.n;
	return row_all(db, sql_read, DB_PARAMS(DB_INT("$email", email)), &delivery_type,
		&tree->deliveries, &tree->n, err);
}

int store_delivery_write(struct db *db, int64_t email, struct delivery_tree *tree, struct err *err)
{
	static const char sql_write[] =
		"INSERT INTO delivery (email, queue_id, since_us, address, orig_to, state, via,"
		"   child, began_us, changed_us, relay, dsn, text)"
		" VALUES ($email, $queue_id, $since_us, $address, $orig_to, $state, $via,"
		"   $child, $began_us, $changed_us, $relay, $dsn, $text)"
		" ON CONFLICT"
		" DO UPDATE SET state = excluded.state, via = excluded.via,"
		" child = excluded.child, began_us = excluded.began_us,"
		" changed_us = excluded.changed_us, relay = excluded.relay, dsn = excluded.dsn,"
		" text = excluded.text";

	for (size_t i = 0; i < tree->n; i++) {
		struct delivery *one = &tree->deliveries[i];

		if (one->changed && row_write(db, sql_write, DB_PARAMS(DB_INT("$email", email)),
					    &delivery_type, one, err) < 0)
			return -1;
		one->changed = false;
	}
	return 0;
}
