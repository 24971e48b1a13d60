/*
 * smtp_session: which calls its owner gets, in which order, and what it says of
 * a message in the middle of each step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "httpd/inject/smtp_server.h"
#include "httpd/inject/smtp_session.h"
#include "tests/unit/fake_smtpd.h"
#include "tests/unit/temp_folder.h"

enum { DEADLINE_US = 60 * 1000 * 1000 };

static const struct smtpd_rule no_rules[] = {{0}};

/* Owner of a session, which it gives some messages. */
struct rig {
	char *folder, *path, *server;
	struct event_base *base;
	struct fake_smtpd *smtpd;
	struct smtp_session *session;
	struct submission submission;
	struct buf message;
	int left;         /* messages to give it */
	struct buf calls; /* that the owner got: words with a blank each */
};

static int setup(void **state)
{
	struct rig *rig = mem_new(struct rig);

	rig->folder = temp_folder_new();
	rig->path = mem_printf("%s/smtpd", rig->folder);
	rig->server = mem_printf("unix:%s", rig->path);
	rig->base = event_base_new();
	buf_add_str(&rig->message, "Subject: x\n\nhi\n");
	rig->smtpd = fake_smtpd_new(rig->base, rig->path, no_rules);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	smtp_session_free(rig->session);
	fake_smtpd_free(rig->smtpd);
	event_base_free(rig->base);
	buf_free(&rig->message);
	buf_free(&rig->calls);
	temp_folder_free(rig->folder);
	free(rig->path);
	free(rig->server);
	free(rig);
	return 0;
}

/* `+`: another session may have better luck. */
static void on_ended(void *arg, enum inject_result result, const struct err *err)
{
	static const char *const words[] = {
		[INJECT_QUEUED] = "queued",
		[INJECT_REJECTED] = "rejected",
		[INJECT_TEMPORARY] = "temporary",
		[INJECT_UNKNOWN] = "unknown",
	};
	struct rig *rig = arg;

	assert_true((err->code == ERR_NONE) == (result == INJECT_QUEUED));
	buf_printf(&rig->calls, "%s%s ", words[result],
		smtp_session_failure(rig->session) == SMTP_ANSWERED ? "" : "+");
}

static void give_one(struct rig *rig)
{
	rig->left--;
	rig->submission = (struct submission){
		.sender = "a@example.com",
		.recipient = "b@dst.test",
		.message = &rig->message,
		.deadline_us = clock_monotonic_us() + DEADLINE_US,
	};
	smtp_session_send(rig->session, &rig->submission);
}

static void on_ready(void *arg)
{
	struct rig *rig = arg;

	buf_add_str(&rig->calls, "ready ");
	if (rig->left > 0)
		give_one(rig);
	else
		event_base_loopbreak(rig->base);
}

static void on_leaving(void *arg)
{
	buf_add_str(&((struct rig *)arg)->calls, "leaving ");
}

static void on_closed(void *arg)
{
	struct rig *rig = arg;

	buf_add_str(&rig->calls, "closed ");
	smtp_session_free(TAKE_PTR(rig->session));
	event_base_loopbreak(rig->base);
}

static void open_session(struct rig *rig, const struct smtpd_rule *rules)
{
	struct smtp_session_spec spec = {
		.base = rig->base,
		.name = rig->server,
		.ended = on_ended,
		.ready = on_ready,
		.leaving = on_leaving,
		.closed = on_closed,
		.arg = rig,
	};
	struct err err = ERR_INIT;

	fake_smtpd_rules(rig->smtpd, rules);
	assert_int_equal(smtp_server_connect(rig->server, &spec.fd, &err), 0);
	rig->session = smtp_session_new(&spec);
}

/* What the owner hears of a session with so many messages. */
static const struct {
	struct smtpd_rule rule;
	int messages;
	const char *calls;
} cases[] = {
	{{0}, 1, "queued ready "},
	{{0}, 3, "queued ready queued ready queued ready "},
	{{.on = "EHLO", .reply = "250 old"}, 2, "queued ready queued ready "},
	{{.on = "CONNECT", .reply = "554 no"}, 1, "temporary closed "},
	{{.on = "EHLO", .reply = "502 no"}, 1, "temporary closed "},
	{{.on = "MAIL", .reply = "451 later"}, 1, "temporary closed "},
	{{.on = "RCPT TO:<b@", .reply = "550 no"}, 1, "temporary closed "},
	{{.on = ".", .reply = "550 5.7.1 no"}, 2, "rejected ready rejected ready "},
	{{.on = ".", .reply = "451 4.3.0 no"}, 1, "temporary closed "},
	{{.on = ".", .reply = NULL}, 1, "unknown closed "},
	/* More than was asked for must not pass for the answer. */
	{{.on = "DATA", .reply = "354 go on\r\n250 2.0.0 what"}, 1, "temporary closed "},
	{{.on = "EHLO", .reply = "250 old\r\n250 2.0.0 what"}, 1, "temporary closed "},
	{{.on = "EHLO",
		 .reply = "250-new\r\n250-PIPELINING\r\n250 CHUNKING\r\n"
			  "250 2.0.0 what"},
		1, "temporary closed "},
	{{.on = "EHLO", .reply = "250-new\r\n250-PIPELINING\r\n250 CHUNKING"}, 3,
		"queued ready queued ready queued ready "},
	/* A session that was used before may have been dead already. */
	{{"MAIL", NULL, 1, 2}, 2, "queued ready temporary+ closed "},
	{{"DATA", "451 later", 1, 2}, 2, "queued ready temporary+ closed "},
	{{".", "451 4.7.1 later", 1, 2}, 2, "queued ready temporary+ closed "},
	{{".", "451 4.3.0 later", 1, 2}, 2, "queued ready temporary closed "},
	{{".", NULL, 1, 2}, 2, "queued ready unknown closed "},
};

static void test_calls(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct smtpd_rule rules[] = {cases[i].rule, {0}};
		struct rig *rig;

		setup(state);
		rig = *state;
		print_message("case %zu\n", i);
		rig->left = cases[i].messages;
		open_session(rig, rules);
		give_one(rig);
		event_base_dispatch(rig->base);
		assert_string_equal(buf_str(&rig->calls), cases[i].calls);
		teardown(state);
	}
}

/* Until the server has been told so, with the message still under way. */
static void wait_until_told(struct rig *rig, const char *what)
{
	while (strstr(fake_smtpd_log(rig->smtpd), what) == NULL)
		event_base_loop(rig->base, EVLOOP_ONCE);
}

/* What is to be said of a message if the session ended now; freeing it then
 * calls nobody. */
static void test_status(void **state)
{
	static const struct {
		struct smtpd_rule rule;
		const char *told;
		enum inject_result status;
	} steps[] = {
		{{.on = "EHLO", .reply = ""}, "EHLO", INJECT_TEMPORARY},
		{{.on = "MAIL", .reply = ""}, "DATA", INJECT_TEMPORARY},
		{{.on = "DATA", .reply = ""}, "DATA", INJECT_TEMPORARY},
		{{.on = ".", .reply = ""}, "hi\r\n.\r\n", INJECT_UNKNOWN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		const struct smtpd_rule rules[] = {steps[i].rule, {0}};
		struct rig *rig;

		setup(state);
		rig = *state;
		open_session(rig, rules);
		give_one(rig);
		assert_int_equal(smtp_session_outcome(rig->session), INJECT_TEMPORARY);
		wait_until_told(rig, steps[i].told);
		assert_int_equal(smtp_session_outcome(rig->session), steps[i].status);
		assert_int_equal(smtp_session_failure(rig->session), SMTP_ANSWERED);
		smtp_session_free(TAKE_PTR(rig->session));
		while (fake_smtpd_open(rig->smtpd) > 0)
			event_base_loop(rig->base, EVLOOP_ONCE);
		assert_string_equal(buf_str(&rig->calls), "");
		teardown(state);
	}
}

/* Its time is over before the session has come to it. */
static void test_deadline(void **state)
{
	static const struct smtpd_rule silence[] = {{.on = "CONNECT", .reply = ""}, {0}};
	struct rig *rig = *state;

	open_session(rig, silence);
	give_one(rig);
	smtp_session_free(TAKE_PTR(rig->session));
	open_session(rig, silence);
	rig->submission.deadline_us = 1;
	smtp_session_send(rig->session, &rig->submission);
	event_base_dispatch(rig->base);
	assert_string_equal(buf_str(&rig->calls), "temporary closed ");
}

/* Postfix ends a session that waits: nobody's message is concerned. */
static void test_ends_while_ready(void **state)
{
	struct rig *rig = *state;

	rig->left = 1;
	open_session(rig, no_rules);
	give_one(rig);
	event_base_dispatch(rig->base);
	buf_clear(&rig->calls);
	fake_smtpd_hang_up(rig->smtpd);
	event_base_dispatch(rig->base);
	assert_string_equal(buf_str(&rig->calls), "closed ");
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_status),
		test(deadline),
		test(ends_while_ready),
	};
	int failed;

	signal(SIGPIPE, SIG_IGN);
	failed = cmocka_run_group_tests_name("smtp_session", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
