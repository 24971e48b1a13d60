/* inject_sendmail: how sendmail(1) is called, and what its ends mean. A shell
 * script stands in for it, so that every end can be had. */
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

static char folder[] = "/tmp/postern-unit.XXXXXX";

struct outcome {
	struct submission submission; /* first */
	int done;
	enum inject_result result;
	struct err err;
};

static void on_done(
	struct submission *submission, const struct inject_answer *answer)
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

static void test_arguments_and_input(void **state)
{
	struct rig rig;
	struct outcome outcome;

	(void)state;
	rig_init(&rig, "printf '<%s>' \"$@\" >args; cat >input");
	submit(&rig, &outcome);
	event_base_dispatch(rig.base);
	assert_int_equal(outcome.done, 1);
	assert_int_equal(outcome.result, INJECT_QUEUED);
	assert_file("args", "<-C></etc/other><-i><-f><a@example.com><-->"
			    "<b@dst.test>");
	assert_file("input", "Subject: x\n\n.\nFrom here\n");
	rig_clear(&rig);
}

static const struct {
	const char *script;
	enum inject_result result;
	enum err_code code;
	const char *text;
} ends[] = {
	{"cat >/dev/null", INJECT_QUEUED, ERR_NONE, ""},
	{"cat >/dev/null; echo no such luck >&2; exit 75", INJECT_TEMPORARY,
		ERR_TEMPORARY, "no such luck"},
	{"exit 71", INJECT_TEMPORARY, ERR_TEMPORARY, "71"},
	{"exit 69", INJECT_TEMPORARY, ERR_TEMPORARY, "69"},
	{"exit 64", INJECT_REJECTED, ERR_INTERNAL, "64"},
	{"exit 65", INJECT_REJECTED, ERR_INTERNAL, "65"},
	{"kill -9 $$", INJECT_UNKNOWN, ERR_TEMPORARY, "signal 9"},
	{"kill -11 $$", INJECT_UNKNOWN, ERR_TEMPORARY, "signal 11"},
};

static void test_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct rig rig;
		struct outcome outcome;

		rig_init(&rig, ends[i].script);
		submit(&rig, &outcome);
		event_base_dispatch(rig.base);
		assert_int_equal(outcome.done, 1);
		assert_int_equal(outcome.result, ends[i].result);
		assert_int_equal(outcome.err.code, ends[i].code);
		assert_non_null(strstr(outcome.err.text, ends[i].text));
		rig_clear(&rig);
	}
}

static void test_missing_program(void **state)
{
	struct rig rig;
	struct outcome outcome;

	(void)state;
	rig_init(&rig, "");
	unlink(rig.conf.submission.sendmail);
	submit(&rig, &outcome);
	event_base_dispatch(rig.base);
	assert_int_equal(outcome.done, 1);
	assert_int_equal(outcome.result, INJECT_TEMPORARY);
	assert_int_equal(outcome.err.code, ERR_CONFIG);
	rig_clear(&rig);
}

/* Each run notes how many run beside it: mkdir is atomic. */
static void test_bounded_number(void **state)
{
	enum { N = 20 };
	struct rig rig;
	struct outcome outcomes[N];

	(void)state;
	rig_init(&rig, "cat >/dev/null; mkdir slot1 2>/dev/null && s=slot1 || "
		       "{ mkdir slot2 && s=slot2 || exit 65; }; "
		       "sleep 0.01; rmdir $s");
	for (int i = 0; i < N; i++)
		submit(&rig, &outcomes[i]);
	event_base_dispatch(rig.base);
	for (int i = 0; i < N; i++) {
		assert_int_equal(outcomes[i].done, 1);
		assert_int_equal(outcomes[i].result, INJECT_QUEUED);
	}
	rig_clear(&rig);
}

static void test_stop_ends_all(void **state)
{
	enum { N = 5 };
	struct rig rig;
	struct outcome outcomes[N], late;

	(void)state;
	rig_init(&rig, "exec sleep 60");
	for (int i = 0; i < N; i++)
		submit(&rig, &outcomes[i]);
	event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	inject_stop(rig.inject);
	submit(&rig, &late);
	event_base_dispatch(rig.base);
	for (int i = 0; i < N; i++) {
		assert_int_equal(outcomes[i].done, 1);
		assert_int_equal(outcomes[i].result,
			i < 2 ? INJECT_UNKNOWN : INJECT_TEMPORARY);
	}
	assert_int_equal(late.done, 1);
	assert_int_equal(late.result, INJECT_TEMPORARY);
	rig_clear(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments_and_input),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_missing_program),
		cmocka_unit_test(test_bounded_number),
		cmocka_unit_test(test_stop_ends_all),
	};
	int failed;

	if (mkdtemp(folder) == NULL)
		return 1;
	signal(SIGPIPE, SIG_IGN);
	failed = cmocka_run_group_tests_name(
		"inject_sendmail", tests, NULL, NULL);
	rmdir(folder);
	libevent_global_shutdown();
	return failed;
}
