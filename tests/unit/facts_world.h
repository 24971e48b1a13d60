/*
 * facts_world: what tests of facts look at: a company with its domain, an email
 * that it has staged, and the message that httpd would have submitted for it.
 */
#ifndef POSTERN_TESTS_FACTS_WORLD_H
#define POSTERN_TESTS_FACTS_WORLD_H

#include "core/db/db_pool.h"
#include "milter/facts.h"
#include "milter/session.h"
#include "tests/unit/temp_db.h"

struct facts_world {
	struct temp_tenant acme; /* example.com */
	struct email email;      /* staged: hello@example.com */
	struct db_pool *pool;
};

/* For cmocka: the state is a struct temp_db, which has the world as `more`. */
int facts_world_setup(void **state);
int facts_world_teardown(void **state);
struct facts_world *facts_world_of(void **state);

/* A session with the message of the email, the caller's. */
struct milter_session *facts_world_begin(struct facts_world *world, enum mail_origin origin);

/* The message is for the ticket of this email, and has its Message-ID. */
void facts_world_ticket(struct milter_session *session, const struct email *email);

#endif
