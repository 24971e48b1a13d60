/* inject_smtp: what goes over the wire, what each answer means, and how
 * sessions are shared. A fake server answers as it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "httpd/inject/inject.h"
#include "tests/unit/fake_smtpd.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/later_clock.h"

#define ON(what, answer)                                                                           \
	{                                                                                          \
		.on = (what), .reply = (answer)                                                    \
	}

static const struct smtpd_rule no_rules[] = {{0}};

struct outcome {
	struct submission submission; /* first */
	int *left;
	struct event_base *base;
	int done;
	enum inject_result result;
	struct err err;
};

struct rig {
	char *folder, *path;
	struct event_base *base;
	struct conf *conf;
	struct fake_smtpd *smtpd;
	struct inject *inject;
	struct buf message;
	int left; /* outcomes that are waited for */
};

static int setup(void **state)
{
	struct rig *rig = mem_new(struct rig);

	rig->folder = temp_folder_new();
	rig->path = mem_printf("%s/smtpd", rig->folder);
	rig->base = event_base_new();
	rig->conf = conf_default();
	rig->conf->submission.method = SUBMISSION_SMTP;
	rig->conf->submission.sessions = 2;
	free(rig->conf->submission.smtp_server);
	rig->conf->submission.smtp_server = mem_printf("unix:%s", rig->path);
	buf_add_str(&rig->message, "Subject: x\n\n.\nFrom here\n");
	rig->smtpd = fake_smtpd_new(rig->base, rig->path, no_rules);
	rig->inject = inject_new(rig->base, rig->conf);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	inject_free(rig->inject);
	if (rig->smtpd)
		fake_smtpd_free(rig->smtpd);
	conf_free(rig->conf);
	buf_free(&rig->message);
	event_base_free(rig->base);
	temp_folder_free(rig->folder);
	free(rig->path);
	free(rig);
	return 0;
}

static void on_done(struct submission *submission, const struct inject_answer *answer)
{
	struct outcome *outcome = (struct outcome *)submission;

	outcome->done++;
	outcome->result = answer->result;
	outcome->err = *answer->err;
	assert_true(answer->verdict_first);
	if (--*outcome->left == 0)
		event_base_loopbreak(outcome->base);
}

static void submit(struct rig *rig, struct outcome *outcome)
{
	*outcome = (struct outcome){
		.submission = {.sender = "a@example.com",
			.recipient = "b@dst.test",
			.message = &rig->message,
			.company_id = "",
			.done = on_done},
		.left = &rig->left,
		.base = rig->base,
	};
	rig->left++;
	inject_submit(rig->inject, &outcome->submission);
	assert_int_equal(outcome->done, 0);
}

/* Until all that were submitted are done. */
static void run(struct rig *rig)
{
	event_base_dispatch(rig->base);
	assert_int_equal(rig->left, 0);
}

static void send_one(struct rig *rig, struct outcome *outcome)
{
	submit(rig, outcome);
	run(rig);
	assert_int_equal(outcome->done, 1);
}

static void assert_log_ends(const struct rig *rig, const char *end)
{
	const char *log = fake_smtpd_log(rig->smtpd);
	size_t len = strlen(log), end_len = strlen(end);

	assert_true(len >= end_len);
	assert_string_equal(log + len - end_len, end);
}

static void test_dialogue(void **state)
{
	struct rig *rig = *state;
	struct outcome outcome;

	send_one(rig, &outcome);
	assert_int_equal(outcome.result, INJECT_QUEUED);
	assert_string_equal(fake_smtpd_log(rig->smtpd),
		"EHLO localhost\r\n"
		"MAIL FROM:<a@example.com> SIZE=28\r\n"
		"RCPT TO:<b@dst.test>\r\n"
		"RCPT TO:<b@dst.test>\r\n"
		"DATA\r\n"
		"Subject: x\r\n\r\n..\r\nFrom here\r\n.\r\n");
	send_one(rig, &outcome);
	assert_int_equal(outcome.result, INJECT_QUEUED);
	assert_int_equal(fake_smtpd_connections(rig->smtpd), 1);
	assert_int_equal(fake_smtpd_messages(rig->smtpd), 2);
}

static void test_without_extensions(void **state)
{
	static const struct smtpd_rule plain[] = {ON("EHLO", "250 old"), {0}};
	struct rig *rig = *state;
	struct outcome outcome;

	fake_smtpd_rules(rig->smtpd, plain);
	send_one(rig, &outcome);
	assert_int_equal(outcome.result, INJECT_QUEUED);
	assert_log_ends(rig,
		"MAIL FROM:<a@example.com>\r\n"
		"RCPT TO:<b@dst.test>\r\n"
		"RCPT TO:<b@dst.test>\r\n"
		"DATA\r\n"
		"Subject: x\r\n\r\n..\r\nFrom here\r\n.\r\n");
}

#define CHUNKING ON("EHLO", "250-fake\r\n250-PIPELINING\r\n250-SIZE\r\n250 CHUNKING")

/* All in one, and no dot is doubled. */
static void test_chunk(void **state)
{
	static const struct smtpd_rule rules[] = {CHUNKING, {0}};
	struct rig *rig = *state;
	struct outcome outcome;

	fake_smtpd_rules(rig->smtpd, rules);
	for (int i = 1; i <= 2; i++) {
		send_one(rig, &outcome);
		assert_int_equal(outcome.result, INJECT_QUEUED);
		assert_int_equal(fake_smtpd_messages(rig->smtpd), i);
		assert_log_ends(rig,
			"MAIL FROM:<a@example.com> SIZE=28\r\n"
			"RCPT TO:<b@dst.test>\r\n"
			"RCPT TO:<b@dst.test>\r\n"
			"BDAT 28 LAST\r\n"
			"Subject: x\r\n\r\n.\r\nFrom here\r\n");
	}
	assert_int_equal(fake_smtpd_connections(rig->smtpd), 1);
}

/* What becomes of the second message of a session, which goes as a chunk. */
static const struct {
	struct smtpd_rule rule, other;
	enum inject_result result;
	int messages; /* that were taken, with the first one */
	int connections;
} chunks[] = {
	{{"CHUNK", "550 5.7.1 no", 1, 2}, {0}, INJECT_REJECTED, 2, 1},
	{{"CHUNK", "451 4.7.1 later", 1, 2}, {0}, INJECT_QUEUED, 3, 2},
	{{"CHUNK", "451 4.3.0 write error", 1, 2}, {0}, INJECT_TEMPORARY, 2, 1},
	{{"CHUNK", "354 what", 1, 2}, {0}, INJECT_UNKNOWN, 2, 1},
	{{"CHUNK", NULL, 1, 2}, {0}, INJECT_UNKNOWN, 2, 1},
	/* All of it was read: nobody knows what it became. */
	{{"MAIL", NULL, 1, 2}, {0}, INJECT_UNKNOWN, 1, 1},
	{{"RCPT", NULL, 1, 2}, {0}, INJECT_UNKNOWN, 1, 1},
	/* Refused before the chunk: thrown away, so that another may try. */
	{{"MAIL", "451 4.7.1 later", 1, 2}, {0}, INJECT_QUEUED, 2, 2},
	{{"MAIL", "421 4.4.2 timeout", 1, 2}, {0}, INJECT_QUEUED, 2, 2},
	{{"MAIL", "552 5.3.4 too big", 1, 2}, {0}, INJECT_REJECTED, 1, 1},
	{{"RCPT", "550 5.1.1 nobody", 1, 2}, {0}, INJECT_QUEUED, 2, 2},
	{{"RCPT", "450 4.2.0 later", 0, 2}, {"MAIL", "450 4.7.1 later", 2, 1}, INJECT_TEMPORARY, 1,
		2},
};

static void test_answers_to_chunk(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++) {
		const struct smtpd_rule first[] = {CHUNKING, {0}};
		const struct smtpd_rule rules[] = {CHUNKING, chunks[i].rule, chunks[i].other, {0}};
		struct outcome outcome;
		struct rig *rig;

		setup(state);
		rig = *state;
		fake_smtpd_rules(rig->smtpd, first);
		send_one(rig, &outcome);
		assert_int_equal(outcome.result, INJECT_QUEUED);
		fake_smtpd_rules(rig->smtpd, rules);
		send_one(rig, &outcome);
		if (outcome.result != chunks[i].result ||
			fake_smtpd_messages(rig->smtpd) != chunks[i].messages ||
			fake_smtpd_connections(rig->smtpd) != chunks[i].connections)
			fail_msg("%zu: %d, %s, %d messages, %d connections", i, outcome.result,
				outcome.err.text, fake_smtpd_messages(rig->smtpd),
				fake_smtpd_connections(rig->smtpd));
		teardown(state);
	}
}

/* Of a message whose session is lost. */
enum { TRIES = 4 };

/* A session that has been open for longer leaves when it has no message. */
#define AGE_US (61 * SECOND_US)

/* An smtpd that answers EHLO and leaves when there is more to read. */
static void *leave_unread(void *arg)
{
	static const char ehlo[] = "250-x\r\n250-PIPELINING\r\n250 CHUNKING\r\n";
	int listener = *(int *)arg;
	char greeting[] = "220 x\r\n", got[64];

	for (int i = 0; i < 2 * TRIES; i++) {
		int fd = accept(listener, NULL, NULL);
		struct pollfd more = {.fd = fd, .events = POLLIN};

		assert_int_equal(write(fd, greeting, strlen(greeting)), strlen(greeting));
		assert_true(read(fd, got, sizeof(got)) > 0);
		assert_int_equal(write(fd, ehlo, strlen(ehlo)), strlen(ehlo));
		assert_int_equal(poll(&more, 1, 10000), 1);
		close(fd);
	}
	return NULL;
}

/* What it has not read it does not have: a message is not lost, and not in doubt. */
static void test_leaves_unread(void **state)
{
	struct rig *rig = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	struct outcome outcome;
	pthread_t thread;

	fake_smtpd_free(TAKE_PTR(rig->smtpd));
	strncpy(address.sun_path, rig->path, sizeof(address.sun_path) - 1);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 2), 0);
	pthread_create(&thread, NULL, leave_unread, &listener);
	for (int i = 0; i < 2; i++) {
		send_one(rig, &outcome);
		assert_int_equal(outcome.result, INJECT_TEMPORARY);
	}
	pthread_join(thread, NULL);
	close(listener);
	unlink(rig->path);
}

/* What becomes of the first message of a new session. */
static const struct {
	struct smtpd_rule rule;
	enum inject_result result;
	enum err_code code;
	const char *text;
	bool kept; /* the session */
} answers[] = {
	{ON("CONNECT", "554 5.3.2 full"), INJECT_TEMPORARY, ERR_TEMPORARY, "full", false},
	{ON("CONNECT", NULL), INJECT_TEMPORARY, ERR_TEMPORARY, "", false},
	{ON("CONNECT", "SSH-2.0"), INJECT_TEMPORARY, ERR_TEMPORARY, "SMTP", false},
	{ON("EHLO", "502 what"), INJECT_TEMPORARY, ERR_TEMPORARY, "what", false},
	{ON("EHLO", NULL), INJECT_TEMPORARY, ERR_TEMPORARY, "closed", false},
	{ON("MAIL", "451 4.7.1 later"), INJECT_TEMPORARY, ERR_TEMPORARY, "451 4.7.1 later", false},
	{ON("MAIL", "421 4.3.0 bye"), INJECT_TEMPORARY, ERR_TEMPORARY, "bye", false},
	{ON("MAIL", "552 5.3.4 too big"), INJECT_REJECTED, ERR_TOO_LARGE, "too big", false},
	{ON("MAIL", "501 5.1.7 bad"), INJECT_REJECTED, ERR_INVALID,
		"the sender <a@example.com>: 501 5.1.7 bad", false},
	{ON("MAIL", NULL), INJECT_TEMPORARY, ERR_TEMPORARY, "closed", false},
	/* That Postfix does not know tickets is not the email's fault. */
	{ON("RCPT TO:<b@", "550 5.1.1 nobody"), INJECT_TEMPORARY, ERR_TEMPORARY,
		"the recipient: 550 5.1.1 nobody", false},
	{ON("RCPT TO:<b@", "450-4.2.0 one\r\n450 4.2.0 two"), INJECT_TEMPORARY, ERR_TEMPORARY,
		"the recipient: 450 4.2.0 one two", false},
	{ON("RCPT TO:<b@", NULL), INJECT_TEMPORARY, ERR_TEMPORARY, "closed", false},
	{ON("DATA", "250 2.0.0 what"), INJECT_TEMPORARY, ERR_TEMPORARY, "250", false},
	{ON("DATA", "554 5.5.1 none"), INJECT_REJECTED, ERR_INVALID, "none", false},
	{ON("CONTENT", "451 4.3.0 early"), INJECT_TEMPORARY, ERR_TEMPORARY, "early", false},
	{ON(".", "550 5.7.1 example.com: no"), INJECT_REJECTED, ERR_INVALID,
		"550 5.7.1 example.com: no", true},
	{ON(".", "552 5.3.4 too big"), INJECT_REJECTED, ERR_TOO_LARGE, "too big", true},
	{ON(".", "451 4.7.1 later"), INJECT_TEMPORARY, ERR_TEMPORARY, "later", false},
	{ON(".", "421 4.3.0 bye"), INJECT_TEMPORARY, ERR_TEMPORARY, "bye", false},
	{ON(".", "354 what"), INJECT_UNKNOWN, ERR_TEMPORARY, "354", false},
	{ON(".", "nonsense"), INJECT_UNKNOWN, ERR_TEMPORARY, "SMTP", false},
	{ON(".", NULL), INJECT_UNKNOWN, ERR_TEMPORARY, "closed", false},
};

static void test_answers(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		const struct smtpd_rule rules[] = {answers[i].rule, {0}};
		struct outcome outcome, next;
		struct rig *rig;
		int taken;

		setup(state);
		rig = *state;
		fake_smtpd_rules(rig->smtpd, rules);
		/* A server that hangs up at once is tried until the time is over. */
		if (answers[i].rule.reply == NULL)
			rig->conf->submission.timeout_ms = 2000;
		send_one(rig, &outcome);
		rig->conf->submission.timeout_ms = 60000;
		if (outcome.result != answers[i].result || outcome.err.code != answers[i].code ||
			strstr(outcome.err.text, answers[i].text) == NULL)
			fail_msg("%zu: %d, %d, %s", i, outcome.result, outcome.err.code,
				outcome.err.text);
		/* What was refused before its end was not taken. */
		taken = fake_smtpd_messages(rig->smtpd);
		assert_int_equal(taken, answers[i].rule.on[0] == '.');
		fake_smtpd_rules(rig->smtpd, no_rules);
		send_one(rig, &next);
		assert_int_equal(next.result, INJECT_QUEUED);
		assert_int_equal(fake_smtpd_messages(rig->smtpd), taken + 1);
		assert_int_equal(fake_smtpd_connections(rig->smtpd) == 1, answers[i].kept);
		teardown(state);
	}
}

/* What fails in a used session is tried again in a new one, unless it had
 * all of the message: then Postfix may have it. */
static const struct {
	struct smtpd_rule rule;
	enum inject_result result;
	int messages; /* that came to their end, with the first one */
} seconds[] = {
	{{"MAIL", "421 4.4.2 timeout", 1, 2}, INJECT_QUEUED, 2},
	{{"MAIL", "451 4.7.1 later", 1, 2}, INJECT_QUEUED, 2},
	{{"MAIL", NULL, 1, 2}, INJECT_QUEUED, 2},
	{{"RCPT", NULL, 1, 2}, INJECT_QUEUED, 2},
	{{"DATA", NULL, 1, 2}, INJECT_QUEUED, 2},
	{{".", "451 4.7.1 later", 1, 2}, INJECT_QUEUED, 3},
	{{".", "451 4.3.0 write error", 1, 2}, INJECT_TEMPORARY, 2},
	{{".", "451 later", 1, 2}, INJECT_TEMPORARY, 2},
	{{".", NULL, 1, 2}, INJECT_UNKNOWN, 2},
	{{"RCPT", "550 5.1.1 nobody", 1, 2}, INJECT_QUEUED, 2},
	{{".", "550 5.7.1 no", 1, 2}, INJECT_REJECTED, 2},
	{{"MAIL", "451 4.7.1 later", 0, 0}, INJECT_TEMPORARY, 1},
};

static void test_second_message(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
		const struct smtpd_rule rules[] = {seconds[i].rule, {0}};
		struct outcome outcome;
		struct rig *rig;

		setup(state);
		rig = *state;
		send_one(rig, &outcome);
		assert_int_equal(outcome.result, INJECT_QUEUED);
		fake_smtpd_rules(rig->smtpd, rules);
		send_one(rig, &outcome);
		if (outcome.result != seconds[i].result ||
			fake_smtpd_messages(rig->smtpd) != seconds[i].messages)
			fail_msg("%zu: %d, %s", i, outcome.result, outcome.err.text);
		teardown(state);
	}
}

/* Postfix was restarted while a session was idle. */
static void test_idle_session_dies(void **state)
{
	struct rig *rig = *state;
	struct outcome outcome;

	for (int i = 1; i <= 3; i++) {
		send_one(rig, &outcome);
		assert_int_equal(outcome.result, INJECT_QUEUED);
		assert_int_equal(fake_smtpd_connections(rig->smtpd), i);
		fake_smtpd_hang_up(rig->smtpd);
	}
}

static void test_nobody_listens(void **state)
{
	static const struct {
		const char *server;
		enum err_code code;
	} servers[] = {
		{"inet:127.0.0.1:1", ERR_TEMPORARY},
		{"unix:/nonexistent/smtpd", ERR_TEMPORARY},
		{"", ERR_CONFIG},
		{"nonsense", ERR_CONFIG},
	};

	for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
		struct outcome outcome;
		struct rig *rig;

		setup(state);
		rig = *state;
		rig->conf->submission.timeout_ms = 200;
		free(rig->conf->submission.smtp_server);
		rig->conf->submission.smtp_server = mem_strdup(servers[i].server);
		send_one(rig, &outcome);
		assert_int_equal(outcome.result, INJECT_TEMPORARY);
		assert_int_equal(outcome.err.code, servers[i].code);
		teardown(state);
	}
}

static void on_soon(evutil_socket_t fd, short what, void *arg)
{
	struct rig *rig = arg;

	(void)fd;
	(void)what;
	if (rig->smtpd)
		fake_smtpd_rules(rig->smtpd, no_rules);
	else
		rig->smtpd = fake_smtpd_new(rig->base, rig->path, no_rules);
}

/* All wait while Postfix is away, and one at a time looks whether it is back. */
static void test_comes_back(void **state)
{
	static const struct smtpd_rule away[][2] = {
		{ON("CONNECT", "421 4.3.2 stopping"), {0}}, {ON("CONNECT", "451 4.3.0 later"), {0}},
		{ON("CONNECT", NULL), {0}}, {ON("EHLO", NULL), {0}}, {{0}}, /* refused */
	};
	const struct timeval soon = {.tv_usec = 300 * 1000};

	for (size_t i = 0; i < ARRAY_SIZE(away); i++) {
		struct outcome outcomes[20];
		struct rig *rig;

		setup(state);
		rig = *state;
		if (away[i][0].on)
			fake_smtpd_rules(rig->smtpd, away[i]);
		else
			fake_smtpd_free(TAKE_PTR(rig->smtpd));
		for (size_t k = 0; k < ARRAY_SIZE(outcomes); k++)
			submit(rig, &outcomes[k]);
		event_base_once(rig->base, -1, EV_TIMEOUT, on_soon, rig, &soon);
		run(rig);
		for (size_t k = 0; k < ARRAY_SIZE(outcomes); k++)
			assert_int_equal(outcomes[k].result, INJECT_QUEUED);
		assert_int_equal(fake_smtpd_messages(rig->smtpd), 20);
		/* Two at first, a few probes, two that go on. */
		assert_true(fake_smtpd_connections(rig->smtpd) < 12);
		teardown(state);
	}
}

static void test_bounded_number(void **state)
{
	enum { N = 50 };
	struct rig *rig = *state;
	struct outcome outcomes[N];

	for (int i = 0; i < N; i++)
		submit(rig, &outcomes[i]);
	run(rig);
	for (int i = 0; i < N; i++) {
		assert_int_equal(outcomes[i].done, 1);
		assert_int_equal(outcomes[i].result, INJECT_QUEUED);
	}
	assert_int_equal(fake_smtpd_messages(rig->smtpd), N);
	assert_int_equal(fake_smtpd_most(rig->smtpd), 2);
	assert_int_equal(fake_smtpd_connections(rig->smtpd), 2);
}

/* Postfix has fewer processes than there are sessions: a connection gets no answer as long as
 * another session lasts. Its message goes out in that one. */
static void test_few_processes(void **state)
{
	static const struct smtpd_rule rules[] = {
		{"CONNECT", "", 2, 0}, {"CONNECT", "", 3, 0}, {0}};
	struct rig *rig = *state;
	struct outcome outcomes[10];

	rig->conf->submission.sessions = 3;
	fake_smtpd_rules(rig->smtpd, rules);
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		submit(rig, &outcomes[i]);
	run(rig);
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		assert_int_equal(outcomes[i].result, INJECT_QUEUED);
	send_one(rig, &outcomes[0]);
	assert_int_equal(outcomes[0].result, INJECT_QUEUED);
	assert_int_equal(fake_smtpd_connections(rig->smtpd), 3);
}

/* The same; a minute later one connection is answered. It is too old by then, and leaves at once.
 * The other one is given up, since nothing waits: Postfix may need the process. */
static void test_spare_session_opens_late(void **state)
{
	static const struct smtpd_rule rules[] = {
		{"CONNECT", "", 2, 0}, {"CONNECT", "", 3, 0}, {0}};
	struct rig *rig = *state;
	struct outcome outcomes[3];

	rig->conf->submission.sessions = 3;
	fake_smtpd_rules(rig->smtpd, rules);
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		submit(rig, &outcomes[i]);
	run(rig);
	assert_int_equal(fake_smtpd_messages(rig->smtpd), 3);
	while (fake_smtpd_connections(rig->smtpd) < 3)
		event_base_loop(rig->base, EVLOOP_ONCE);

	later_clock_set(AGE_US);
	fake_smtpd_say(rig->smtpd, 2, "220 at last");
	while (fake_smtpd_open(rig->smtpd) > 1)
		event_base_loop(rig->base, EVLOOP_ONCE);
	assert_log_ends(rig, "EHLO localhost\r\nQUIT\r\n");

	/* No session counts as spare any more: new ones are opened. */
	fake_smtpd_hang_up(rig->smtpd);
	send_one(rig, &outcomes[0]);
	assert_int_equal(outcomes[0].result, INJECT_QUEUED);
	assert_int_equal(fake_smtpd_connections(rig->smtpd), 4);
	later_clock_set(0);
}

/* Its owner may want fewer of them at work; those that end take the next. */
static void test_fewer_at_work(void **state)
{
	struct rig *rig = *state;
	struct outcome outcomes[10];

	rig->inject->busy_max = 1;
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		submit(rig, &outcomes[i]);
	run(rig);
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		assert_int_equal(outcomes[i].result, INJECT_QUEUED);
	assert_int_equal(fake_smtpd_most(rig->smtpd), 1);
	assert_int_equal(fake_smtpd_connections(rig->smtpd), 1);
}

/* All are of one company. */
static void test_share_of_a_company(void **state)
{
	struct rig *rig = *state;
	struct outcome outcomes[10];

	rig->inject->company_max = 2;
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		submit(rig, &outcomes[i]);
	run(rig);
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		assert_int_equal(outcomes[i].result, INJECT_QUEUED);
	assert_int_equal(fake_smtpd_connections(rig->smtpd), 2);
}

/* A session that is broken does not take the place of a message's second
 * try. */
static void test_line_goes_on_after_failures(void **state)
{
	enum { N = 20 };
	static const struct smtpd_rule rules[] = {
		{".", "451 4.7.1 later", 0, 3},
		{"MAIL", NULL, 0, 4},
		{0},
	};
	struct rig *rig = *state;
	struct outcome outcomes[N];

	fake_smtpd_rules(rig->smtpd, rules);
	for (int i = 0; i < N; i++)
		submit(rig, &outcomes[i]);
	run(rig);
	for (int i = 0; i < N; i++)
		assert_int_equal(outcomes[i].result, INJECT_QUEUED);
	assert_true(fake_smtpd_most(rig->smtpd) <= 3);
}

static void test_timeouts(void **state)
{
	static const struct {
		struct smtpd_rule rule;
		enum inject_result result;
		int64_t timeout_ms; /* time enough to get there */
	} silences[] = {
		{ON("CONNECT", ""), INJECT_TEMPORARY, 50},
		{ON("EHLO", ""), INJECT_TEMPORARY, 50},
		{ON("MAIL", ""), INJECT_TEMPORARY, 50},
		{ON("DATA", ""), INJECT_TEMPORARY, 50},
		{ON(".", ""), INJECT_UNKNOWN, 2000},
	};

	for (size_t i = 0; i < ARRAY_SIZE(silences); i++) {
		const struct smtpd_rule rules[] = {silences[i].rule, {0}};
		struct outcome first, waiting;
		struct rig *rig;

		setup(state);
		rig = *state;
		rig->conf->submission.sessions = 1;
		rig->conf->submission.timeout_ms = silences[i].timeout_ms;
		fake_smtpd_rules(rig->smtpd, rules);
		submit(rig, &first);
		submit(rig, &waiting);
		run(rig);
		assert_int_equal(first.result, silences[i].result);
		/* On a busy machine it may have got as far as the first. */
		if (waiting.result != silences[i].result)
			assert_int_equal(waiting.result, INJECT_TEMPORARY);
		teardown(state);
	}
}

/* More than a socket takes at once. */
static void test_large_message(void **state)
{
	struct rig *rig = *state;
	struct outcome outcome;
	char line[] = "................................................\n";

	while (rig->message.len < 3 << 20)
		buf_add_str(&rig->message, line);
	send_one(rig, &outcome);
	assert_int_equal(outcome.result, INJECT_QUEUED);
	assert_log_ends(rig,
		"\r\n............................................."
		"....\r\n.\r\n");
	assert_true(strlen(fake_smtpd_log(rig->smtpd)) > rig->message.len);
}

/* It is stopped while one is answered, one is under way and one waits. */
static void test_stop_ends_all(void **state)
{
	static const struct smtpd_rule rules[] = {{".", "", 1, 0}, {"MAIL", "", 2, 0}, {0}};
	struct rig *rig = *state;
	struct outcome outcomes[3], late;

	fake_smtpd_rules(rig->smtpd, rules);
	for (int i = 0; i < 3; i++)
		submit(rig, &outcomes[i]);
	while (fake_smtpd_messages(rig->smtpd) == 0)
		event_base_loop(rig->base, EVLOOP_ONCE);
	inject_stop(rig->inject);
	submit(rig, &late);
	run(rig);
	assert_int_equal(outcomes[0].result, INJECT_UNKNOWN);
	assert_int_equal(outcomes[1].result, INJECT_TEMPORARY);
	assert_int_equal(outcomes[2].result, INJECT_TEMPORARY);
	assert_int_equal(late.result, INJECT_TEMPORARY);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		test(test_dialogue),
		test(test_without_extensions),
		test(test_chunk),
		cmocka_unit_test(test_answers_to_chunk),
		test(test_leaves_unread),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_second_message),
		test(test_idle_session_dies),
		cmocka_unit_test(test_nobody_listens),
		test(test_bounded_number),
		test(test_few_processes),
		test(test_spare_session_opens_late),
		test(test_fewer_at_work),
		test(test_share_of_a_company),
		test(test_line_goes_on_after_failures),
		cmocka_unit_test(test_comes_back),
		cmocka_unit_test(test_timeouts),
		test(test_large_message),
		test(test_stop_ends_all),
	};
	int failed;

	signal(SIGPIPE, SIG_IGN);
	failed = cmocka_run_group_tests_name("inject_smtp", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
