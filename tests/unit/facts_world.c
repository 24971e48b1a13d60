/*
 * facts_world: a company, its domain, its email, its message.
 *
 * Threads: the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/facts_world.h"

int facts_world_setup(void **state)
{
	struct facts_world *world = mem_new(struct facts_world);
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp->more = world;
	temp_db_staged(temp->db, &world->acme, &world->email);
	world->pool = db_pool_new(temp->name, 2);
	return 0;
}

int facts_world_teardown(void **state)
{
	struct facts_world *world = facts_world_of(state);

	db_pool_free(world->pool);
	store_email_clear(&world->email);
	return temp_db_teardown(state);
}

struct facts_world *facts_world_of(void **state)
{
	return ((struct temp_db *)*state)->more;
}

void facts_world_ticket(struct milter_session *session, const struct email *email)
{
	_cleanup_free_ char *address = ticket_address(email->ticket);

	session_recipient(session, address, NULL);
	session_header(session, "Message-ID", email->message_id);
	if (*email->nonce)
		session_header(session, TICKET_NONCE_FIELD, email->nonce);
}

struct milter_session *facts_world_begin(struct facts_world *world, enum mail_origin origin)
{
	struct milter_session *session = session_new(origin, NULL, false);

	session_begin(session, world->email.sender, NULL);
	facts_world_ticket(session, &world->email);
	session_header(session, "From", "Acme <hello@example.com>");
	return session;
}
