/*
 * op: who sees and may what, in which words they are refused, and what a body may have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/ops/op_company.h"
#include "core/ops/op_domain.h"
#include "core/ops/op_exemption.h"
#include "core/ops/op_key.h"
#include "core/ops/op_outbox.h"
#include "core/ops/op_stats.h"
#include "core/store/store_audit.h"
#include "core/store/outbox/store_backlog.h"
#include "core/store/email/store_email.h"
#include "core/store/outbox/store_outbox.h"
#include "httpd/json/operate.h"
#include "tests/unit/temp_db.h"

/* What a body may have. */

struct sample {
	const char *text;
	const char *company_id;
	const char *only;
	enum op_flag flag;
	int64_t number;
	struct op_items items;
};

static const struct op_field item_fields[] = {
	{OP_FIELD(sample, text, OP_TEXT), .required = true},
	{0},
};
static const struct op_field sample_fields[] = {
	{OP_FIELD(sample, text, OP_TEXT), .required = true},
	{OP_FIELD(sample, company_id, OP_ID), .operators = true, .required = true},
	{OP_FIELD(sample, only, OP_TEXT), .command = true},
	{OP_FIELD(sample, flag, OP_FLAG)},
	{OP_FIELD(sample, number, OP_NUMBER), .max = 10},
	{OP_FIELD(sample, items, OP_ITEMS), .max = 2, .fields = item_fields,
		.size = sizeof(struct sample)},
	{0},
};

static void test_body(void **state)
{
	static const struct {
		const char *body;
		const char *company_id; /* of who asks; NULL: an operator */
		const char *says;       /* NULL: it is read */
	} cases[] = {
		{"{\"text\":\"a\",\"company_id\":\"b\"}", NULL, NULL},
		{"{\"text\":\"a\"}", "c", NULL},
		{"{\"text\":\"a\",\"flag\":null,\"number\":10}", "c", NULL},
		{"{\"text\":\"a\",\"items\":[{\"text\":\"b\"},{\"text\":\"c\"}]}", "c", NULL},
		{"{\"text\":\"a\"}", NULL, "the `company_id` field is missing"},
		{"{\"text\":\"a\",\"company_id\":\"b\"}", "c",
			"there is no field `company_id` here"},
		{"{\"text\":\"a\",\"only\":\"b\"}", "c", "there is no field `only` here"},
		{"{\"text\":\"a\",\"other\":1}", "c", "there is no field `other` here"},
		{"{}", "c", "the `text` field is missing"},
		{"{\"text\":null}", "c", "the `text` field is missing"},
		{"{\"text\":1}", "c", "the `text` field must be a text"},
		{"{\"text\":\"a\\u0000b\"}", "c", "the `text` field must be a text"},
		{"{\"text\":\"a\",\"flag\":1}", "c", "the `flag` field must be true or false"},
		{"{\"text\":\"a\",\"number\":1.5}", "c",
			"the `number` field must be a whole number"},
		{"{\"text\":\"a\",\"number\":11}", "c",
			"the `number` field is a number from 1 to 10"},
		{"{\"text\":\"a\",\"number\":0}", "c",
			"the `number` field is a number from 1 to 10"},
		{"{\"text\":\"a\",\"number\":-1}", "c",
			"the `number` field is a number from 1 to 10"},
		{"{\"text\":\"a\",\"items\":{}}", "c", "the `items` field must be an array"},
		{"{\"text\":\"a\",\"items\":[]}", "c", "the `items` are 1 to 2 at once"},
		{"{\"text\":\"a\",\"items\":[1]}", "c", "items[0]: it must be an object"},
		{"{\"text\":\"a\",\"items\":[{\"text\":\"b\"},{}]}", "c",
			"items[1]: the `text` field is missing"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct op op = {.actor = OP_USER, .company_id = cases[i].company_id};
		json_t *body = json_loads(cases[i].body, JSON_ALLOW_NUL, NULL);
		struct sample *input = mem_new(struct sample);
		struct err err = ERR_INIT;
		int result = operate_read_body(&op, body, sample_fields, input, &err);

		if (result != (cases[i].says ? -1 : 0) ||
			(cases[i].says && !str_eq(err.text, cases[i].says)))
			fail_msg("%s: %d, %s", cases[i].body, result, err.text);
		if (result == 0)
			assert_string_equal(input->text, "a");
		operate_free_input(sample_fields, input);
		json_decref(body);
	}
}

/* Who may what. */

struct world {
	struct conf *conf;
	struct temp_tenant one, other;
	struct op op;
	struct err err;
};

static void world_up(struct temp_db *temp, struct world *world)
{
	*world = (struct world){.conf = conf_default(), .err = ERR_INIT};
	temp_db_tenant(temp->db, "One", "one.test", &world->one);
	temp_db_tenant(temp->db, "Other", "other.test", &world->other);
}

/* Runs it for a company, or an operator (NULL), or a key that is restricted to a domain. */
static int run(struct temp_db *temp, struct world *world, const struct operation *operation,
	const char *company_id, const char *domain, const char *object, const void *input)
{
	op_clear(&world->op);
	world->err = ERR_INIT;
	world->op = (struct op){.db = temp->db,
		.conf = world->conf,
		.now_us = 7,
		.actor = domain ? OP_KEY : OP_USER,
		.company_id = company_id,
		.domain = domain,
		.page.limit = 100};
	op_about(&world->op, object);
	return operation->run(&world->op, input, &world->err);
}

static void test_companies_are_apart(void **state)
{
	struct temp_db *temp = *state;
	struct world world;
	const struct op_domain nothing = {0}, learn = {.policy = "learn"};
	const struct op_key every = {0}, renamed = {.name = "x"};
	const char *own, *theirs;

	world_up(temp, &world);
	own = world.one.company_id;
	theirs = world.other.company_id;
	assert_int_equal(run(temp, &world, &op_company_list, own, NULL, NULL, NULL), 1);
	assert_int_equal(world.op.result.rows.n, 1);
	assert_int_equal(run(temp, &world, &op_company_list, NULL, NULL, NULL, NULL), 1);
	assert_int_equal(world.op.result.rows.n, 2);
	/* Who asks for another company's gets their own. */
	assert_int_equal(run(temp, &world, &op_domain_list, own, NULL, NULL,
				 &(const struct op_domain){.company_id = theirs}),
		1);
	assert_int_equal(world.op.result.rows.n, 1);
	assert_int_equal(run(temp, &world, &op_domain_list, NULL, NULL, NULL, &nothing), 1);
	assert_int_equal(world.op.result.rows.n, 2);
	assert_int_equal(
		run(temp, &world, &op_domain_get, own, NULL, world.other.domain_id, NULL), 0);
	assert_int_equal(
		run(temp, &world, &op_domain_update, own, NULL, world.other.domain_id, &learn), 0);
	assert_int_equal(
		run(temp, &world, &op_domain_remove, own, NULL, world.other.domain_id, NULL), 0);
	assert_int_equal(run(temp, &world, &op_key_list, own, NULL, NULL, &every), 1);
	assert_int_equal(world.op.result.rows.n, 1);
	assert_int_equal(run(temp, &world, &op_key_get, own, NULL, world.other.key_id, NULL), 0);
	assert_int_equal(
		run(temp, &world, &op_key_rename, own, NULL, world.other.key_id, &renamed), 0);
	assert_int_equal(run(temp, &world, &op_key_revoke, own, NULL, world.other.key_id, NULL), 0);
	assert_int_equal(run(temp, &world, &op_exemption_suggest, own, NULL, NULL,
				 &(const struct op_exemption){.domain = "other.test"}),
		0);
	op_clear(&world.op);
	conf_free(world.conf);
}

/* A key that is restricted to a domain gets itself no more than it has. */
static void test_restricted_key(void **state)
{
	struct temp_db *temp = *state;
	const struct op_domain another = {.name = "new.test"};
	const struct op_key open = {.name = "k"};
	struct op_key bound = {.name = "k"};
	struct world world;
	const char *own;

	world_up(temp, &world);
	own = world.one.company_id;
	assert_int_equal(run(temp, &world, &op_domain_add, own, "one.test", NULL, &another), -1);
	assert_int_equal(world.err.code, ERR_DENIED);
	assert_int_equal(run(temp, &world, &op_key_create, own, "one.test", NULL, &open), -1);
	assert_int_equal(world.err.code, ERR_DENIED);
	assert_int_equal(
		run(temp, &world, &op_key_revoke, own, "one.test", world.one.key_id, NULL), 0);
	bound.domain_id = world.other.domain_id;
	assert_int_equal(run(temp, &world, &op_key_create, own, "one.test", NULL, &bound), -1);
	assert_int_equal(world.err.code, ERR_INVALID);
	bound.domain_id = world.one.domain_id;
	assert_int_equal(run(temp, &world, &op_key_create, own, "one.test", NULL, &bound), 1);
	assert_non_null(json_object_get(world.op.result.more, "token"));
	op_clear(&world.op);
	conf_free(world.conf);
}

/* The limit holds for all but the command, which names its domain; and each is refused in the words
 * of the one who asks. */
static void test_command(void **state)
{
	struct temp_db *temp = *state;
	struct op_domain input = {.name = "b.test", .policy = "learn"};
	struct world world;

	world_up(temp, &world);
	world.conf->limits.domains = 1;
	input.company_id = world.one.company_id;
	assert_int_equal(run(temp, &world, &op_domain_add, NULL, NULL, NULL, &input), -1);
	assert_non_null(strstr(world.err.text, "limits.domains"));
	/* No transaction took it back here. */
	op_clear(&world.op);
	world.op = (struct op){
		.db = temp->db, .conf = world.conf, .actor = OP_COMMAND, .object = "B.test."};
	input.name = "c.test";
	assert_int_equal(op_domain_add.run(&world.op, &input, &world.err), 1);
	op_clear(&world.op);
	input.policy = "open";
	assert_int_equal(op_domain_update.run(&world.op, &input, &world.err), -1);
	assert_string_equal(
		world.err.text, "--policy is one of exclusive, learn, shared, not \"open\"");
	assert_int_equal(
		run(temp, &world, &op_domain_update, NULL, NULL, world.one.domain_id, &input), -1);
	assert_string_equal(
		world.err.text, "the `policy` is one of exclusive, learn, shared, not \"open\"");
	op_clear(&world.op);
	conf_free(world.conf);
}

/* Of several keys those are revoked that the actor sees and that are valid; the command revokes
 * all of a company, in steps. */
static void test_revoke_all(void **state)
{
	enum { MANY = 501 };
	struct temp_db *temp = *state;
	const struct op_key none = {0}, made = {.name = "k"};
	struct op_key given[3] = {{0}}, several = {.keys = {given, ARRAY_SIZE(given)}}, every = {0};
	struct world world;
	const char *own;
	int result;

	world_up(temp, &world);
	own = world.one.company_id;
	given[0].id = world.one.key_id;
	given[1].id = world.other.key_id;
	given[2].id = "no id";
	assert_int_equal(run(temp, &world, &op_key_revoke_all, own, NULL, NULL, &several), 1);
	assert_int_equal(json_integer_value(json_object_get(world.op.result.more, "revoked")), 1);
	assert_int_equal(run(temp, &world, &op_key_revoke_all, own, NULL, NULL, &several), 1);
	assert_int_equal(json_integer_value(json_object_get(world.op.result.more, "revoked")), 0);
	assert_int_equal(run(temp, &world, &op_key_revoke_all, own, NULL, NULL, &none), -1);
	assert_string_equal(world.err.text, "the `keys` is missing");
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(run(temp, &world, &op_key_create, own, NULL, NULL, &made), 1);
	op_clear(&world.op);
	world.op = (struct op){
		.db = temp->db, .conf = world.conf, .now_us = 9, .actor = OP_COMMAND};
	every.company_id = own;
	for (result = STORE_MORE; result == STORE_MORE;)
		result = op_key_revoke_all.run(&world.op, &every, &world.err);
	assert_int_equal(result, 1);
	assert_int_equal(
		json_integer_value(json_object_get(world.op.result.more, "revoked")), MANY);
	op_clear(&world.op);
	conf_free(world.conf);
}

/* A time that ends before it begins is refused, however long before. */
static void test_stats_time(void **state)
{
	static const int64_t spans_us[] = {0, HOUR_US, DAY_US, 2 * DAY_US};
	struct temp_db *temp = *state;
	struct op_stats_events input = {.since = 1000 * DAY_US};
	struct world world;

	world_up(temp, &world);
	for (size_t i = 0; i < ARRAY_SIZE(spans_us); i++) {
		input.until = input.since - spans_us[i];
		assert_int_equal(run(temp, &world, &op_stats_events, world.one.company_id, NULL,
					 NULL, &input),
			-1);
		assert_string_equal(world.err.text, "the `until` is not behind since");
	}
	op_clear(&world.op);
	conf_free(world.conf);
}

static int stats_at(struct temp_db *temp, struct world *world, const struct operation *operation,
	const void *input, int64_t now_us)
{
	op_clear(&world->op);
	world->err = ERR_INIT;
	world->op = (struct op){.db = temp->db,
		.conf = world->conf,
		.now_us = now_us,
		.actor = OP_USER,
		.company_id = world->one.company_id,
		.page.limit = 100};
	return operation->run(&world->op, input, &world->err);
}

/* A thousand steps back from now are not too many at any hour of the day. */
static void test_stats_steps(void **state)
{
	static const int64_t hours[] = {0, 12, 23};
	struct temp_db *temp = *state;
	struct op_stats_events events = {.by = "domain"};
	struct op_stats reasons = {.step = "day"};
	struct world world;

	world_up(temp, &world);
	for (size_t i = 0; i < ARRAY_SIZE(hours); i++) {
		int64_t now_us = 2000 * DAY_US + hours[i] * HOUR_US + 1;

		events.since = reasons.since = now_us - 1000 * DAY_US;
		assert_true(stats_at(temp, &world, &op_stats_events, &events, now_us) >= 0);
		assert_true(stats_at(temp, &world, &op_stats_reasons, &reasons, now_us) >= 0);
		events.since = reasons.since = now_us - 1001 * DAY_US;
		assert_int_equal(stats_at(temp, &world, &op_stats_events, &events, now_us), -1);
		assert_int_equal(stats_at(temp, &world, &op_stats_reasons, &reasons, now_us), -1);
	}
	op_clear(&world.op);
	conf_free(world.conf);
}

/* Stages an email that waits in the outbox. */
static void stage(struct temp_db *temp, const struct temp_tenant *tenant)
{
	struct email email;

	temp_db_email(tenant, &email);
	assert_int_equal(store_email_stage(temp->db, &email, NULL), 0);
	assert_true(store_outbox_add(temp->db, email.seq, 7, 1, NULL) >= 0);
	store_email_clear(&email);
}

/* The list has the companies with the lowest ids; of one company it tells in any case. */
static void test_outbox_of_one_among_many(void **state)
{
	enum { OTHERS = 1000 };
	struct temp_db *temp = *state;
	struct world world;
	const json_t *waiting;

	world_up(temp, &world);
	for (int i = 0; i < OTHERS; i++) {
		struct temp_tenant tenant = world.other;

		snprintf(tenant.company_id, ID_SIZE, "00000000-0000-7000-8000-%012d", i);
		stage(temp, &tenant);
	}
	stage(temp, &world.one);
	assert_int_equal(
		run(temp, &world, &op_outbox_list, NULL, NULL, NULL, &(const struct op_outbox){0}),
		1);
	assert_int_equal(world.op.result.rows.n, OTHERS);
	assert_true(json_is_true(json_object_get(op_more(&world.op), "at_least")));
	assert_int_equal(run(temp, &world, &op_outbox_list, NULL, NULL, NULL,
				 &(const struct op_outbox){.company_id = world.one.company_id}),
		1);
	assert_int_equal(world.op.result.rows.n, 1);
	waiting = json_object_get(op_more(&world.op), "waiting");
	assert_int_equal(json_integer_value(waiting), 1);
	assert_true(json_is_false(json_object_get(op_more(&world.op), "at_least")));
	op_clear(&world.op);
	conf_free(world.conf);
}

static const struct backlog *backlog_of(const struct world *world, const struct temp_tenant *tenant)
{
	const struct backlog *items = world->op.result.rows.items;

	for (size_t i = 0; i < world->op.result.rows.n; i++)
		if (str_eq(items[i].id, tenant->company_id))
			return &items[i];
	fail_msg("the company is not in the list");
	return NULL;
}

/* Two emails left in this second: 7200 an hour. Companies take turns, so the 3 emails of one are
 * gone after 6 have left, and the 5 of the other one after all 8. */
static void test_when_the_outbox_is_empty(void **state)
{
	struct temp_db *temp = *state;
	struct world world;
	const struct op_outbox all = {0};
	struct op_outbox of_one = {0};

	world_up(temp, &world);
	of_one.company_id = world.one.company_id;
	for (int i = 0; i < 8; i++)
		stage(temp, i < 3 ? &world.one : &world.other);
	OK(store_outbox_flow(temp->db, 2, 7, &why));
	FOUND(run(temp, &world, &op_outbox_list, NULL, NULL, NULL, &all));
	assert_int_equal(
		json_integer_value(json_object_get(op_more(&world.op), "rate_per_hour")), 7200);
	assert_int_equal(backlog_of(&world, &world.one)->done_us, 7 + 3 * SECOND_US);
	assert_int_equal(backlog_of(&world, &world.other)->done_us, 7 + 4 * SECOND_US);
	FOUND(run(temp, &world, &op_outbox_list, NULL, NULL, NULL, &of_one));
	assert_int_equal(world.op.result.rows.n, 1);
	assert_int_equal(backlog_of(&world, &world.one)->done_us, 7 + 3 * SECOND_US);
	/* A company does not learn from it how much others send. */
	FOUND(run(temp, &world, &op_outbox_list, world.one.company_id, NULL, NULL, &all));
	assert_int_equal(backlog_of(&world, &world.one)->waiting, 3);
	assert_int_equal(backlog_of(&world, &world.one)->done_us, 0);
	/* While nothing leaves, nobody knows. */
	OK(store_break_open(temp->db, "away", "refused", 7, &why));
	FOUND(run(temp, &world, &op_outbox_list, NULL, NULL, NULL, &all));
	assert_int_equal(backlog_of(&world, &world.other)->done_us, 0);
	op_clear(&world.op);
	conf_free(world.conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_body),
		cmocka_unit_test_setup_teardown(
			test_companies_are_apart, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_restricted_key, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_revoke_all, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_command, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_stats_time, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_stats_steps, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_outbox_of_one_among_many, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_when_the_outbox_is_empty, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
