/* Submission by sendmail(1) -bs: how it is called, and what its ends mean. A
 * shell script stands in for it, so that every end can be had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "httpd/inject/inject.h"
#include "tests/unit/temp_folder.h"

static char *folder;

struct outcome {
	struct submission submission; /* first */
	int done;
	enum inject_result result;
	struct err err;
};

static void on_done(struct submission *submission, const struct inject_answer *answer)
{
	struct outcome *outcome = (struct outcome *)submission;

	outcome->done++;
	outcome->result = answer->result;
	outcome->err = *answer->err;
	assert_false(answer->verdict_first);
}

static char *in_folder(const char *name)
{
	return mem_printf("%s/%s", folder, name);
}

static void write_script(const char *path, const char *body)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\ncd %s\n%s\n", folder, body);
	fclose(file);
	assert_int_equal(chmod(path, 0700), 0);
}

static void assert_file(const char *name, const char *expected)
{
	_cleanup_free_ char *path = in_folder(name);
	char text[4096];
	FILE *file = fopen(path, "r");
	size_t len;

	assert_non_null(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	fclose(file);
	assert_string_equal(text, expected);
	unlink(path);
}

/* A submission, an injector for the script, and the message. */
struct rig {
	struct event_base *base;
	struct conf conf;
	struct inject *inject;
	struct buf message;
};

static void rig_init(struct rig *rig, const char *body)
{
	memset(rig, 0, sizeof(*rig));
	rig->base = event_base_new();
	rig->conf.submission.method = SUBMISSION_SENDMAIL;
	rig->conf.submission.sendmail = in_folder("sendmail");
	rig->conf.submission.postfix_config = mem_strdup("/etc/other");
	rig->conf.submission.processes = 2;
	rig->conf.submission.timeout_ms = 60000;
	write_script(rig->conf.submission.sendmail, body);
	buf_add_str(&rig->message, "Subject: x\n\n.\nFrom here\n");
	rig->inject = inject_new(rig->base, &rig->conf);
}

static void rig_clear(struct rig *rig)
{
	inject_free(rig->inject);
	unlink(rig->conf.submission.sendmail);
	free(rig->conf.submission.sendmail);
	free(rig->conf.submission.postfix_config);
	buf_free(&rig->message);
	event_base_free(rig->base);
}

static void submit(struct rig *rig, struct outcome *outcome)
{
	*outcome = (struct outcome){.submission = {.sender = "a@example.com",
					    .recipient = "b@dst.test",
					    .message = &rig->message,
					    .company_id = "",
					    .done = on_done}};
	inject_submit(rig->inject, &outcome->submission);
	assert_int_equal(outcome->done, 0);
}

/* An smtpd. The first script is run before its greeting; the second one for
 * MAIL and RCPT, to answer; the third one for a content, which is in the file
 * of that name. */
#define SMTPD(at_start, at_envelope, at_content)                                                   \
	at_start "\necho 220 here\n"                                                               \
		 "while IFS= read -r line; do case $line in\n"                                     \
		 "EHLO*) printf '250-here\\r\\n250-PIPELINING\\r\\n250 "                           \
		 "CHUNKING\\r\\n'"                                                                 \
		 ";;\n"                                                                            \
		 "DATA*) echo 354 go\n"                                                            \
		 "while IFS= read -r line; do\n"                                                   \
		 "case $line in .?) break ;; esac\n"                                               \
		 "printf '%s\\n' \"$line\" >>content\n"                                            \
		 "done\n" at_content                                                               \
		 " ;;\n"                                                                           \
		 "QUIT*) echo 221 bye; exit ;;\n"                                                  \
		 "*) " at_envelope                                                                 \
		 " ;;\n"                                                                           \
		 "esac; done"
#define OK "echo 250 2.0.0 well"

static void wait_until_done(struct rig *rig, const struct outcome *outcome)
{
	while (outcome->done == 0)
		event_base_loop(rig->base, EVLOOP_ONCE);
	assert_int_equal(outcome->done, 1);
}

/* The ticket is in no argument; several messages go in one process, each with
 * its recipient twice. */
static void test_arguments_and_input(void **state)
{
	struct rig rig;
	struct outcome outcome;

	(void)state;
	rig_init(&rig, SMTPD("printf '<%s>' \"$@\" >>args", "echo \"$line\" >>envelope;" OK, OK));
	for (int i = 0; i < 2; i++) {
		submit(&rig, &outcome);
		wait_until_done(&rig, &outcome);
		assert_int_equal(outcome.result, INJECT_QUEUED);
		assert_file("content", "Subject: x\r\n\r\n..\r\nFrom here\r\n");
		assert_file("envelope",
			"MAIL FROM:<a@example.com>\r\n"
			"RCPT TO:<b@dst.test>\r\n"
			"RCPT TO:<b@dst.test>\r\n");
	}
	assert_file("args", "<-C></etc/other><-bs>");
	rig_clear(&rig);
}

static const struct {
	const char *script;
	enum inject_result result;
	enum err_code code;
	const char *text;
} ends[] = {
	/* before it has said anything */
	{"echo you may not >&2; exit 69", INJECT_TEMPORARY, ERR_TEMPORARY, "you may not"},
	{"kill -9 $$", INJECT_TEMPORARY, ERR_TEMPORARY, "closed"},
	{"echo what do you want", INJECT_TEMPORARY, ERR_TEMPORARY, "does not speak SMTP"},
	{SMTPD("", "echo cannot run postdrop >&2; exit 1", OK), INJECT_TEMPORARY, ERR_TEMPORARY,
		"cannot run postdrop"},
	{SMTPD("", "echo 550 5.1.0 not you", OK), INJECT_REJECTED, ERR_INVALID, "not you"},
	/* with all of the message */
	{SMTPD("", OK, "echo no space >&2; echo 451 4.3.0 write error"), INJECT_TEMPORARY,
		ERR_TEMPORARY, "write error (no space)"},
	{SMTPD("", OK, "echo 552 5.3.4 too large"), INJECT_REJECTED, ERR_TOO_LARGE, "too large"},
	{SMTPD("", OK, "kill -9 $$"), INJECT_UNKNOWN, ERR_TEMPORARY, "closed"},
	{SMTPD("", OK, "exit 0"), INJECT_UNKNOWN, ERR_TEMPORARY, "closed"},
};

static void test_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		_cleanup_free_ char *content = in_folder("content");
		struct rig rig;
		struct outcome outcome;

		rig_init(&rig, ends[i].script);
		submit(&rig, &outcome);
		wait_until_done(&rig, &outcome);
		assert_int_equal(outcome.result, ends[i].result);
		assert_int_equal(outcome.err.code, ends[i].code);
		assert_non_null(strstr(outcome.err.text, ends[i].text));
		rig_clear(&rig);
		unlink(content);
	}
}

/* After an error, and when the one that is there has gone, another one is run. */
static void test_replaced(void **state)
{
	static const enum inject_result results[] = {
		INJECT_QUEUED, INJECT_REJECTED, INJECT_QUEUED, INJECT_QUEUED};
	_cleanup_free_ char *content = in_folder("content");
	struct rig rig;
	struct outcome outcome;

	(void)state;
	rig_init(&rig, SMTPD("n=0; echo run >>runs", OK,
			       "n=$((n+1)); test $(wc -l <content) -ne 8 || "
			       "{ echo 550 no; continue; }\n" OK
			       "\ntest $(wc -l <content) -ne 12 || exit"));
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		submit(&rig, &outcome);
		wait_until_done(&rig, &outcome);
		assert_int_equal(outcome.result, results[i]);
	}
	assert_file("runs", "run\nrun\nrun\n");
	unlink(content);
	rig_clear(&rig);
}

static void test_missing_program(void **state)
{
	struct rig rig;
	struct outcome outcome;

	(void)state;
	rig_init(&rig, "");
	unlink(rig.conf.submission.sendmail);
	submit(&rig, &outcome);
	wait_until_done(&rig, &outcome);
	assert_int_equal(outcome.result, INJECT_TEMPORARY);
	assert_int_equal(outcome.err.code, ERR_CONFIG);
	rig_clear(&rig);
}

/* Each run notes how many run beside it: mkdir is atomic. */
static void test_bounded_number(void **state)
{
	enum { N = 20 };
	_cleanup_free_ char *content = in_folder("content");
	struct rig rig;
	struct outcome outcomes[N];

	(void)state;
	rig_init(&rig,
		SMTPD("mkdir slot1 2>/dev/null || mkdir slot2 || exit", OK, "sleep 0.01; " OK));
	for (int i = 0; i < N; i++)
		submit(&rig, &outcomes[i]);
	for (int i = 0; i < N; i++) {
		wait_until_done(&rig, &outcomes[i]);
		assert_int_equal(outcomes[i].result, INJECT_QUEUED);
	}
	unlink(content);
	rig_clear(&rig);
	for (int i = 1; i <= 2; i++) {
		_cleanup_free_ char *slot = mem_printf("%s/slot%d", folder, i);

		rmdir(slot);
	}
}

static void test_stop_ends_all(void **state)
{
	enum { N = 5 };
	struct rig rig;
	struct outcome outcomes[N], late;
	_cleanup_free_ char *content = in_folder("content");

	(void)state;
	rig_init(&rig, SMTPD("", OK, "exec sleep 60"));
	for (int i = 0; i < N; i++)
		submit(&rig, &outcomes[i]);
	while (access(content, F_OK) < 0)
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	inject_stop(rig.inject);
	submit(&rig, &late);
	for (int i = 0; i < N; i++)
		wait_until_done(&rig, &outcomes[i]);
	wait_until_done(&rig, &late);
	for (int i = 2; i < N; i++)
		assert_int_equal(outcomes[i].result, INJECT_TEMPORARY);
	assert_true(outcomes[0].result == INJECT_UNKNOWN || outcomes[1].result == INJECT_UNKNOWN);
	assert_int_equal(late.result, INJECT_TEMPORARY);
	rig_clear(&rig);
	unlink(content);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments_and_input),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_missing_program),
		cmocka_unit_test(test_bounded_number),
		cmocka_unit_test(test_stop_ends_all),
	};
	int failed;

	folder = temp_folder_new();
	signal(SIGPIPE, SIG_IGN);
	failed = cmocka_run_group_tests_name("inject_sendmail", tests, NULL, NULL);
	temp_folder_free(folder);
	libevent_global_shutdown();
	return failed;
}
