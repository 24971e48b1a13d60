/* hops: who may say where an email went on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "events/next_hops.h"
#include "tests/unit/temp_folder.h"

static void test_via(void **state)
{
	static const struct {
		enum log_agent agent;
		const char *relay;
		enum delivery_via via;
	} cases[] = {
		{LOG_AGENT_OTHER, "mx.remote.test[192.0.2.1]:25", VIA_FINAL},
		/* a server elsewhere may call itself as it likes */
		{LOG_AGENT_OTHER, "127.0.0.1[192.0.2.1]:10024", VIA_FINAL},
		{LOG_AGENT_OTHER, "mx.remote.test[192.0.2.1]:10025", VIA_FINAL},
		{LOG_AGENT_OTHER, "127.0.0.1[127.0.0.1]:25", VIA_LOCAL},
		{LOG_AGENT_OTHER, "localhost[::1]:24", VIA_LOCAL},
		{LOG_AGENT_OTHER, "mail.test[private/dovecot-lmtp]", VIA_LOCAL},
		{LOG_AGENT_OTHER, "127.0.0.1[127.0.0.1]:10024", VIA_FILTER},
		{LOG_AGENT_OTHER, "10.1.2.3[10.1.2.3]:10025", VIA_FILTER},
		{LOG_AGENT_OTHER, "mail.test[/run/filter]", VIA_FILTER},
		{LOG_AGENT_OTHER, "none", VIA_FINAL},
		{LOG_AGENT_OTHER, NULL, VIA_FINAL},
		{LOG_AGENT_PIPE, "pfilter", VIA_FILTER},
		{LOG_AGENT_PIPE, "maildrop", VIA_LOCAL},
		{LOG_AGENT_MAILBOX, "local", VIA_FINAL},
		{LOG_AGENT_MAILBOX, "virtual", VIA_FINAL},
		{LOG_AGENT_DISCARD, "none", VIA_FINAL},
	};
	_cleanup_(next_hops) struct next_hops *next_hops = next_hops_new("", "postfix");

	(void)state;
	next_hops_set_filters(next_hops,
		"pfilter:dummy smtp-amavis:[127.0.0.1]:10024 smtp:[10.1.2.3]:10025 "
		"lmtp:unix:/run/filter");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (next_hops_via(next_hops, cases[i].agent, cases[i].relay) != cases[i].via)
			fail_msg("case %zu: %s", i, cases[i].relay);
	assert_string_equal(next_hops_instances(next_hops), "postfix");
}

/* Of whom a message may be that a filter gives back. */
static void test_local_clients(void **state)
{
	static const struct {
		const char *client;
		bool is_local;
	} cases[] = {
		{"localhost[127.0.0.1]", true},
		{"unknown[::1]", true},
		{"unknown[10.1.2.3]", true},
		{"filter.test[192.0.2.9]", true},
		{"unknown[192.0.2.1]", false},
		{"localhost[192.0.2.1]", false},
		{"10.1.2.3[192.0.2.1]", false},
		{"unknown[unknown]", false},
		{"127.0.0.1", false},
	};
	_cleanup_(next_hops) struct next_hops *next_hops = next_hops_new("", "postfix");

	(void)state;
	next_hops_set_filters(
		next_hops, "pfilter:dummy smtp:[10.1.2.3]:10025 smtp:filter.test:10025");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (next_hops_is_local_client(
			    next_hops, (struct span){cases[i].client, strlen(cases[i].client)}) !=
			cases[i].is_local)
			fail_msg("%s", cases[i].client);
}

/* postconf waits a second or two before it reads a file that is new. */
/* Settings that could not be read are still not known the next time. */
static void test_failure_lasts(void **state)
{
	char *folder = temp_folder_new();
	_cleanup_(next_hops) struct next_hops *next_hops = NULL;
	struct err err = ERR_INIT;

	(void)state;
	temp_folder_write(folder, "main.cf", "this is no setting\n");
	temp_folder_write(folder, "master.cf", "%s", "");
	next_hops = next_hops_new(folder, "postfix");
	assert_int_equal(next_hops_refresh(next_hops, &err), -1);
	err = ERR_INIT;
	assert_int_equal(next_hops_refresh(next_hops, &err), -1);
	assert_int_not_equal(err.code, ERR_NONE);

	temp_folder_write(folder, "main.cf", "compatibility_level = 3.6\n");
	assert_int_equal(next_hops_refresh(next_hops, &err), 0);
	assert_int_equal(next_hops_refresh(next_hops, &err), 0);
	temp_folder_free(folder);
}

/* A queue file that has the name of another inode. */
static void test_renamed(void **state)
{
	static const struct {
		const char *payload;
		enum log_kind kind;
	} cases[] = {
		{"renamed file deferred/A/ABC1234567 as deferred/D/DEF1234567#FIX", LOG_PICKUP},
		{"renamed file deferred/D/DEF1234567#FIX as deferred/D/DEF1234567", LOG_NOTHING},
		{"renamed file this as that", LOG_NOTHING},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct log_line line;

		log_parse_payload("postfix/postsuper", cases[i].payload, strlen(cases[i].payload),
			"postfix", &line);
		assert_int_equal(line.kind, cases[i].kind);
		if (line.kind == LOG_PICKUP) {
			assert_true(span_is(line.id, "DEF1234567"));
			assert_true(span_is(line.other, "ABC1234567"));
		}
	}
}

/* What may be somebody's words is not searched for a line. */
static void test_glued(void **state)
{
	static const char quoted[] =
		"Nov 22 10:00:00 mail postfix/smtp[1]: ABC1234567: to=<\"Nov 22 10:00:00 mail "
		"postfix/smtp[1]: DEF1234567: to=<a@x>";

	(void)state;
	assert_int_equal(log_parse_glued(quoted, strlen(quoted), "postfix"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_via),
		cmocka_unit_test(test_local_clients),
		cmocka_unit_test(test_failure_lasts),
		cmocka_unit_test(test_renamed),
		cmocka_unit_test(test_glued),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
