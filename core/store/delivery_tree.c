/*
 * delivery_tree: what becomes of an email, as a tree of deliveries.
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
 * A message comes from one that was in the queue before it (may_come_from()).
 * What may have come from a filter did not come from a server of this host that
 * another message of the filter was delivered to.
 *
 * By address: the delivery's original address, else its address, is that of the
 * node (how_alike() has the order). A delivery of no node is shared: it stands
 * for all whose message it is and who have no delivery of their own there, once
 * that message has left the queue, and is unknown rather than delivered.
 *
 * What a node becomes is what is worst of its edges (fate_is_worse() has the
 * order); without any, what its state says. Of the states, rules[] has which
 * are replaced in this way. A recipient is `queued` and so replaced.
 *
 * An alias is not delivered before all addresses of its message were told, of
 * which the queue manager says how many there are, or that has left the queue.
 *
 * What is told of a recipient as a whole, by the queue or a report, is one more
 * delivery. But `deferred` counts only where no line says more than queued, and
 * `unknown` only where the lines say that it is still to be delivered.
 *
 * Threads: a tree is used by one thread at a time.
 */
#include "core/store/delivery_tree.h"

#include <stdlib.h>
#include <string.h>

#include "core/address/addr_logged.h"
#include "core/base/mem.h"
#include "core/base/str.h"

#define NOTHING FATES /* no fate */
#define NONE    SIZE_MAX

enum { SORTED_MIN = 16 };

/* Which states are replaced; the others are ends. */
static const struct {
	bool carried;      /* by what the message that carries it on came to */
	bool ended;        /* else by the end of its own message, if that has one */
	enum fate waiting; /* while the message that carries it on says nothing of it */
} rules[FATES] = {
	[FATE_QUEUED] = {true, true, FATE_QUEUED},
	[FATE_DEFERRED] = {true, true, FATE_DEFERRED},
	[FATE_HANDED_ON] = {true, false, FATE_HANDED_ON},
	[FATE_DELIVERED] = {true, false, FATE_HANDED_ON},
};

/* A node that a message carries. */
struct carried {
	size_t node;
	bool certain; /* the message is known to be the node's */
};

/* A message of the tree, as it was computed. */
struct message {
	size_t parent; /* the message that it is known to come from; NONE */
	struct carried *carried;
	size_t carried_n;
	size_t *deliveries;
	size_t n;
	size_t *shared; /* those that are of no node */
	size_t shared_n;
	bool is_named; /* a delivery names it */
};

/* From a node to a delivery, or to a message. */
struct edge {
	size_t from;
	size_t to;
	bool certain;
};
/* Those of all nodes: of node i from first[i] up to first[i + 1]. */
struct edges {
	struct edge *items;
	size_t n;
	size_t *first;
};

struct node {
	struct delivery_status status;
	enum { UNSEEN, IN_WORK, DONE } work;
	bool is_shared; /* a shared delivery decides */
};

struct delivery_tree {
	const struct recipients *recipients;
	struct queue_message *messages;
	size_t messages_n;
	struct delivery *deliveries;
	size_t n;
	size_t *slots; /* a hash table of them, by name: 1 + its index, or 0 */
	size_t slots_n;
	/* Computed. The recipients are the first nodes, then the deliveries. */
	struct node *nodes;
	struct message *computed; /* of each message */
	size_t computed_n;
	size_t *message_of;     /* each delivery; NONE */
	struct edges became;    /* to deliveries */
	struct edges came_from; /* the same backwards: from deliveries to nodes */
	struct edges carriers;  /* to messages */
	bool has_circle;
};

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

static void clear_delivery(struct delivery *one)
{
	free(one->queue_id);
	free(one->address);
	free(one->orig_to);
	free(one->child);
	free(one->relay);
	free(one->dsn);
	free(one->text);
}

void delivery_tree_free(struct delivery_tree *tree)
{
	if (tree == NULL)
		return;
	clear_computed(tree);
	queue_messages_free(&(struct queue_messages){tree->messages, tree->messages_n});
	for (size_t i = 0; i < tree->n; i++)
		clear_delivery(&tree->deliveries[i]);
	free(tree->deliveries);
	free(tree->slots);
	free(tree);
}

/*
 * What was told.
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

/* Where the delivery with these names stands in the hash table, or would. */
static size_t *find_slot(const struct delivery_tree *tree, const char *queue_id, int64_t since_us,
	const char *address, const char *orig_to)
{
	uint64_t hash = mem_hash(MEM_HASH, address, strlen(address));

	hash = mem_hash(hash, queue_id, strlen(queue_id));
	for (size_t at = hash;; at++) {
		size_t *slot = &tree->slots[at & (tree->slots_n - 1)];
		const struct delivery *one = *slot ? &tree->deliveries[*slot - 1] : NULL;

		if (one == NULL ||
			(one->since_us == since_us && str_eq(one->address, address) &&
				str_eq(one->orig_to, orig_to) && str_eq(one->queue_id, queue_id)))
			return slot;
	}
}

size_t delivery_tree_add(struct delivery_tree *tree, const struct delivery *delivery)
{
	if (2 * tree->n >= tree->slots_n) {
		free(tree->slots);
		tree->slots_n = tree->slots_n ? 2 * tree->slots_n : 16;
		tree->slots = mem_alloc(tree->slots_n, sizeof(*tree->slots));
		for (size_t i = 0; i < tree->n; i++) {
			const struct delivery *one = &tree->deliveries[i];

			*find_slot(tree, one->queue_id, one->since_us, one->address,
				one->orig_to) = i + 1;
		}
	}
	tree->deliveries = mem_append(tree->deliveries, tree->n, sizeof(*tree->deliveries));
	tree->deliveries[tree->n] = *delivery;
	*find_slot(tree, delivery->queue_id, delivery->since_us, delivery->address,
		delivery->orig_to) = tree->n + 1;
	return tree->n++;
}

size_t delivery_tree_find(struct delivery_tree *tree, const char *queue_id, int64_t since_us,
	const char *address, const char *orig_to)
{
	const size_t *slot = tree->n ? find_slot(tree, queue_id, since_us, address, orig_to) : NULL;

	if (slot && *slot)
		return *slot - 1;
	return delivery_tree_add(tree, &(struct delivery){.queue_id = mem_strdup(queue_id),
					       .since_us = since_us,
					       .address = mem_strdup(address),
					       .orig_to = mem_strdup(orig_to)});
}

struct delivery *delivery_tree_whole(const struct delivery_tree *tree, const char *address)
{
	const size_t *slot = tree->n ? find_slot(tree, "", 0, address, "") : NULL;

	return slot && *slot ? &tree->deliveries[*slot - 1] : NULL;
}

struct delivery *delivery_tree_at(struct delivery_tree *tree, size_t i)
{
	return &tree->deliveries[i];
}

size_t delivery_tree_count(const struct delivery_tree *tree)
{
	return tree->n;
}

/* A name that may be missing, which is that of no other. */
static bool names_id(const char *name, const char *queue_id)
{
	return name && str_eq(name, queue_id);
}

bool delivery_may_lead_to(const struct delivery *delivery, const char *queue_id, int64_t since_us)
{
	int64_t begin_us = delivery->began_us, end_us = delivery->changed_us;

	if (delivery->state != FATE_DELIVERED && delivery->state != FATE_HANDED_ON)
		return false;
	switch (delivery->via) {
	case VIA_FILTER:
		/* An attempt before the last one may have led to it. */
		if (delivery->since_us < begin_us)
			begin_us = delivery->since_us;
		return names_id(delivery->child, queue_id) ||
		       (since_us >= begin_us - DELIVERY_PROGRAM_US &&
			       since_us <= end_us + DELIVERY_FILTER_US);
	case VIA_LOCAL:
		if (delivery->child)
			return names_id(delivery->child, queue_id);
		return since_us >= begin_us - DELIVERY_PROGRAM_US &&
		       since_us <= end_us + DELIVERY_PROGRAM_US;
	case VIA_ALIAS:
		return names_id(delivery->child, queue_id);
	case VIA_FINAL:
		break;
	}
	return false;
}

/*
 * Which nodes a message carries.
 */

static bool is_open(const struct delivery *delivery)
{
	return delivery->state == FATE_QUEUED || delivery->state == FATE_DEFERRED;
}

/* Whether the message came from a filter or a program. */
static bool is_given_back(const struct queue_message *message)
{
	return message->how == MESSAGE_QUEUED_AS || message->how == MESSAGE_GIVEN_BACK;
}

/* The newest message with the id that is not newer than that; NONE. */
static size_t find_message(const struct delivery_tree *tree, const char *queue_id, int64_t since_us)
{
	size_t found = NONE;

	for (size_t i = 0; i < tree->messages_n; i++)
		if (tree->messages[i].since_us <= since_us &&
			str_eq(tree->messages[i].queue_id, queue_id) &&
			(found == NONE ||
				tree->messages[i].since_us > tree->messages[found].since_us))
			found = i;
	return found;
}

/* Whether one message may have come from the other. It comes later, but not
 * than one that is known to come from it; only the time of the first is by
 * another clock than the log's. */
static bool may_come_from(const struct delivery_tree *tree, size_t message, size_t from)
{
	for (size_t i = from, left = tree->messages_n; i != NONE && left > 0; left--) {
		if (i == message)
			return false;
		i = tree->computed[i].parent;
	}
	return tree->messages[from].how == MESSAGE_RECORDED ||
	       tree->messages[message].since_us >= tree->messages[from].since_us;
}

static void carry(struct delivery_tree *tree, size_t message, size_t node, bool certain)
{
	struct message *computed = &tree->computed[message];

	computed->carried = mem_append(
		computed->carried, computed->carried_n, sizeof(*computed->carried));
	computed->carried[computed->carried_n++] = (struct carried){node, certain};
	computed->is_named |= certain && node >= tree->recipients->n;
}

/* What the message carries that was handed on; with is_late, what a server of
 * this host took of a message that was given back. */
static void find_handed_on(struct delivery_tree *tree, size_t message, bool is_late)
{
	const struct queue_message *said = &tree->messages[message];

	for (size_t i = 0; i < tree->n; i++) {
		const struct delivery *one = &tree->deliveries[i];
		size_t from = tree->message_of[i];
		bool names = names_id(one->child, said->queue_id);
		bool late = one->via == VIA_LOCAL && !names && from != NONE &&
			    is_given_back(&tree->messages[from]);

		if (late != is_late || from == message ||
			!delivery_may_lead_to(one, said->queue_id, said->since_us) ||
			(said->how == MESSAGE_FORWARDED && one->via != VIA_ALIAS) ||
			(!names && from != NONE && !may_come_from(tree, message, from)))
			continue;
		carry(tree, message, tree->recipients->n + i, names);
	}
}

/* A requeued message has what the one of before had still to deliver, and whom
 * that has told nothing yet. The one of before may be a requeued one, too. */
static void find_requeued(struct delivery_tree *tree, size_t message)
{
	size_t parent = tree->computed[message].parent;

	if (parent == NONE || tree->computed[message].carried_n)
		return;
	if (tree->messages[parent].how == MESSAGE_REQUEUED)
		find_requeued(tree, parent);
	for (size_t i = 0; i < tree->computed[parent].n; i++) {
		size_t delivery = tree->computed[parent].deliveries[i];

		if (is_open(&tree->deliveries[delivery]))
			carry(tree, message, tree->recipients->n + delivery, true);
	}
	for (size_t i = 0; i < tree->computed[parent].carried_n; i++)
		carry(tree, message, tree->computed[parent].carried[i].node,
			tree->computed[parent].carried[i].certain);
}

static int by_requeue(const struct delivery_tree *tree, size_t message)
{
	return tree->messages[message].how == MESSAGE_REQUEUED;
}

static void find_carried(struct delivery_tree *tree)
{
	for (size_t i = 0; i < tree->messages_n; i++) {
		const struct queue_message *said = &tree->messages[i];

		tree->computed[i].parent = said->parent && *said->parent
						   ? find_message(
							     tree, said->parent, said->since_us)
						   : NONE;
		if (tree->computed[i].parent == i)
			tree->computed[i].parent = NONE;
	}
	for (size_t i = 0; i < tree->messages_n; i++) {
		if (tree->messages[i].how == MESSAGE_RECORDED)
			for (size_t k = 0; k < tree->recipients->n; k++)
				carry(tree, i, k, true);
		else if (!by_requeue(tree, i))
			find_handed_on(tree, i, false);
	}
	for (size_t i = 0; i < tree->messages_n; i++)
		if (is_given_back(&tree->messages[i]) && tree->computed[i].carried_n == 0)
			find_handed_on(tree, i, true);
	for (size_t i = 0; i < tree->messages_n; i++)
		if (by_requeue(tree, i))
			find_requeued(tree, i);
}

/*
 * Which deliveries are a node's.
 */

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

/* A node that a message carries, by the hash of an address of it. */
struct hashed {
	unsigned hash;
	size_t node;
};

static int by_hash(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Where those with the hash begin. */
static size_t find_hash(const struct hashed *all, size_t n, unsigned hash)
{
	size_t from = 0;

	while (from < n) {
		size_t middle = from + (n - from) / 2;

		if (all[middle].hash < hash)
			from = middle + 1;
		else
			n = middle;
	}
	return from;
}

static void add_edge(struct edges *edges, size_t from, size_t to, bool certain)
{
	edges->items = mem_append(edges->items, edges->n, sizeof(*edges->items));
	edges->items[edges->n++] = (struct edge){from, to, certain};
}

/* Of the nodes, those that the delivery is most like: all with the best rank. */
static void add_alike(struct delivery_tree *tree, size_t delivery, const struct name *names,
	const struct hashed *all, size_t n, bool is_sorted)
{
	size_t self = tree->recipients->n + delivery, before = tree->became.n;
	const struct name *name = &names[self];
	const unsigned hashes[] = {name->address_hash, name->orig_hash};
	int best = 1;

	for (int pass = 0; pass < 2; pass++)
		for (size_t h = 0; h < (*name->orig_to ? 2 : 1); h++)
			for (size_t i = is_sorted ? find_hash(all, n, hashes[h]) : 0;
				i < n && (h == 0 || best < 4); i++) {
				int alike;

				if (all[i].hash != hashes[h] && is_sorted)
					break;
				if (all[i].hash != hashes[h])
					continue;
				alike = how_alike(name, &names[all[i].node]);
				if (pass == 0 && alike > best)
					best = alike;
				if (pass == 0 || alike != best || all[i].node == self ||
					(tree->became.n > before &&
						tree->became.items[tree->became.n - 1].from ==
							all[i].node))
					continue;
				add_edge(&tree->became, all[i].node, delivery, true);
			}
}

static void find_deliveries(struct delivery_tree *tree, size_t message, const struct name *names)
{
	struct message *computed = &tree->computed[message];
	struct hashed *all = mem_alloc(2 * computed->carried_n + 1, sizeof(*all));
	bool is_sorted;
	size_t n = 0;

	for (size_t i = 0; i < computed->carried_n; i++) {
		const struct name *name = &names[computed->carried[i].node];

		all[n++] = (struct hashed){name->address_hash, computed->carried[i].node};
		if (*name->orig_to)
			all[n++] = (struct hashed){name->orig_hash, computed->carried[i].node};
	}
	/* For a few it costs more than to look at all. */
	is_sorted = computed->n >= SORTED_MIN && n > 1;
	if (is_sorted)
		qsort(all, n, sizeof(*all), by_hash);
	for (size_t i = 0; i < computed->n; i++) {
		size_t before = tree->became.n;

		if (tree->messages[message].how != MESSAGE_FORWARDED)
			add_alike(tree, computed->deliveries[i], names, all, n, is_sorted);
		else
			for (size_t k = 0; k < computed->carried_n; k++)
				add_edge(&tree->became, computed->carried[k].node,
					computed->deliveries[i], true);
		if (tree->became.n > before)
			continue;
		computed->shared = mem_append(
			computed->shared, computed->shared_n, sizeof(*computed->shared));
		computed->shared[computed->shared_n++] = computed->deliveries[i];
	}
	free(all);
}

/* Sorts them by where they come from, and else leaves them as they were. */
static void edges_sort(struct edges *edges, size_t nodes)
{
	struct edge *sorted = mem_alloc(edges->n + 1, sizeof(*sorted));
	size_t *next = mem_alloc(nodes + 2, sizeof(*next));

	edges->first = mem_alloc(nodes + 2, sizeof(*edges->first));
	for (size_t i = 0; i < edges->n; i++)
		edges->first[edges->items[i].from + 1]++;
	for (size_t i = 0; i < nodes; i++)
		edges->first[i + 1] += edges->first[i];
	memcpy(next, edges->first, (nodes + 1) * sizeof(*next));
	for (size_t i = 0; i < edges->n; i++)
		sorted[next[edges->items[i].from]++] = edges->items[i];
	free(next);
	free(edges->items);
	edges->items = sorted;
}

static bool has_edge(const struct edges *edges, size_t node)
{
	return edges->first[node] < edges->first[node + 1];
}

/*
 * What becomes of a node.
 */

static bool decides(const struct delivery_status *one, const struct delivery_status *than)
{
	if (than->fate == NOTHING || one->fate != than->fate)
		return than->fate == NOTHING || fate_is_worse(one->fate, than->fate);
	return one->delivery &&
	       (than->delivery == NULL || one->delivery->changed_us > than->delivery->changed_us);
}

static void add_worst(struct delivery_status *worst, const struct delivery_status *one)
{
	if (one->fate != NOTHING && decides(one, worst))
		*worst = *one;
}

static struct delivery_status evaluate(struct delivery_tree *tree, size_t node);

static struct delivery_status status_of_end(const struct queue_message *message)
{
	return (struct delivery_status){message->ended, NULL, message->ended_us};
}

/* What is said of the message as a whole counts for a node that is known to be
 * in it and has no delivery of its own; so do shared deliveries, once it has
 * left the queue. */
static struct delivery_status evaluate_message(
	struct delivery_tree *tree, size_t node, const struct edge *carrier, enum fate waiting)
{
	const struct queue_message *message = &tree->messages[carrier->to];
	const struct message *computed = &tree->computed[carrier->to];
	struct delivery_status worst = {.fate = NOTHING};

	if (carrier->certain && message->has_end)
		return status_of_end(message);
	if (message->closed_us == 0)
		return (struct delivery_status){.fate = waiting};
	if (!carrier->certain && computed->is_named)
		return worst;
	for (size_t i = 0; i < computed->shared_n; i++) {
		struct delivery_status one = evaluate(
			tree, tree->recipients->n + computed->shared[i]);

		if (one.fate == FATE_DELIVERED || one.fate == FATE_COMPLAINED)
			one.fate = FATE_UNKNOWN;
		tree->nodes[node].is_shared = true;
		add_worst(&worst, &one);
	}
	return worst;
}

/* Whether the node may have become more in that message than was told: it is an
 * alias there, and not all addresses of the message were told. */
static bool has_untold(const struct delivery_tree *tree, size_t delivery)
{
	size_t i = tree->message_of[delivery];
	const struct queue_message *message = &tree->messages[i];
	int64_t all = message->recipients;

	if (all == 0 && message->how == MESSAGE_RECORDED)
		all = (int64_t)tree->recipients->n;
	return message->closed_us == 0 && (int64_t)tree->computed[i].n < all &&
	       (*tree->deliveries[delivery].orig_to || message->how == MESSAGE_FORWARDED);
}

/* The worst of what the node became in other messages; NOTHING: it became
 * nothing there that is known. */
static struct delivery_status evaluate_carried(
	struct delivery_tree *tree, size_t node, enum fate waiting)
{
	const struct edges *became = &tree->became, *carriers = &tree->carriers;
	struct delivery_status worst = {.fate = NOTHING}, one;

	for (size_t i = became->first[node]; i < became->first[node + 1]; i++) {
		one = evaluate(tree, tree->recipients->n + became->items[i].to);
		add_worst(&worst, &one);
		if (has_untold(tree, became->items[i].to))
			add_worst(&worst, &(struct delivery_status){.fate = waiting});
	}
	for (size_t i = carriers->first[node];
		!has_edge(became, node) && i < carriers->first[node + 1]; i++) {
		one = evaluate_message(tree, node, &carriers->items[i], waiting);
		add_worst(&worst, &one);
	}
	return worst;
}

static struct delivery_status evaluate_delivery(struct delivery_tree *tree, size_t i)
{
	const struct delivery *one = &tree->deliveries[i];
	size_t node = tree->recipients->n + i, message = tree->message_of[i];
	struct delivery_status own = {one->state, one, 0}, other = {.fate = NOTHING};

	if (rules[one->state].carried)
		other = evaluate_carried(tree, node, rules[one->state].waiting);
	if (other.fate == NOTHING && rules[one->state].ended && message != NONE &&
		tree->messages[message].has_end)
		other = status_of_end(&tree->messages[message]);
	/* It was delivered to a program that has not given it back, but a
	 * message of which it may have been so is another's. */
	if (other.fate == NOTHING && one->state == FATE_DELIVERED &&
		has_edge(&tree->carriers, node))
		own.fate = FATE_HANDED_ON;
	if (other.fate == NOTHING)
		return own;
	if (other.delivery == NULL)
		other.delivery = one;
	return other;
}

/* What was told of it as a whole, too. */
static struct delivery_status evaluate_recipient(struct delivery_tree *tree, size_t i)
{
	struct delivery_status worst = evaluate_carried(tree, i, FATE_QUEUED);
	const struct delivery *whole = delivery_tree_whole(
		tree, tree->recipients->items[i].address);

	if (worst.fate == NOTHING)
		worst.fate = FATE_QUEUED;
	if (whole == NULL || whole->state == FATE_QUEUED)
		return worst;
	if (whole->state == FATE_UNKNOWN
			? fate_is_open(worst.fate)
			: (worst.fate == FATE_QUEUED || worst.fate == FATE_HANDED_ON ||
				  (whole->state != FATE_DEFERRED &&
					  fate_is_worse(whole->state, worst.fate))))
		worst = (struct delivery_status){whole->state, whole, 0};
	return worst;
}

static struct delivery_status evaluate_now(struct delivery_tree *tree, size_t node)
{
	size_t recipients = tree->recipients->n;

	return node < recipients ? evaluate_recipient(tree, node)
				 : evaluate_delivery(tree, node - recipients);
}

static struct delivery_status evaluate(struct delivery_tree *tree, size_t node)
{
	struct node *one = &tree->nodes[node];

	if (one->work == IN_WORK) {
		tree->has_circle = true;
		return (struct delivery_status){.fate = FATE_HANDED_ON};
	}
	if (one->work == UNSEEN) {
		one->work = IN_WORK;
		one->status = evaluate_now(tree, node);
		one->work = DONE;
	}
	return one->status;
}

/* Two messages that came at one time may each seem to come from the other. What
 * goes in a circle is handed on, or what is worse that leads out of it: all
 * begin as handed on, until nothing changes any more. Statuses only get worse
 * once those outside of circles are right, so it does not matter who is first. */
static void evaluate_circles(struct delivery_tree *tree, size_t nodes)
{
	bool changed = true;

	for (size_t i = 0; i < nodes; i++)
		tree->nodes[i].status = (struct delivery_status){.fate = FATE_HANDED_ON};
	for (size_t left = 2 * nodes; changed && left > 0; left--) {
		changed = false;
		for (size_t i = 0; i < nodes; i++) {
			struct delivery_status fresh = evaluate_now(tree, i);

			changed |= fresh.fate != tree->nodes[i].status.fate ||
				   fresh.delivery != tree->nodes[i].status.delivery;
			tree->nodes[i].status = fresh;
		}
	}
}

void delivery_tree_compute(struct delivery_tree *tree)
{
	size_t recipients = tree->recipients->n, nodes = recipients + tree->n;
	struct name *names = mem_alloc(nodes + 1, sizeof(*names));

	clear_computed(tree);
	tree->nodes = mem_alloc(nodes + 1, sizeof(*tree->nodes));
	tree->message_of = mem_alloc(tree->n + 1, sizeof(*tree->message_of));
	tree->computed_n = tree->messages_n;
	tree->computed = mem_alloc(tree->computed_n + 1, sizeof(*tree->computed));
	for (size_t i = 0; i < recipients; i++)
		names[i] = name_of(tree->recipients->items[i].address, "");
	for (size_t i = 0; i < tree->n; i++) {
		const struct delivery *one = &tree->deliveries[i];
		const struct queue_message *said = delivery_tree_message(
			tree, one->queue_id, one->since_us);
		struct message *message;

		names[recipients + i] = name_of(one->address, one->orig_to);
		tree->message_of[i] = said ? (size_t)(said - tree->messages) : NONE;
		if (said == NULL)
			continue;
		message = &tree->computed[tree->message_of[i]];
		message->deliveries = mem_append(
			message->deliveries, message->n, sizeof(*message->deliveries));
		message->deliveries[message->n++] = i;
	}
	find_carried(tree);
	for (size_t i = 0; i < tree->messages_n; i++) {
		find_deliveries(tree, i, names);
		for (size_t k = 0; k < tree->computed[i].carried_n; k++)
			add_edge(&tree->carriers, tree->computed[i].carried[k].node, i,
				tree->computed[i].carried[k].certain);
	}
	for (size_t i = 0; i < tree->became.n; i++)
		add_edge(&tree->came_from, tree->became.items[i].to, tree->became.items[i].from,
			true);
	edges_sort(&tree->became, nodes);
	edges_sort(&tree->carriers, nodes);
	edges_sort(&tree->came_from, tree->n);
	for (size_t i = 0; i < nodes; i++)
		evaluate(tree, i);
	if (tree->has_circle)
		evaluate_circles(tree, nodes);
	free(names);
}

/*
 * What was computed.
 */

const struct delivery_status *delivery_tree_status(
	const struct delivery_tree *tree, size_t recipient)
{
	return &tree->nodes[recipient].status;
}

bool delivery_tree_is_handed_on(const struct delivery_tree *tree, size_t i)
{
	enum fate state = tree->deliveries[i].state;

	return state == FATE_HANDED_ON ||
	       (state == FATE_DELIVERED && has_edge(&tree->carriers, tree->recipients->n + i));
}

/* Follows the edges back; seen: a flag for each node, since some come together. */
static void find_owners(const struct delivery_tree *tree, size_t node, bool *seen, bool *owners)
{
	size_t recipients = tree->recipients->n;
	const struct edges *back = &tree->came_from;

	if (seen[node])
		return;
	seen[node] = true;
	if (node < recipients) {
		owners[node] = true;
		return;
	}
	node -= recipients;
	for (size_t i = back->first[node]; i < back->first[node + 1]; i++)
		find_owners(tree, back->items[i].to, seen, owners);
	if (*tree->deliveries[node].queue_id == '\0')
		for (size_t i = 0; i < recipients; i++)
			owners[i] |= str_eq(
				tree->recipients->items[i].address, tree->deliveries[node].address);
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
	if (has_edge(&tree->came_from, i) || *tree->deliveries[i].queue_id == '\0')
		add_owners(tree, tree->recipients->n + i, owners);
	else
		add_likely_owners(tree, i, owners);
}

void delivery_tree_sharers(const struct delivery_tree *tree, size_t i, bool *sharers)
{
	const struct message *message;

	if (has_edge(&tree->came_from, i) || tree->message_of[i] == NONE)
		return;
	message = &tree->computed[tree->message_of[i]];
	for (size_t k = 0; k < message->carried_n; k++)
		if (tree->nodes[message->carried[k].node].is_shared)
			add_owners(tree, message->carried[k].node, sharers);
}

/* The nodes for which something of the message is still to be delivered. */
static size_t find_open(const struct delivery_tree *tree, size_t message, size_t *nodes)
{
	const struct message *computed = &tree->computed[message];
	size_t recipients = tree->recipients->n, n = 0;

	for (size_t i = 0; i < computed->n; i++) {
		size_t node = recipients + computed->deliveries[i];

		if (is_open(&tree->deliveries[computed->deliveries[i]]) &&
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
		add_owners(tree, nodes[k], recipients);
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
