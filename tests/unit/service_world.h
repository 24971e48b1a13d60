/*
 * service_world: a milter's service on a database with one company, and one
 * connection, for tests of the milter.
 */
#ifndef POSTERN_TESTS_SERVICE_WORLD_H
#define POSTERN_TESTS_SERVICE_WORLD_H

#include "milter/service.h"
#include "tests/unit/fake_smfi.h"
#include "tests/unit/temp_db.h"

struct service_world {
	struct temp_tenant acme; /* example.com */
	struct email email;      /* staged */
	struct conf *conf;
	struct service *service; /* of these settings; logs nothing */
	struct fake_smfi fake;
};

/* For cmocka: the state is a struct temp_db whose more is the world. */
int service_world_setup(void **state);
int service_world_teardown(void **state);
struct service_world *service_world_of(void **state);

/* What has become of the email. */
void service_world_assert_email(void **state, enum email_state expected);

/* Sets milter.local_domains; counts with the next reload. */
void service_world_local_domains(struct service_world *world, const char *domains);

/* The service takes the settings over. */
void service_world_reload(struct service_world *world);

#endif
