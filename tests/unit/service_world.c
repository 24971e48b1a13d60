/*
 * service_world: a service, and what it works on.
 *
 * Threads: the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/service_world.h"

int service_world_setup(void **state)
{
	struct service_world *world = mem_new(struct service_world);
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp->more = world;
	temp_db_staged(temp->db, &world->acme, &world->email);
	world->conf = conf_default();
	free(world->conf->store.database);
	world->conf->store.database = mem_strdup(temp->path);
	if (db_is_url(temp->name)) {
		free(world->conf->store.url);
		world->conf->store.url = mem_strdup(temp->name);
		free(world->conf->store.place);
		world->conf->store.place = mem_printf("%s#here", temp->name);
	}
	free(world->conf->milter.socket);
	world->conf->milter.socket = mem_strdup("/nonexistent/milter.sock");
	OK(service_open(world->conf, NULL, &world->service, &why));
	return 0;
}

int service_world_teardown(void **state)
{
	struct service_world *world = service_world_of(state);

	service_close(world->service);
	service_free(world->service);
	conf_free(world->conf);
	fake_smfi_clear(&world->fake);
	store_email_clear(&world->email);
	return temp_db_teardown(state);
}

struct service_world *service_world_of(void **state)
{
	return ((struct temp_db *)*state)->more;
}

void service_world_local_domains(struct service_world *world, const char *domains)
{
	free(world->conf->milter.local_domains);
	world->conf->milter.local_domains = mem_strdup(domains);
}

void service_world_reload(struct service_world *world)
{
	world->service->log = log_new("test", LOG_TARGET_STDERR, LOG_LEVEL_ERROR);
	world->conf->log.level = LOG_LEVEL_ERROR;
	OK(service_reload(world->service, world->conf, &why));
	log_free(TAKE_PTR(world->service->log));
}

void service_world_assert_email(void **state, enum email_state expected)
{
	struct temp_db *temp = *state;
	_cleanup_free_ char *refusal = NULL;
	enum email_state found;
	struct err err = ERR_INIT;

	assert_int_equal(store_email_outcome(temp->db, service_world_of(state)->email.id, &found,
				 &refusal, &err),
		1);
	assert_int_equal(found, expected);
	assert_true((refusal != NULL) == (expected == EMAIL_REFUSED));
}
