/* send: the pipeline from a parsed email to its record, and each of its ends. A
 * real store, a fake injector that plays Postfix and the milter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <event2/http.h>
#include <string.h>
#include <unistd.h>

#include "core/conf/conf.h"
#include "core/mime/mime_gmime.h"
#include "core/store/email/store_email.h"
#include "httpd/admission/counts.h"
#include "tests/unit/send_rig.h"

static void add(struct addr_list *list, const char *address)
{
	assert_int_equal(addr_parse(address, addr_list_add(list), NULL), 0);
}

/* Sends an email from the address to its end. */
static void send_from(struct send_rig *rig, const char *from)
{
	struct draft draft;
	const struct send_spec spec = {.draft = &draft, .n = 1};

	send_rig_email(from, "Ann <a@dst.test>", &draft);
	add(&draft.message.to, "b@dst.test");
	add(&draft.message.cc, "a@dst.test");
	send_rig_send(rig, &spec);
	assert_int_equal(rig->n, 1);
	assert_int_equal(rig->sent, rig->problems[0].kind == PROBLEM_NONE);
	draft_clear(&draft);
}

/* Each as kind, address, in parentheses when the envelope lacks it, and as it
 * was given. */
static void assert_recipients(const struct email *email, const char *expected)
{
	static const char *const kinds[] = {"to", "cc", "bcc"};
	_cleanup_buf_ struct buf found = BUF_INIT;

	for (size_t i = 0; i < email->recipients.n; i++) {
		const struct recipient *one = &email->recipients.items[i];

		buf_printf(&found, one->enveloped ? "%s %s %s\n" : "%s (%s) %s\n", kinds[one->kind],
			one->address, recipient_text(one));
	}
	assert_string_equal(buf_str(&found), expected);
}

static void test_sent(void **state)
{
	struct send_rig *rig = *state;
	const struct email_scope all = {0};
	struct email email;

	send_from(rig, "Acme <hello@example.com>");
	assert_int_equal(rig->problems[0].kind, PROBLEM_NONE);
	assert_int_equal(send_rig_state(rig, 0), EMAIL_SENT);
	assert_string_equal(rig->inject->sender, "hello@example.com");
	assert_false(rig->inject->utf8);
	assert_null(strstr(rig->inject->message, "hidden@dst.test"));
	assert_non_null(strstr(rig->inject->message, rig->ids[0]));

	assert_int_equal(store_email_get(rig->db, rig->ids[0], &all, &email, NULL), 1);
	assert_string_equal(email.from, "Acme <hello@example.com>");
	assert_recipients(&email,
		"to a@dst.test Ann <a@dst.test>\n"
		"to b@dst.test b@dst.test\n"
		"cc (a@dst.test) a@dst.test\n"
		"bcc hidden@dst.test Secret <hidden@dst.test>\n");
	assert_string_equal(email.html, "<p>Hello</p>");
	assert_non_null(strstr(email.text, "Hello"));
	assert_string_equal(email.queue_id, "QUEUEID");
	store_email_clear(&email);
}

static void test_milter_away(void **state)
{
	struct send_rig *rig = *state;

	rig->inject->milter = MILTER_AWAY;
	send_from(rig, "hello@example.com");
	assert_int_equal(rig->problems[0].kind, PROBLEM_NONE);
	assert_int_equal(send_rig_state(rig, 0), EMAIL_STAGED);
}

static void test_milter_refuses(void **state)
{
	struct send_rig *rig = *state;

	rig->inject->milter = MILTER_REFUSES;
	send_from(rig, "hello@example.com");
	assert_int_equal(problem_status(&rig->problems[0]), 403);
	assert_string_equal(rig->problems[0].text, "The key was revoked.");
	assert_int_equal(send_rig_state(rig, 0), EMAIL_REFUSED);
}

static const struct {
	const char *from;
	const char *key_domain;
	const char *text;
} forbidden[] = {
	{"a@nobody.example", NULL,
		"The nobody.example domain is not verified. Please, add and verify your domain."},
	{"a@other.example", NULL,
		"The other.example domain is not verified. Please, add and verify your domain."},
	{"a@sub.example.com", NULL,
		"The sub.example.com domain is not verified. Please, add and verify your domain."},
	{"a@asleep.example", NULL, "The asleep.example domain is not active for sending."},
	{"a@second.example", "example.com",
		"This API key is not authorized to send emails from second.example"},
};

static void test_forbidden(void **state)
{
	struct send_rig *rig = *state;
	struct key *key = &rig->request.admission.key;

	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
		free(key->domain);
		key->domain = mem_strdup(forbidden[i].key_domain);
		send_from(rig, forbidden[i].from);
		assert_int_equal(problem_status(&rig->problems[0]), 403);
		assert_string_equal(rig->problems[0].text, forbidden[i].text);
		assert_int_equal(send_rig_state(rig, 0), -1);
	}
	assert_int_equal(rig->inject->submitted, 0);
}

static void test_too_large(void **state)
{
	struct send_rig *rig = *state;

	rig->request.admission.limits.message = 200;
	send_from(rig, "hello@example.com");
	assert_int_equal(problem_status(&rig->problems[0]), 413);
	assert_non_null(strstr(rig->problems[0].text, "of 200 bytes"));
	assert_int_equal(rig->inject->submitted, 0);
}

enum { LARGE = 200 * 1000 };

/* An email with so much html, which is all text. */
static void large_email(size_t len, struct draft *draft_r)
{
	char *html = mem_alloc(len + 1, 1);

	memset(html, 'x', len);
	send_rig_email("hello@example.com", "a@dst.test", draft_r);
	free(draft_r->message.html);
	draft_r->message.html = html;
}

static void count_round(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	++*(int *)arg;
}

/* The loop goes on while they are composed: what was to be done before is. */
static void test_large_are_composed_elsewhere(void **state)
{
	struct send_rig *rig = *state;
	struct draft emails[3];
	const struct send_spec spec = {.draft = emails, .n = ARRAY_SIZE(emails)};
	struct event *event;
	int rounds = 0;

	for (size_t i = 0; i < ARRAY_SIZE(emails); i++)
		large_email(LARGE, &emails[i]);
	send_rig_begin(rig, &spec);
	assert_int_equal(rig->done, 0);
	event = event_new(rig->worker.base, -1, 0, count_round, &rounds);
	event_active(event, EV_READ, 0);
	while (rig->done == 0)
		event_base_dispatch(rig->worker.base);
	event_free(event);
	assert_int_equal(rounds, 1);
	assert_int_equal(rig->sent, ARRAY_SIZE(emails));
	for (size_t i = 0; i < ARRAY_SIZE(emails); i++) {
		assert_int_equal(send_rig_state(rig, i), EMAIL_SENT);
		assert_null(emails[i].message.html);
	}
}

/* What is composed is counted: html, text and message. */
static void test_memory_is_counted(void **state)
{
	struct send_rig *rig = *state;
	struct budget_share *share = &rig->request.admission.share;
	struct draft email;
	const struct send_spec spec = {.draft = &email, .n = 1};

	large_email(LARGE, &email);
	send_rig_begin(rig, &spec);
	while (rig->inject->submitted == 0)
		event_base_loop(rig->worker.base, EVLOOP_ONCE);
	assert_in_range(share->held, 4 * LARGE, 6 * LARGE);
	assert_int_equal(share->bytes, share->held);
	assert_int_equal(budget_used(&rig->budget), share->held);
	send_rig_wait(rig);
	assert_int_equal(rig->sent, 1);
	assert_int_equal(budget_used(&rig->budget), 0);
}

/* More than a request may have, and more than there is now: none is sent. */
static void test_memory_is_bounded(void **state)
{
	struct send_rig *rig = *state;
	struct budget_share *share = &rig->request.admission.share;
	struct budget_share others = {0};
	struct draft emails[20];
	const struct send_spec spec = {
		.draft = emails, .n = ARRAY_SIZE(emails), .permissive = true};

	for (int round = 0; round < 3; round++) {
		struct admission_limits *limits = &rig->request.admission.limits;

		limits->memory = round == 1 ? 40 * LARGE : 150 * LARGE;
		if (round == 2)
			assert_int_equal(budget_count_bytes(&rig->budget, limits->memory, "others",
						 110 * LARGE, &others),
				BUDGET_TAKEN);
		for (size_t i = 0; i < ARRAY_SIZE(emails); i++)
			large_email(LARGE, &emails[i]);
		send_rig_send(rig, &spec);
		assert_int_equal(rig->sent, round == 0 ? 20 : 0);
		assert_int_equal(rig->inject->submitted, 20);
		if (round > 0)
			assert_int_equal(problem_status(&rig->problems[0]), round == 1 ? 413 : 503);
		if (round == 2)
			assert_true(rig->problems[0].retry_after_s > 0);
		budget_give_back(share);
		assert_int_equal(budget_used(&rig->budget), others.bytes);
	}
	budget_give_back(&others);
}

static void test_store_fails(void **state)
{
	struct send_rig *rig = *state;

	assert_int_equal(db_exec(rig->db, "DROP TABLE email_content", NULL), 0);
	send_from(rig, "hello@example.com");
	assert_true(problem_status(&rig->problems[0]) >= 500);
	assert_int_equal(rig->inject->submitted, 0);
	assert_int_equal(send_rig_state(rig, 0), -1);
}

static int parse_nothing(
	struct send_body *body, struct send_parsed *parsed_r, struct problem *problem)
{
	(void)body;
	(void)parsed_r;
	(void)problem;
	return -1;
}

/* A fault of our own in a parser is no request without emails. */
static void test_parser_without_a_problem(void **state)
{
	static const struct send_dialect dialect = {.parse = parse_nothing};
	struct send_rig *rig = *state;
	struct request *request = mem_new(struct request);
	size_t place = 0;

	while (counts_statuses[place] != 500)
		place++;
	request->worker = &rig->worker;
	request->evreq = evhttp_request_new(NULL, NULL);
	rig->worker.requests = 1;
	send_request(request, &dialect);
	assert_int_equal(rig->done, 0);
	assert_int_equal(count_get(&rig->worker.counts->of[0].statuses[place]), 1);
	assert_int_equal(rig->worker.requests, 0);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, send_rig_setup, send_rig_teardown)
	const struct CMUnitTest tests[] = {
		test(test_sent),
		test(test_milter_away),
		test(test_milter_refuses),
		test(test_parser_without_a_problem),
		test(test_forbidden),
		test(test_too_large),
		test(test_large_are_composed_elsewhere),
		test(test_memory_is_counted),
		test(test_memory_is_bounded),
		test(test_store_fails),
	};
	int failed;

	mime_init();
	failed = cmocka_run_group_tests_name("send", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
