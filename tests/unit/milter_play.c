/*
 * milter_play: Postfix's side of a connection, callback by callback.
 *
 * Threads: the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>

#include "core/base/str.h"
#include "core/policy/ticket.h"
#include "milter/filter.h"
#include "tests/unit/milter_play.h"

void milter_play_connect(struct service_world *world, const char *address)
{
	struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = 4711};
	char host[] = "client.test";

	if (address)
		assert_int_equal(inet_pton(AF_INET, address, &peer.sin_addr), 1);
	assert_int_equal(fake_smfi_callbacks.xxfi_connect(fake_smfi_ctx(&world->fake), host,
				 address ? (_SOCK_ADDR *)&peer : NULL),
		SMFIS_NOREPLY);
}

int milter_play_setup(void **state)
{
	struct service_world *world;

	service_world_setup(state);
	world = service_world_of(state);
	OK(filter_open(world->service, world->conf, &why));
	milter_play_connect(world, NULL);
	return 0;
}

void milter_play_close(struct service_world *world)
{
	fake_smfi_callbacks.xxfi_close(fake_smfi_ctx(&world->fake));
	assert_null(world->fake.private);
}

int milter_play_teardown(void **state)
{
	struct service_world *world = service_world_of(state);

	milter_play_close(world);
	return service_world_teardown(state);
}

void milter_play_mail(struct service_world *world, const char *sender)
{
	_cleanup_free_ char *argument = mem_strdup(sender);
	char *arguments[] = {argument, NULL};

	assert_int_equal(fake_smfi_callbacks.xxfi_envfrom(fake_smfi_ctx(&world->fake), arguments),
		SMFIS_NOREPLY);
}

void milter_play_header(struct service_world *world, const char *name, const char *value)
{
	_cleanup_free_ char *name_copy = mem_strdup(name);
	_cleanup_free_ char *value_copy = mem_strdup(value);

	assert_int_equal(
		fake_smfi_callbacks.xxfi_header(fake_smfi_ctx(&world->fake), name_copy, value_copy),
		SMFIS_NOREPLY);
}

void milter_play_ticket(struct service_world *world, const char *ticket)
{
	_cleanup_free_ char *address = ticket_address(ticket);
	_cleanup_free_ char *argument = mem_printf("<%s>", address);
	char *arguments[] = {argument, NULL};

	assert_int_equal(fake_smfi_callbacks.xxfi_envrcpt(fake_smfi_ctx(&world->fake), arguments),
		SMFIS_NOREPLY);
}

sfsistat milter_play_end(struct service_world *world)
{
	world->fake.code[0] = '\0';
	strv_free(&world->fake.deleted);
	strv_free(&world->fake.recipients);
	return fake_smfi_callbacks.xxfi_eom(fake_smfi_ctx(&world->fake));
}

void milter_play_ours(struct service_world *world)
{
	milter_play_mail(world, world->email.sender);
	milter_play_ticket(world, world->email.ticket);
	milter_play_header(world, "From", "hello@example.com");
	milter_play_header(world, "Message-ID", world->email.message_id);
}

void milter_play_assert_reply(struct service_world *world, const char *code, const char *text)
{
	if (!str_eq(world->fake.code, code) || !strstr(world->fake.text, text))
		fail_msg("%s %s %s, not %s ... %s", world->fake.code, world->fake.status,
			world->fake.text, code, text);
}
