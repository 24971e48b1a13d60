/*
 * service: which settings it opens with, and what a reload makes of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/unit/service_world.h"

static enum mail_origin origin_of_host(const struct service_world *world, const char *address)
{
	struct sockaddr_in peer = {.sin_family = AF_INET};

	assert_int_equal(inet_pton(AF_INET, address, &peer.sin_addr), 1);
	return service_origin(world->service, (struct sockaddr *)&peer);
}

static void set_hosts(struct service_world *world, const char *hosts)
{
	free(world->conf->milter.internal_hosts);
	world->conf->milter.internal_hosts = mem_strdup(hosts);
}

static void test_mailboxes(void **state)
{
	static const struct {
		const char *sender;
		bool mailbox;
	} cases[] = {
		{"root@here.test", true},
		{"root@HERE.test", true},
		{"root@also.test", true},
		{"root@last.test", true},
		{"noreply@here.test", false},
		{"\"root\"@here.test", false},
		{"root+x@here.test", false},
		{"@here.test", false},
		{"root@far.test", false},
		{"root@sub.here.test", false},
		{"root@xhere.test", false},
		{"here.test", false},
		{"", false},
		{"a@", false},
		{"v%far.test@here.test", false},
		{"far.test!w@here.test", false},
		{"\"y@far.test\"@here.test", false},
		{"a\\b@here.test", false},
	};
	static const char *const lists[] = {
		"Here.test also.test last.test",
		" Here.test,also.test , last.test, ",
		"\tHere.test\n also.test\r\n last.test\n",
	};
	struct service_world *world = service_world_of(state);

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		service_world_local_domains(world, lists[i]);
		service_world_reload(world);
		for (size_t n = 0; n < ARRAY_SIZE(cases); n++)
			if (service_has_mailbox(world->service, cases[n].sender) !=
				cases[n].mailbox)
				fail_msg("%s, %s", lists[i], cases[n].sender);
	}
	service_world_local_domains(world, "");
	service_world_reload(world);
	assert_false(service_has_mailbox(world->service, "root@here.test"));
	assert_false(service_has_mailbox(world->service, "root@"));
}

static void test_reload(void **state)
{
	struct service_world *world = service_world_of(state);

	set_hosts(world, "192.0.2.0/24");
	world->conf->milter.refuse_local = REFUSE_LOCAL_DISCARD;
	world->conf->milter.refusals_kept = 77;
	world->conf->milter.trace_header = 1;
	assert_int_equal(origin_of_host(world, "192.0.2.1"), ORIGIN_EXTERNAL);
	service_world_reload(world);
	assert_int_equal(origin_of_host(world, "192.0.2.1"), ORIGIN_INTERNAL);
	assert_int_equal(service_refuse_local(world->service), STOP_DISCARD);
	assert_int_equal(service_refusals_kept(world->service), 77);
	assert_true(service_trace_header(world->service));
}

/* What cannot be read changes nothing of what is in force. */
static void test_bad_reload(void **state)
{
	struct service_world *world = service_world_of(state);
	struct err err = ERR_INIT;

	set_hosts(world, "192.0.2.0/24, bogus");
	world->conf->milter.refusals_kept = 77;
	assert_int_equal(service_reload(world->service, world->conf, &err), -1);
	assert_non_null(strstr(err.text, "milter.internal_hosts"));
	assert_non_null(strstr(err.text, "bogus"));
	assert_int_equal(origin_of_host(world, "192.0.2.1"), ORIGIN_EXTERNAL);
	assert_int_not_equal(service_refusals_kept(world->service), 77);
}

/* Nothing is left of a service that cannot open. */
static void test_cannot_open(void **state)
{
	struct service_world *world = service_world_of(state);
	struct temp_db *temp = *state;
	struct service *none = NULL;
	struct err err = ERR_INIT;

	set_hosts(world, "bogus");
	assert_int_equal(service_open(world->conf, NULL, &none, &err), -1);
	set_hosts(world, "");
	OK(db_exec(temp->db, "UPDATE schema_migration SET version = version + 98", &why));
	assert_int_equal(service_open(world->conf, NULL, &none, &err), -1);
	free(world->conf->store.database);
	world->conf->store.database = mem_strdup("/nonexistent/postern.db");
	assert_int_equal(service_open(world->conf, NULL, &none, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_null(none);
}

enum { ROUNDS = 500 };

static void *look_often(void *arg)
{
	const struct service_world *world = arg;
	bool well = true;

	for (int i = 0; i < ROUNDS; i++)
		well &= service_has_mailbox(world->service, "root@here.test") &&
			origin_of_host(world, "192.0.2.1") == ORIGIN_INTERNAL &&
			service_refuse_local(world->service) == STOP_HOLD;
	return well ? arg : NULL;
}

/* Threads look while the settings change below them. */
static void test_reload_meanwhile(void **state)
{
	struct service_world *world = service_world_of(state);
	pthread_t looker;
	void *well;

	set_hosts(world, "192.0.2.0/24");
	service_world_local_domains(world, "here.test");
	service_world_reload(world);
	assert_int_equal(pthread_create(&looker, NULL, look_often, world), 0);
	for (int i = 0; i < ROUNDS / 10; i++)
		service_world_reload(world);
	pthread_join(looker, &well);
	assert_non_null(well);
}

enum { DECIDERS = 8, DECISIONS = 2000 };

struct deciders {
	struct service *service;
	atomic_int deciding;
	atomic_int decided;
	atomic_bool closed;
};

/* One decision after the other until one is turned away. */
static void *decide_often(void *arg)
{
	struct deciders *deciders = arg;

	while (service_enter(deciders->service)) {
		deciders->deciding++;
		sched_yield();
		if (deciders->closed)
			return NULL;
		deciders->deciding--;
		deciders->decided++;
		service_leave(deciders->service);
	}
	return arg;
}

/* It waits for those that have entered, and nobody enters any more. */
static void test_close_meanwhile(void **state)
{
	struct service_world *world = service_world_of(state);
	struct deciders deciders = {.service = world->service};
	pthread_t threads[DECIDERS];
	void *well;

	for (int i = 0; i < DECIDERS; i++)
		pthread_create(&threads[i], NULL, decide_often, &deciders);
	while (deciders.decided < DECISIONS)
		sched_yield();
	service_close(world->service);
	assert_int_equal(deciders.deciding, 0);
	deciders.closed = true;
	for (int i = 0; i < DECIDERS; i++) {
		pthread_join(threads[i], &well);
		assert_non_null(well);
	}
	assert_false(service_enter(world->service));
	service_free(world->service);
	OK(service_open(world->conf, NULL, &world->service, &why));
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(test_##name, service_world_setup, service_world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(mailboxes),
		TEST(reload),
		TEST(bad_reload),
		TEST(cannot_open),
		TEST(reload_meanwhile),
		TEST(close_meanwhile),
	};

	assert_int_equal(secret_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
