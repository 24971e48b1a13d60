/*
 * What postern-webhook signs, where it connects to, and what receivers are told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/report/event_form.h"
#include "core/report/event_json.h"
#include "webhook/signature.h"
#include "webhook/target.h"

/* Computed with node:crypto and Python's hmac, and verified by the libraries of receivers. */
static void test_signature(void **state)
{
	static const char id[] = "msg_2aPostern0000000000000001";
	static const char body[] =
		"{\"type\":\"email.sent\",\"created_at\":\"2026-11-23T00:00:00.000Z\",\"data\":{"
		"\"email_id\":\"11111111-2222-4333-8444-555555555555\"}}";
	static const char fresh[] = "v1,Vxmy9owWc+gS5b8H7pG/gg9X/KTdeT1H5OMhhUO9/ZE=";
	static const char old[] = "v1,t94ry41HgU9lokO8PnRu6GRNYqlNHNJi4zh5kufktNU=";
	const int64_t now_us = INT64_C(1795392000) * SECOND_US;
	static const struct {
		int64_t rotated_ago_s; /* 0: never */
		bool both;
	} cases[] = {{0, false}, {1, true}, {WEBHOOK_ROTATED_S - 1, true},
		{WEBHOOK_ROTATED_S, false}, {30 * WEBHOOK_ROTATED_S, false}};
	struct webhook webhook = {0};

	(void)state;
	memcpy(webhook.secret, "0123456789abcdefghijklmn", WEBHOOK_SECRET_LEN);
	memcpy(webhook.old_secret, "ZYXWVUTSRQPONMLKJIHGFEDC", WEBHOOK_SECRET_LEN);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf signature = BUF_INIT;
		_cleanup_free_ char *both = mem_printf("%s %s", fresh, old);
		int64_t ago_us = cases[i].rotated_ago_s * SECOND_US;

		webhook.rotated_us = ago_us ? now_us - ago_us : 0;
		signature_standard(&webhook, id, body, strlen(body), now_us, &signature);
		assert_string_equal(buf_str(&signature), cases[i].both ? both : fresh);
	}
}

static void test_targets(void **state)
{
	static const struct {
		const char *address;
		bool public, allowed; /* by "10.1.0.0/16 fd00::/8" */
	} cases[] = {
		{"8.8.8.8", true, true},
		{"172.15.255.255", true, true},
		{"172.32.0.1", true, true},
		{"2606:4700::1111", true, true},
		{"0.0.0.0", false, false},
		{"10.0.0.1", false, false},
		{"10.1.2.3", false, true},
		{"100.64.0.1", false, false},
		{"127.0.0.1", false, false},
		{"127.255.255.254", false, false},
		{"169.254.169.254", false, false},
		{"172.16.0.1", false, false},
		{"172.31.255.255", false, false},
		{"192.0.0.170", false, false},
		{"192.168.1.1", false, false},
		{"198.18.0.1", false, false},
		{"224.0.0.1", false, false},
		{"255.255.255.255", false, false},
		{"::", false, false},
		{"::1", false, false},
		{"::ffff:127.0.0.1", false, false},
		{"::ffff:10.1.2.3", false, true},
		{"::ffff:8.8.8.8", true, true},
		{"::127.0.0.1", false, false},
		{"64:ff9b::7f00:1", false, false},
		{"64:ff9b:1::1", false, false},
		{"2001:0:1::1", false, false}, /* Teredo */
		{"2001:db8::1", false, false},
		{"2002:7f00:1::1", false, false}, /* 6to4 of 127.0.0.1 */
		{"fd00::1", false, true},
		{"fc00::1", false, false},
		{"fe80::1", false, false},
		{"fec0::1", false, false},
		{"ff02::1", false, false},
	};
	struct target_rules strict, open;

	(void)state;
	assert_int_equal(target_rules_init(&strict, "", NULL), 0);
	assert_int_equal(target_rules_init(&open, "10.1.0.0/16 fd00::/8", NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sockaddr_in6 six = {.sin6_family = AF_INET6};
		struct sockaddr_in four = {.sin_family = AF_INET};
		bool is_six = strchr(cases[i].address, ':') != NULL;
		const struct sockaddr *address = is_six ? (const struct sockaddr *)&six
							: (const struct sockaddr *)&four;

		assert_int_equal(inet_pton(is_six ? AF_INET6 : AF_INET, cases[i].address,
					 is_six ? (void *)&six.sin6_addr : (void *)&four.sin_addr),
			1);
		print_message("%s\n", cases[i].address);
		assert_int_equal(target_is_allowed(&strict, address), cases[i].public);
		assert_int_equal(target_is_allowed(&open, address), cases[i].allowed);
	}
	assert_false(target_is_allowed(&open, &(const struct sockaddr){.sa_family = AF_UNIX}));
	target_rules_clear(&strict);
	target_rules_clear(&open);
}

static const char *text_at(const json_t *object, const char *name, const char *member)
{
	return json_string_value(json_object_get(json_object_get(object, name), member));
}

static struct email_event event_of(enum event_kind kind, const char *dsn, const char *text)
{
	return (struct email_event){.kind = kind,
		.id = "11111111-2222-4333-8444-555555555555",
		.email_id = "11111111-2222-4333-8444-555555555556",
		.recipient = (char *)"bob@x.test",
		.dsn = (char *)dsn,
		.text = (char *)text,
		.relay = (char *)"mx.x.test[192.0.2.1]:25",
		.occurred_us = SECOND_US,
		.email_us = SECOND_US,
		.is_first = true};
}

static void test_bounce_types(void **state)
{
	static const struct {
		enum event_kind kind;
		const char *dsn;
		const char *type;
		const char *sub_type;
	} cases[] = {
		{EVENT_BOUNCED, "5.1.1", "Permanent", "General"},
		{EVENT_BOUNCED, "5.2.1", "Permanent", "General"},
		{EVENT_BOUNCED, "5.0.0", "Permanent", "General"},
		{EVENT_BOUNCED, "5.4.4", "Permanent", "General"},
		{EVENT_BOUNCED, NULL, "Permanent", "General"},
		{EVENT_BOUNCED, "5.2.2", "Transient", "MailboxFull"},
		{EVENT_BOUNCED, "5.2.20", "Permanent", "General"},
		{EVENT_BOUNCED, "5.2.3", "Transient", "MessageTooLarge"},
		{EVENT_BOUNCED, "5.3.4", "Transient", "MessageTooLarge"},
		{EVENT_BOUNCED, "5.6.1", "Transient", "ContentRejected"},
		{EVENT_BOUNCED, "5.7.1", "Transient", "ContentRejected"},
		{EVENT_BOUNCED, "5.7.26", "Transient", "ContentRejected"},
		{EVENT_EXPIRED, "4.2.2", "Transient", "General"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct email_event event = event_of(cases[i].kind, cases[i].dsn, "550 no");
		json_t *told = event_json_render(&event);
		const json_t *data = json_object_get(told, "data");
		const char *hard = *cases[i].type == 'P' ? "hard" : "soft";
		_cleanup_free_ char *message = mem_printf(
			"mx.x.test returned a %s bounce message: 550 no", hard);

		assert_string_equal(text_at(data, "bounce", "type"), cases[i].type);
		assert_string_equal(text_at(data, "bounce", "subType"), cases[i].sub_type);
		assert_string_equal(text_at(data, "bounce", "message"), message);
		json_decref(told);
	}
}

/* Receivers stop at a member that they do not know, and at one that is missing or null. */
static void test_shapes(void **state)
{
	static const struct {
		enum event_kind kind;
		const char *json; /* the type; NULL: webhooks are not told */
		const char *own;  /* the member that only this type has */
		const char *form;
		bool delivery_status;
	} cases[] = {
		{EVENT_ACCEPTED, "email.sent", NULL, "accepted", true},
		{EVENT_DEFERRED, "email.delivery_delayed", NULL, "temporary_fail", true},
		{EVENT_HANDED_ON, NULL, NULL, NULL, false},
		{EVENT_DELIVERED, "email.delivered", NULL, "delivered", true},
		{EVENT_BOUNCED, "email.bounced", "bounce", "permanent_fail", true},
		{EVENT_EXPIRED, "email.bounced", "bounce", "permanent_fail", true},
		{EVENT_DISCARDED, "email.failed", "failed", "permanent_fail", true},
		{EVENT_REMOVED, "email.failed", "failed", "permanent_fail", true},
		{EVENT_LOST, NULL, NULL, NULL, false},
		{EVENT_COMPLAINED, "email.complained", NULL, "complained", false},
		{EVENT_SUPPRESSED, "email.suppressed", "suppressed", "permanent_fail", true},
		{EVENT_CANCELED, NULL, NULL, NULL, false},
		{EVENT_FAILED, "email.failed", "failed", "permanent_fail", true},
		{EVENT_UNSUBSCRIBED, NULL, NULL, "unsubscribed", false},
	};
	static const char *const owned[] = {"bounce", "failed", "suppressed"};
	static const char *const always[] = {
		"email_id", "created_at", "message_id", "from", "subject"};

	(void)state;
	assert_int_equal(ARRAY_SIZE(cases), EVENT_KINDS);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct email_event event = event_of(cases[i].kind, NULL, "why");
		const char *type = event_json_type(&event), *name = event_form_type(&event);
		json_t *told, *data;

		print_message("%s\n", event_kind_name(cases[i].kind));
		if (cases[i].json == NULL)
			assert_null(type);
		if (cases[i].form == NULL)
			assert_null(name);
		if (cases[i].json) {
			assert_string_equal(type, cases[i].json);
			told = event_json_render(&event);
			data = json_object_get(told, "data");
			assert_int_equal(json_object_size(told), 3);
			for (size_t k = 0; k < ARRAY_SIZE(always); k++)
				assert_true(json_is_string(json_object_get(data, always[k])));
			assert_true(json_is_array(json_object_get(data, "to")));
			assert_true(json_is_object(json_object_get(data, "tags")));
			for (size_t k = 0; k < ARRAY_SIZE(owned); k++)
				assert_int_equal(json_object_get(data, owned[k]) != NULL,
					cases[i].own && str_eq(owned[k], cases[i].own));
			json_decref(told);
		}
		if (cases[i].form) {
			assert_string_equal(name, cases[i].form);
			told = event_form_render(&event);
			assert_true(json_is_number(json_object_get(told, "timestamp")));
			assert_int_equal(json_object_get(told, "delivery-status") != NULL,
				cases[i].delivery_status);
			assert_int_equal(json_object_get(told, "severity") != NULL,
				strstr(cases[i].form, "_fail") != NULL);
			json_decref(told);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signature),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_bounce_types),
		cmocka_unit_test(test_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
