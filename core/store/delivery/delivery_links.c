/*
 * delivery_links: links the nodes of a delivery tree: which deliveries a recipient or a delivery
 * became in the next message, by the table at the head of delivery_tree.c.
 *
 * Threads: a tree is used by one thread at a time.
 */
#include "core/store/delivery/delivery_tree_private.h"

#include <stdlib.h>
#include <string.h>

#include "core/address/addr_logged.h"
#include "core/base/mem.h"
#include "core/base/str.h"

enum { SORTED_MIN = 16 };

/* Compares with a queue id that may be missing; a missing one equals none. */
static bool names_id(const char *name, const char *queue_id)
{
	return name && str_eq(name, queue_id);
}

bool delivery_may_lead_to(const struct delivery *delivery, const char *queue_id, int64_t since_us)
{
	int64_t begin_us = delivery->began_us, end_us = delivery->changed_us;

	if (delivery->state != DELIVERY_DELIVERED && delivery->state != DELIVERY_HANDED_ON)
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
 * The nodes that a message carries.
 */

/* True if the message came from a content filter or a program. */
static bool is_given_back(const struct queue_message *message)
{
	return message->how == MESSAGE_QUEUED_AS || message->how == MESSAGE_GIVEN_BACK;
}

/* Finds the newest message with the id that is not newer than since_us; NONE if there is none. */
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

/* True if `message` may come from `from`: it is not older, and `from` is not known to come from it.
 * The time of a recorded message is not compared, because it is from another clock than the
 * log's. */
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

/* Finds the handed-on deliveries that the message carries; with is_late, deliveries to a server of
 * this host in a message that was itself given back. */
static void find_handed_on(struct delivery_tree *tree, size_t message, bool is_late)
{
	const struct queue_message *said = &tree->messages[message];

	for (size_t i = 0; i < tree->n; i++) {
		const struct delivery *one = tree->deliveries[i];
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

/* A requeued message has the open deliveries of its parent, and the recipients without a report
 * there. The parent may be a requeued message, too. */
static void find_requeued(struct delivery_tree *tree, size_t message)
{
	size_t parent = tree->computed[message].parent;

	if (parent == NONE || tree->computed[message].carried_n)
		return;
	if (tree->messages[parent].how == MESSAGE_REQUEUED)
		find_requeued(tree, parent);
	for (size_t i = 0; i < tree->computed[parent].n; i++) {
		size_t delivery = tree->computed[parent].deliveries[i];

		if (is_open(tree->deliveries[delivery]))
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
 * The deliveries of a node.
 */

/* An address of a node, with a hash that excludes most other addresses. */
struct name {
	const char *address;
	const char *orig_to;
	unsigned address_hash;
	unsigned orig_hash;
};

static struct name logged_name(const char *address, const char *orig_to)
{
	return (struct name){
		address, orig_to, addr_logged_hash(address), addr_logged_hash(orig_to)};
}

static bool is_same(const char *a, unsigned a_hash, const char *b, unsigned b_hash)
{
	return *a && *b && a_hash == b_hash && addr_logged_eq(a, b);
}

/* Returns how well the delivery matches the node; 0: not at all. */
static int how_alike(const struct name *one, const struct name *node)
{
	bool same = is_same(one->address, one->address_hash, node->address, node->address_hash);

	if (same && (is_same(one->orig_to, one->orig_hash, node->orig_to, node->orig_hash) ||
			    (!*one->orig_to && !*node->orig_to)))
		return 4;
	if (is_same(one->orig_to, one->orig_hash, node->address, node->address_hash))
		return 3;
	/* Otherwise it belongs to another node, whose alias leads to this address. */
	if (same && !*one->orig_to)
		return 2;
	return is_same(one->orig_to, one->orig_hash, node->orig_to, node->orig_hash);
}

/* A node that a message carries, with the hash of one of its addresses. */
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

/* Returns the index of the first node with the hash. */
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

/* Links the delivery to the nodes that match it best: all with the highest rank. */
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
	/* For few nodes, sorting costs more than comparing all of them. */
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

/* Sorts the edges by their origin (stable). */
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

void delivery_links_find(struct delivery_tree *tree)
{
	size_t recipients = tree->recipients->n, nodes = recipients + tree->n;
	struct name *names = mem_alloc(nodes + 1, sizeof(*names));

	tree->nodes = mem_alloc(nodes + 1, sizeof(*tree->nodes));
	tree->message_of = mem_alloc(tree->n + 1, sizeof(*tree->message_of));
	tree->computed_n = tree->messages_n;
	tree->computed = mem_alloc(tree->computed_n + 1, sizeof(*tree->computed));
	for (size_t i = 0; i < recipients; i++)
		names[i] = logged_name(tree->recipients->items[i].address, "");
	for (size_t i = 0; i < tree->n; i++) {
		const struct delivery *one = tree->deliveries[i];
		const struct queue_message *said = delivery_tree_message(
			tree, one->queue_id, one->since_us);
		struct message *message;

		names[recipients + i] = logged_name(one->address, one->orig_to);
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
	free(names);
}

/*
 * The owners of a delivery.
 */

/* Follows the edges backwards. seen has a flag for each node, since paths can join. */
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
	if (*tree->deliveries[node]->queue_id == '\0')
		for (size_t i = 0; i < recipients; i++)
			owners[i] |= str_eq(tree->recipients->items[i].address,
				tree->deliveries[node]->address);
}

void delivery_links_owners(const struct delivery_tree *tree, size_t node, bool *owners)
{
	_cleanup_free_ bool *seen = mem_alloc(tree->recipients->n + tree->n + 1, sizeof(bool));

	find_owners(tree, node, seen, owners);
}

void delivery_tree_owners(const struct delivery_tree *tree, size_t i, bool *owners)
{
	size_t recipients = tree->recipients->n, nodes = recipients + tree->n;
	const struct delivery *one = tree->deliveries[i];
	const struct name name = logged_name(one->address, one->orig_to);
	int best = 2, alike;

	if (has_edge(&tree->came_from, i) || *one->queue_id == '\0') {
		delivery_links_owners(tree, recipients + i, owners);
		return;
	}
	/* It has no node, because the line that handed it on was not read: it may belong to the
	 * owners of the nodes that match it best. */
	for (int pass = 0; pass < 2; pass++)
		for (size_t k = 0; k < nodes; k++) {
			const struct delivery *other = k < recipients
							       ? NULL
							       : tree->deliveries[k - recipients];
			struct name node;

			if (other && tree->message_of[k - recipients] == tree->message_of[i])
				continue;
			node = other ? logged_name(other->address, other->orig_to)
				     : logged_name(tree->recipients->items[k].address, "");
			alike = how_alike(&name, &node);
			if (pass == 0 && alike > best)
				best = alike;
			if (pass == 1 && alike == best)
				delivery_links_owners(tree, k, owners);
		}
}
