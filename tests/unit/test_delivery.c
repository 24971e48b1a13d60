/* store_delivery: random trees of aliases, filters and requeues, whose events
 * come in any order and twice: what is computed is the worst true end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/address/addr_logged.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/store/delivery/store_delivery.h"

enum { TREES = 10000, STEPS_MAX = 400, RECIPIENTS_MAX = 4, NAME_SIZE = 32 };

/* What a line does to the tree. */
struct step {
	enum { SAY, CARRY, END, CLOSE } kind;
	char message[NAME_SIZE];
	char parent[NAME_SIZE];
	enum message_how how;
	char address[NAME_SIZE];
	char orig_to[NAME_SIZE];
	enum event_kind event;
	enum delivery_via via;
	char child[NAME_SIZE];
	int owner; /* for whom it is an end; -1: nobody */
};

struct world {
	unsigned seed;
	int recipients, messages, addresses;
	struct step steps[STEPS_MAX];
	int n;
	enum delivery_status truth[RECIPIENTS_MAX]; /* the worst end */
	bool has_end[RECIPIENTS_MAX];
	bool is_lost[RECIPIENTS_MAX]; /* a filter dropped it */
	bool expires;                 /* the first message, while something is deferred */
};

static unsigned roll(struct world *world, unsigned n)
{
	world->seed = world->seed * 1103515245u + 12345u;
	return (world->seed >> 16) % n;
}

static struct step *add_step(struct world *world, int kind, const char *message)
{
	struct step *step = &world->steps[world->n++];

	assert_true(world->n < STEPS_MAX);
	memset(step, 0, sizeof(*step));
	step->kind = kind;
	step->owner = -1;
	snprintf(step->message, NAME_SIZE, "%s", message);
	return step;
}

static void new_message(struct world *world, enum message_how how, const char *parent,
	char name_r[static NAME_SIZE])
{
	struct step *step;

	snprintf(name_r, NAME_SIZE, "M%d", ++world->messages);
	step = add_step(world, CARRY, name_r);
	step->how = how;
	snprintf(step->parent, NAME_SIZE, "%s", parent);
	add_step(world, CLOSE, name_r);
}

static struct step *say(struct world *world, const char *message, const char *address,
	const char *orig_to, enum event_kind event)
{
	struct step *step = add_step(world, SAY, message);

	snprintf(step->address, NAME_SIZE, "%s", address);
	snprintf(step->orig_to, NAME_SIZE, "%s", orig_to);
	step->event = event;
	return step;
}

static void add_end(struct world *world, int owner, enum delivery_status state)
{
	if (!world->has_end[owner] || delivery_status_is_worse(state, world->truth[owner]))
		world->truth[owner] = state;
	world->has_end[owner] = true;
}

/* An address that a message is delivered to: it ends there, or local(8) makes a
 * message for its members. */
static void deliver(struct world *world, const char *message, int owner, const char *address,
	const char *orig_to, int depth)
{
	static const enum event_kind ends[] = {EVENT_DELIVERED, EVENT_DELIVERED, EVENT_DELIVERED,
		EVENT_BOUNCED, EVENT_DISCARDED, EVENT_DEFERRED};
	char child[NAME_SIZE], member[NAME_SIZE];
	struct step *step;
	enum event_kind end;

	if (depth < 3 && roll(world, 4) == 0) {
		new_message(world, MESSAGE_FORWARDED, message, child);
		step = say(world, message, address, orig_to, EVENT_HANDED_ON);
		step->via = VIA_ALIAS;
		snprintf(step->child, NAME_SIZE, "%s", child);
		for (unsigned left = 1 + roll(world, 4); left > 0; left--) {
			snprintf(member, NAME_SIZE, "a%d@x", ++world->addresses);
			deliver(world, child, owner, member,
				roll(world, 4) ? (*orig_to ? orig_to : address) : "", depth + 1);
		}
		return;
	}
	end = ends[roll(world, ARRAY_SIZE(ends))];
	if (roll(world, 3) == 0 && end != EVENT_DEFERRED)
		say(world, message, address, orig_to, EVENT_DEFERRED);
	step = say(world, message, address, orig_to, end);
	step->owner = owner;
	add_end(world, owner,
		end == EVENT_DEFERRED && world->expires && str_eq(message, "M0")
			? DELIVERY_EXPIRED
			: delivery_status_of_event(end));
}

/* A recipient in a message: itself, or what a virtual alias makes of it. */
static void expand(struct world *world, const char *message, int owner)
{
	char address[NAME_SIZE], member[NAME_SIZE];

	snprintf(address, NAME_SIZE, "r%d@x", owner);
	if (roll(world, 3)) {
		deliver(world, message, owner, address, "", 0);
		return;
	}
	for (unsigned left = 1 + roll(world, 5); left > 0; left--) {
		/* Now and then the last one is a recipient, too. */
		if (left == 1 && roll(world, 2) == 0)
			snprintf(member, NAME_SIZE, "r%d@x", (owner + 1) % RECIPIENTS_MAX);
		else
			snprintf(member, NAME_SIZE, "v%d@x", ++world->addresses);
		deliver(world, message, owner, member, address, 1);
	}
}

/* The filter gives back one message for each recipient, or for all, drops some,
 * adds an address, and may give back twice. */
static void filter(struct world *world)
{
	char child[NAME_SIZE] = "", address[NAME_SIZE];
	bool split = roll(world, 2), named = roll(world, 2);

	for (int i = 0; i < world->recipients; i++) {
		struct step *step;

		snprintf(address, NAME_SIZE, "r%d@x", i);
		if (!*child || split)
			new_message(
				world, named ? MESSAGE_QUEUED_AS : MESSAGE_GIVEN_BACK, "M0", child);
		step = say(world, "M0", address, "", EVENT_HANDED_ON);
		step->via = VIA_FILTER;
		if (named)
			snprintf(step->child, NAME_SIZE, "%s", child);
		if (world->recipients > 1 && !split && !named && roll(world, 8) == 0) {
			world->is_lost[i] = true;
			continue;
		}
		expand(world, child, i);
		if (roll(world, 6) == 0) {
			snprintf(address, NAME_SIZE, "add%d@x", i);
			say(world, child, address, "", EVENT_BOUNCED);
			/* It stands for those that were dropped. */
		}
		if (roll(world, 8) == 0 && !named) {
			new_message(world, MESSAGE_GIVEN_BACK, "M0", child);
			expand(world, child, i);
		}
	}
}

/* What is deferred goes on under another id. */
static void requeue(struct world *world)
{
	char next[NAME_SIZE];
	int n = world->n;

	new_message(world, MESSAGE_REQUEUED, "M0", next);
	for (int i = 0; i < world->recipients; i++)
		world->has_end[i] = false;
	for (int i = 0; i < n; i++) {
		struct step said = world->steps[i];

		if (said.owner < 0)
			continue;
		if (said.event == EVENT_DEFERRED && str_eq(said.message, "M0")) {
			world->steps[i].owner = -1;
			said.event = roll(world, 2) ? EVENT_DELIVERED : EVENT_BOUNCED;
			say(world, next, said.address, said.orig_to, said.event)->owner =
				said.owner;
		}
		add_end(world, said.owner, delivery_status_of_event(said.event));
	}
}

/* An admin removes one of the messages, or a rule discards it: all that it still
 * had to deliver comes to that end. */
static void end_message(struct world *world)
{
	char name[NAME_SIZE];
	int n = world->n;
	enum event_kind event = roll(world, 2) ? EVENT_REMOVED : EVENT_EXPIRED;

	snprintf(name, NAME_SIZE, "M%u", roll(world, (unsigned)world->messages + 1));
	add_step(world, END, name)->event = event;
	for (int i = 0; i < world->recipients; i++)
		world->has_end[i] = false;
	for (int i = 0; i < n; i++) {
		const struct step *said = &world->steps[i];
		bool ends = said->event == EVENT_DEFERRED && str_eq(said->message, name);

		if (said->owner >= 0)
			add_end(world, said->owner,
				delivery_status_of_event(ends ? event : said->event));
	}
}

static void plan(struct world *world, unsigned seed)
{
	*world = (struct world){.seed = seed * 2654435761u + 1};
	world->recipients = 1 + (int)roll(world, RECIPIENTS_MAX);
	add_step(world, CARRY, "M0")->how = MESSAGE_RECORDED;
	add_step(world, CLOSE, "M0");
	if (roll(world, 3) == 0) {
		filter(world);
		if (roll(world, 3) == 0)
			end_message(world);
		return;
	}
	world->expires = roll(world, 4) == 0;
	for (int i = 0; i < world->recipients; i++)
		expand(world, "M0", i);
	if (world->expires)
		add_step(world, END, "M0")->event = EVENT_EXPIRED;
	else if (roll(world, 3) == 0)
		requeue(world);
	else if (roll(world, 2))
		end_message(world);
}

static int64_t since_of(const char *message)
{
	return SECOND_US * (1000 + atoi(message + 1));
}

/* at_us: when all messages came up; 0: each at its own time. */
static void apply_at(struct delivery_tree *tree, const struct step *step, int64_t at_us)
{
	int64_t since_us = at_us ? at_us : since_of(step->message);
	struct delivery *delivery;
	struct queue_message *message;

	if (step->kind == SAY) {
		delivery = delivery_tree_at(tree, delivery_tree_find(tree, step->message, since_us,
							  step->address, step->orig_to));
		delivery->state = delivery_status_next(delivery->state, step->event);
		if (delivery->state != delivery_status_of_event(step->event))
			return;
		delivery->via = step->via;
		delivery->began_us = since_us;
		delivery->changed_us = since_us + SECOND_US;
		free(delivery->child);
		delivery->child = *step->child ? mem_strdup(step->child) : NULL;
		return;
	}
	delivery_tree_add_message(
		tree, &(struct queue_message){.queue_id = (char *)step->message,
			      .since_us = since_us,
			      .n = EVENT_ANY_RECIPIENT,
			      .how = step->how,
			      .parent = *step->parent ? (char *)step->parent : NULL});
	message = delivery_tree_message(tree, step->message, since_us);
	if (step->kind == CLOSE)
		message->closed_us = since_us + SECOND_US;
	if (step->kind == END) {
		message->has_end = true;
		message->ended = delivery_status_of_event(step->event);
		message->ended_us = since_us;
	}
}

static void apply(struct delivery_tree *tree, const struct step *step)
{
	apply_at(tree, step, 0);
}

/* How a message came is known with it: what else is said of it says that too. */
static void tell_hows(struct world *world)
{
	for (int i = 0; i < world->n; i++)
		for (int k = 0; k < world->n; k++)
			if (i != k && world->steps[k].kind == CARRY &&
				str_eq(world->steps[k].message, world->steps[i].message)) {
				world->steps[i].how = world->steps[k].how;
				strcpy(world->steps[i].parent, world->steps[k].parent);
			}
}

static void check_prefix(
	const struct world *world, const struct delivery_tree *tree, const int *order, int done)
{
	for (int r = 0; r < world->recipients; r++) {
		bool told = false;

		if (delivery_tree_status(tree, (size_t)r)->state != DELIVERY_DELIVERED)
			continue;
		for (int i = 0; i < done; i++) {
			const struct step *step = &world->steps[order[i]];

			told |= step->kind == SAY && step->owner == r &&
				step->event == EVENT_DELIVERED;
		}
		if (!told)
			fail_msg(
				"tree %u: recipient %d is delivered, and no last hop has "
				"said so",
				world->seed, r);
	}
}

static void check_end(
	const struct world *world, unsigned tree_number, const struct delivery_tree *tree)
{
	for (int r = 0; r < world->recipients; r++) {
		enum delivery_status state = delivery_tree_status(tree, (size_t)r)->state;

		if (world->is_lost[r] && !world->has_end[r]) {
			/* Bounced, where a shared delivery did. */
			assert_int_not_equal(state, DELIVERY_DELIVERED);
			continue;
		}
		if (state != world->truth[r])
			fail_msg("tree %u: recipient %d is %s, and not %s", tree_number, r,
				delivery_status_name(state), delivery_status_name(world->truth[r]));
	}
}

static void test_trees(void **state)
{
	(void)state;
	for (unsigned number = 0; number < TREES; number++) {
		struct world world;
		struct recipients all = {0};
		struct delivery_tree *tree;
		int order[2 * STEPS_MAX], n;

		plan(&world, number);
		tell_hows(&world);
		n = 2 * world.n;
		for (int i = 0; i < n; i++)
			order[i] = i % world.n;
		for (int i = n - 1; i > 0; i--) {
			int k = (int)roll(&world, (unsigned)i + 1);
			int other = order[i];

			order[i] = order[k];
			order[k] = other;
		}
		for (int i = 0; i < world.recipients; i++)
			recipients_add(&all, RECIPIENT_TO, mem_printf("r%d@x", i), NULL, true);
		tree = delivery_tree_new(&all);
		for (int i = 0; i < n; i++) {
			apply(tree, &world.steps[order[i]]);
			if (number % 10 == 0 || i == n - 1) {
				delivery_tree_compute(tree);
				check_prefix(&world, tree, order, i + 1);
			}
		}
		check_end(&world, number, tree);
		delivery_tree_free(tree);
		recipients_free(&all);
	}
}

/* What a filter gave back is requeued, and so passes the filter again, twice:
 * the last message decides, in whatever order the events come, also where all
 * messages came up at one time. */
static void test_requeued_through_filter(void **state)
{
#define CARRIES(name, came, from)                                                                  \
	{                                                                                          \
		.kind = CARRY, .message = name, .how = came, .parent = from                        \
	}
#define FILTERED(name)                                                                             \
	{                                                                                          \
		.kind = SAY, .message = name, .address = "r0@x", .event = EVENT_HANDED_ON,         \
		.via = VIA_FILTER                                                                  \
	}
#define SAID(name, what)                                                                           \
	{                                                                                          \
		.kind = SAY, .message = name, .address = "r0@x", .event = what                     \
	}
	static const struct step steps[] = {
		CARRIES("M0", MESSAGE_RECORDED, ""),
		FILTERED("M0"),
		CARRIES("M1", MESSAGE_GIVEN_BACK, ""),
		SAID("M1", EVENT_DEFERRED),
		/* by a server of this host, which gives nothing back */
		{.kind = SAY,
			.message = "M0",
			.address = "r1@x",
			.event = EVENT_HANDED_ON,
			.via = VIA_FILTER},
		{.kind = SAY,
			.message = "M1",
			.address = "r1@x",
			.event = EVENT_DELIVERED,
			.via = VIA_LOCAL},
		CARRIES("M2", MESSAGE_REQUEUED, "M1"),
		FILTERED("M2"),
		CARRIES("M3", MESSAGE_GIVEN_BACK, ""),
		SAID("M3", EVENT_DEFERRED),
		CARRIES("M4", MESSAGE_REQUEUED, "M3"),
		FILTERED("M4"),
		CARRIES("M5", MESSAGE_GIVEN_BACK, ""),
		SAID("M5", EVENT_DELIVERED),
	};
#undef CARRIES
#undef FILTERED
#undef SAID
	struct world world = {.seed = 7};

	(void)state;
	for (int round = 0; round < 400; round++) {
		struct recipients all = {0};
		struct delivery_tree *tree;
		bool at_once = round % 2;
		enum delivery_status status;
		size_t order[ARRAY_SIZE(steps)];

		recipients_add(&all, RECIPIENT_TO, mem_strdup("r0@x"), NULL, true);
		recipients_add(&all, RECIPIENT_TO, mem_strdup("r1@x"), NULL, true);
		tree = delivery_tree_new(&all);
		for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
			order[i] = i;
		for (size_t i = ARRAY_SIZE(steps) - 1; i > 0; i--) {
			size_t k = roll(&world, (unsigned)i + 1), other = order[i];

			order[i] = order[k];
			order[k] = other;
		}
		for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
			apply_at(tree, &steps[order[i]], at_once ? SECOND_US : 0);
		for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
			if (steps[i].kind == CARRY && i + 3 < ARRAY_SIZE(steps))
				delivery_tree_message(tree, steps[i].message,
					at_once ? SECOND_US : since_of(steps[i].message))
					->closed_us = since_of("M9");
		delivery_tree_compute(tree);
		status = delivery_tree_status(tree, 0)->state;
		/* Those of one time may have come from one another. */
		if (status != (at_once ? DELIVERY_HANDED_ON : DELIVERY_DELIVERED))
			fail_msg("round %d: %s", round, delivery_status_name(status));
		assert_int_equal(delivery_tree_status(tree, 1)->state, DELIVERY_DELIVERED);
		delivery_tree_free(tree);
		recipients_free(&all);
	}
}

/* An alias is not delivered while a member of it was not told. */
static void test_untold_members(void **state)
{
	static const struct {
		bool forwarded; /* by local(8), else a virtual alias */
		int recipients; /* of the message */
		bool closed;
		enum delivery_status state; /* when one was told */
	} cases[] = {
		{false, 2, false, DELIVERY_QUEUED},
		{false, 2, true, DELIVERY_DELIVERED},
		{false, 1, false, DELIVERY_DELIVERED},
		{true, 2, false, DELIVERY_HANDED_ON},
		{true, 2, true, DELIVERY_DELIVERED},
		{true, 1, false, DELIVERY_DELIVERED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *name = cases[i].forwarded ? "M1" : "M0";
		struct recipients all = {0};
		struct delivery_tree *tree;
		struct queue_message *message;
		enum delivery_status status;

		recipients_add(&all, RECIPIENT_TO, mem_strdup("r0@x"), NULL, true);
		tree = delivery_tree_new(&all);
		apply(tree,
			&(struct step){.kind = CARRY, .message = "M0", .how = MESSAGE_RECORDED});
		if (cases[i].forwarded) {
			apply(tree, &(struct step){.kind = CARRY,
					    .message = "M1",
					    .how = MESSAGE_FORWARDED,
					    .parent = "M0"});
			apply(tree, &(struct step){.kind = SAY,
					    .message = "M0",
					    .address = "r0@x",
					    .event = EVENT_HANDED_ON,
					    .via = VIA_ALIAS,
					    .child = "M1"});
		}
		message = delivery_tree_message(tree, name, since_of(name));
		message->recipients = cases[i].recipients;
		message->closed_us = cases[i].closed ? since_of("M9") : 0;
		for (int k = 0; k < 2; k++) {
			struct step said = {
				.kind = SAY, .orig_to = "r0@x", .event = EVENT_DELIVERED};

			strcpy(said.message, name);
			snprintf(said.address, NAME_SIZE, "m%d@x", k);
			apply(tree, &said);
			delivery_tree_compute(tree);
			status = delivery_tree_status(tree, 0)->state;
			if (status != (k == 0 ? cases[i].state : DELIVERY_DELIVERED))
				fail_msg("case %zu, %d told: %s", i, k + 1,
					delivery_status_name(status));
		}
		delivery_tree_free(tree);
		recipients_free(&all);
	}
}

/* Each pair of ends behind one alias, in both orders: the worse one counts. */
static void test_pairs(void **state)
{
	(void)state;
	for (enum event_kind a = EVENT_DEFERRED; a <= EVENT_REMOVED; a++)
		for (enum event_kind b = EVENT_DEFERRED; b <= EVENT_REMOVED; b++) {
			struct recipients all = {0};
			struct delivery_tree *tree;
			enum delivery_status first = delivery_status_of_event(a),
					     second = delivery_status_of_event(b);

			recipients_add(&all, RECIPIENT_TO, mem_strdup("r0@x"), NULL, true);
			tree = delivery_tree_new(&all);
			apply(tree,
				&(struct step){
					.kind = CARRY, .message = "M0", .how = MESSAGE_RECORDED});
			apply(tree, &(struct step){.kind = SAY,
					    .message = "M0",
					    .address = "a@x",
					    .orig_to = "r0@x",
					    .event = a});
			apply(tree, &(struct step){.kind = SAY,
					    .message = "M0",
					    .address = "b@x",
					    .orig_to = "r0@x",
					    .event = b});
			delivery_tree_compute(tree);
			assert_int_equal(delivery_tree_status(tree, 0)->state,
				delivery_status_is_worse(first, second) ? first : second);
			delivery_tree_free(tree);
			recipients_free(&all);
		}
}

static void test_logged_addresses(void **state)
{
	static const struct {
		const char *given;
		const char *logged;
		bool same;
	} cases[] = {
		{"a@x", "A@X", true},
		{"a@x", "b@x", false},
		{"\"a b\"@x", "a b@x", true},
		{"\"a\\\"b\"@x", "a\"b@x", true},
		{"j\xc3\xb6rg@x", "j??rg@x", true},
		{"j\xc3\xb6rg@x", "j\xc3\xb6rg@x", true},
		{"j\xc3\xb6rg@x", "j\xc3\xa4rg@x", false},
		{"j\xc3\xb6rg@x", "j?rg@x", false},
		{"a@x", "a@x.y", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(addr_logged_eq(cases[i].given, cases[i].logged), cases[i].same);
		if (cases[i].same)
			assert_int_equal(addr_logged_hash(cases[i].given),
				addr_logged_hash(cases[i].logged));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trees),
		cmocka_unit_test(test_requeued_through_filter),
		cmocka_unit_test(test_untold_members),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_logged_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
