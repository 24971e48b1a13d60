/* email_json: what clients send, read or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "httpd/json/email_json.h"

enum { MAX_RECIPIENTS = 50 };

#define BASE "\"from\":\"a@example.com\",\"to\":\"b@dst.test\""
#define FULL BASE ",\"text\":\"hi\""

#define TAG "{\"name\":\"a\",\"value\":\"b\"}"

static const struct {
	const char *body;
	int status;
	const char *text; /* part of the problem's text */
} refused[] = {
	/* what is no JSON object */
	{"", 400, "empty"},
	{"{", 400, "line 1, column 1"},
	{"{\n \"from\": tru }", 400, "line 2"},
	{"{" FULL ",\"to\":\"c@dst.test\"}", 400, "duplicate"},
	{"{" FULL "} x", 400, "line 1"},
	{"{\"from\":\"\xff\"}", 400, "unable to decode byte"},
	{"{\"from\":\"\xed\xa0\x80\"}", 400, "unable to decode byte"},
	{"[]", 422, "`request.body` field must be an `object`"},
	{"\"text\"", 422, "`request.body`"},
	/* missing */
	{"{}", 422, "Missing `from` field."},
	{"{\"from\":\"\",\"to\":\"b@dst.test\",\"text\":\"x\"}", 422, "Missing `from` field."},
	{"{\"from\":\"a@example.com\",\"text\":\"x\"}", 422, "Missing `to` field."},
	{"{\"from\":\"a@example.com\",\"to\":[],\"text\":\"x\"}", 422, "Missing `to` field."},
	{"{\"from\":\"a@example.com\",\"to\":null,\"text\":\"x\"}", 422, "Missing `to` field."},
	{"{" BASE "}", 422, "Missing `html` or `text` field."},
	{"{" BASE ", \"template\": {\"id\": \"x\"}}", 422,
		"The `template` field is not supported."},
	{"{" BASE ",\"html\":\"\",\"text\":\"\"}", 422, "Missing `html` or `text` field."},
	{"{" BASE ",\"html\":null,\"text\":null}", 422, "Missing `html` or `text` field."},
	/* types */
	{"{\"from\":[\"a@example.com\"],\"to\":\"b@dst.test\",\"text\":\"x\"}", 422,
		"`from` field must be a string"},
	{"{\"from\":\"a@example.com\",\"to\":5,\"text\":\"x\"}", 422,
		"`to` field must be a string or an array of strings"},
	{"{\"from\":\"a@example.com\",\"to\":18446744073709551616,\"text\":\"x\"}", 422,
		"`to` field must be a string or an array of strings"},
	{"{" FULL ",\"attachments\":[{\"filename\":\"a\",\"content\":[1,18446744073709551616]}]}",
		422, "`attachments[0].content`"},
	{"{" FULL ",\"x\":18446744073709551616,\"x\":1}", 400, "duplicate"},
	{"{\"from\":\"a@example.com\",\"to\":[\"b@dst.test\",5],"
	 "\"text\":\"x\"}",
		422, "`to[1]` field must be a string"},
	{"{" FULL ",\"cc\":{\"a\":1}}", 422, "`cc` field"},
	{"{" FULL ",\"subject\":5}", 422, "`subject` field must be a string"},
	{"{" BASE ",\"html\":5}", 422, "`html` field must be a string"},
	{"{" BASE ",\"text\":[\"x\"]}", 422, "`text` field must be a string"},
	{"{" FULL ",\"headers\":\"x\"}", 422, "`headers` field"},
	{"{" FULL ",\"headers\":{\"X-A\":5}}", 422, "`headers.X-A`"},
	{"{" FULL ",\"attachments\":{\"a\":1}}", 422, "`attachments` field"},
	{"{" FULL ",\"attachments\":[5]}", 422, "`attachments[0]` field"},
	/* control characters */
	{"{" FULL ",\"subject\":\"a\\nb\"}", 422, "`subject`"},
	{"{" FULL ",\"subject\":\"a\\rb\"}", 422, "`subject`"},
	{"{" FULL ",\"subject\":\"a\\u0000b\"}", 422, "`subject`"},
	{"{" BASE ",\"text\":\"a\\u0000b\"}", 422, "`text`"},
	{"{" FULL ",\"headers\":{\"X-A\":\"a\\r\\nBcc: x@y.z\"}}", 422, "`headers.X-A`"},
	{"{" FULL ",\"headers\":{\"X-A\":\"a\\r\\n\\r\\n b\"}}", 422, "`headers.X-A`"},
	{"{" FULL ",\"headers\":{\"X A\":\"a\"}}", 422, "`headers.X A`"},
	{"{" FULL ",\"headers\":{\"X-\xc3\xa4\":\"a\"}}", 422, "header name"},
	{"{" FULL ",\"headers\":{\"\":\"a\"}}", 422, "header name"},
	{"{" FULL ",\"headers\":{\"a:b\":\"a\"}}", 422, "header name"},
	{"{\"from\":\"a@example.com\\nBcc: x@y.z\",\"to\":\"b@dst.test\","
	 "\"text\":\"x\"}",
		422, "`from`"},
	/* addresses */
	{"{\"from\":\"nobody\",\"to\":\"b@dst.test\",\"text\":\"x\"}", 422,
		"Invalid `from` field. The email address needs to follow the `email@example.com` "
		"or `Name <email@example.com>` format."},
	{"{\"from\":\"a@example.com\",\"to\":[\"b@dst.test\",\"b@\"],"
	 "\"text\":\"x\"}",
		422, "(\"b@\": "},
	{"{" FULL ",\"bcc\":\"a@b.c, d@e.f\"}", 422, "Invalid `bcc` field."},
	{"{" FULL ",\"reply_to\":\"<>\"}", 422, "Invalid `reply_to` field."},
	{"{" FULL ",\"cc\":[\"\"]}", 422, "Invalid `cc` field."},
	/* attachments */
	{"{" FULL ",\"attachments\":[{\"filename\":\"a\"}]}", 422,
		"Attachment must have either a `content` or `path`."},
	{"{" FULL ",\"attachments\":[{\"filename\":\"a\",\"content\":null}]}", 422,
		"Attachment must have either"},
	{"{" FULL ",\"attachments\":[{\"content\":\"YQ==\"}]}", 422,
		"must have a `filename`. (`attachments[0]`)"},
	{"{" FULL ",\"attachments\":[{\"filename\":\"a\",\"path\":"
	 "\"http://x/\"}]}",
		422, "`attachments[0].path`"},
	{"{" FULL ",\"attachments\":[{\"filename\":\"a\",\"content\":\"YQ\"},"
	 "{\"filename\":\"a\",\"content\":\"Y!==\"}]}",
		422, "`attachments[1].content` field is not valid base64"},
	{"{" FULL ",\"attachments\":[{\"filename\":\"a\",\"content\":5}]}", 422,
		"`attachments[0].content`"},
	{"{" FULL ",\"attachments\":[{\"filename\":\"a\",\"content\":[256]}]}", 422,
		"`attachments[0].content`"},
	{"{" FULL ",\"attachments\":[{\"filename\":\"a\",\"content\":[-1]}]}", 422,
		"`attachments[0].content`"},
	{"{" FULL ",\"attachments\":[{\"filename\":\"a\",\"content\":[1.5]}]}", 422,
		"`attachments[0].content`"},
	{"{" FULL ",\"attachments\":[{\"filename\":\"a\",\"content\":"
	 "{\"type\":\"Buffer\"}}]}",
		422, "`attachments[0].content`"},
	{"{" FULL ",\"attachments\":[{\"filename\":\"a\\nb\",\"content\":"
	 "\"YQ==\"}]}",
		422, "`attachments[0].filename`"},
	/* tags */
	{"{" FULL ",\"tags\":{\"a\":1}}", 422, "`tags` field must be an array"},
	{"{" FULL ",\"tags\":[5]}", 422, "`tags[0]` field must be an object"},
	{"{" FULL ",\"tags\":[" TAG ",{\"value\":\"x\"}]}", 422, "Missing `tags[1].name` field."},
	{"{" FULL ",\"tags\":[{\"name\":\"x\"}]}", 422, "Missing `tags[0].value` field."},
	{"{" FULL ",\"tags\":[{\"name\":\"\",\"value\":\"x\"}]}", 422,
		"Missing `tags[0].name` field."},
	{"{" FULL ",\"tags\":[" TAG "," TAG ",{\"name\":5,\"value\":\"x\"}]}", 422,
		"`tags[2].name` field must be a string"},
	{"{" FULL ",\"tags\":[{\"name\":\"x\",\"value\":\"a b\"}]}", 422,
		"`tags[0].value` field must contain only ASCII letters"},
	{"{" FULL ",\"tags\":[{\"name\":\"\u00e4\",\"value\":\"x\"}]}", 422, "`tags[0].name`"},
	{"{" FULL ",\"tags\":[{\"name\":\"x\",\"value\":\"a\\u0000b\"}]}", 422, "`tags[0].value`"},
	/* not supported, never swallowed */
	{"{" FULL ",\"scheduled_at\":\"tomorrow\"}", 422,
		"`scheduled_at` field must be a time such as"},
	{"{" FULL ",\"scheduled_at\":\"in 31 days\"}", 422, "not be more than 30 days ahead"},
	{"{" FULL ",\"template\":{\"id\":\"x\"}}", 422, "`template`"},
	{"{" FULL ",\"topic_id\":\"x\"}", 422, "`topic_id`"},
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		_cleanup_draft_ struct draft draft = {0};
		struct problem problem = PROBLEM_INIT;
		int result = email_json_parse(
			refused[i].body, strlen(refused[i].body), MAX_RECIPIENTS, &draft, &problem);

		if (result == 0)
			fail_msg("taken: %s", refused[i].body);
		if (problem_status(&problem) != refused[i].status ||
			strstr(problem.text, refused[i].text) == NULL)
			fail_msg("%s: %d %s", refused[i].body, problem_status(&problem),
				problem.text);
	}
}

static void parse(const char *body, struct draft *draft)
{
	struct problem problem = PROBLEM_INIT;

	if (email_json_parse(body, strlen(body), MAX_RECIPIENTS, draft, &problem) < 0)
		fail_msg("%s: %s", body, problem.text);
}

static const struct {
	const char *body;
	const char *tags; /* NULL: none */
} tagged[] = {
	{"{" FULL "}", NULL},
	{"{" FULL ",\"tags\":null}", NULL},
	{"{" FULL ",\"tags\":[]}", NULL},
	{"{" FULL ",\"tags\":[{\"x\":1,\"value\":\"9-_zA\",\"name\":\"N\"}]}",
		"[{\"name\":\"N\",\"value\":\"9-_zA\"}]"},
	{"{" FULL ",\"tags\":[" TAG "," TAG "]}", "[" TAG "," TAG "]"},
};

static void test_tags(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tagged); i++) {
		_cleanup_draft_ struct draft draft = {0};

		parse(tagged[i].body, &draft);
		if (tagged[i].tags == NULL)
			assert_null(draft.tags);
		else
			assert_string_equal(draft.tags, tagged[i].tags);
	}
}

/* An email with n tags whose values have len characters. */
static int parse_tags(size_t n, size_t len, struct problem *problem)
{
	_cleanup_draft_ struct draft draft = {0};
	_cleanup_buf_ struct buf body = BUF_INIT;

	buf_add_str(&body, "{" FULL ",\"tags\":[");
	for (size_t i = 0; i < n; i++) {
		buf_add_str(&body, i ? "," : "");
		buf_add_str(&body, "{\"name\":\"a\",\"value\":\"");
		for (size_t k = 0; k < len; k++)
			buf_add_char(&body, 'x');
		buf_add_str(&body, "\"}");
	}
	buf_add_str(&body, "]}");
	return email_json_parse(body.data, body.len, MAX_RECIPIENTS, &draft, problem);
}

static void test_tag_limits(void **state)
{
	struct problem problem = PROBLEM_INIT;

	(void)state;
	assert_int_equal(parse_tags(75, 256, &problem), 0);
	assert_int_equal(parse_tags(76, 1, &problem), -1);
	assert_non_null(strstr(problem.text, "`tags` field: the limit is 75"));
	assert_int_equal(parse_tags(1, 257, &problem), -1);
	assert_non_null(strstr(problem.text, "`tags[0].value`"));
	assert_int_equal(problem_status(&problem), 422);
}

static void assert_addr(const struct addr *addr, const char *expected)
{
	_cleanup_free_ char *text = addr_format(addr);

	assert_string_equal(text, expected);
}

static void test_every_field(void **state)
{
	_cleanup_draft_ struct draft draft = {0};
	const struct mime_message *message = &draft.message;

	(void)state;
	parse("{\"from\":\"Ann \xc3\x84 <a@example.com>\","
	      "\"to\":[\"b@dst.test\",\"Bob <c@dst.test>\"],"
	      "\"cc\":\"d@dst.test\",\"bcc\":[\"e@dst.test\"],"
	      "\"reply_to\":[\"f@dst.test\",\"Gil <g@dst.test>\"],"
	      "\"subject\":\"S \\u2713\",\"html\":\"<p>h</p>\","
	      "\"text\":\"line\\nline\","
	      "\"headers\":{\"X-A\":\"1\\r\\n 2\\n\\t3\",\"subject\":\"ignored\","
	      "\"X-Postern-Ticket\":\"ignored\",\"BCC\":5},"
	      "\"attachments\":[{\"filename\":\"a.txt\",\"content\":\"YWJj\","
	      "\"content_type\":\"text/plain\",\"content_id\":\"i\"}],"
	      "\"unknown\":{\"a\":[1]}}",
		&draft);
	assert_addr(&message->from, "Ann \xc3\x84 <a@example.com>");
	assert_int_equal(message->to.n, 2);
	assert_addr(&message->to.items[1], "Bob <c@dst.test>");
	assert_int_equal(message->cc.n, 1);
	assert_int_equal(draft.bcc.n, 1);
	assert_addr(&draft.bcc.items[0], "e@dst.test");
	assert_int_equal(message->reply_to.n, 2);
	assert_string_equal(message->subject, "S \xe2\x9c\x93");
	assert_string_equal(message->html, "<p>h</p>");
	assert_string_equal(message->text, "line\nline");
	assert_int_equal(message->headers.n, 1);
	assert_string_equal(message->headers.items[0].name, "X-A");
	assert_string_equal(message->headers.items[0].value, "1 2\t3");
	assert_int_equal(message->attachments.n, 1);
	assert_string_equal(message->attachments.items[0].content_id, "i");
	assert_string_equal(buf_str(&message->attachments.items[0].content), "abc");
}

static void test_not_given(void **state)
{
	static const char *const empty[] = {"null", "\"\"", "[]", "{}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(empty); i++) {
		_cleanup_draft_ struct draft draft = {0};
		const char *e = empty[i];
		_cleanup_free_ char *body = mem_printf("{" FULL
						       ",\"cc\":%s,\"bcc\":%s,\"reply_to\":%s,"
						       "\"subject\":%s,\"html\":%s,\"headers\":%s,"
						       "\"attachments\":%s,\"scheduled_at\":%s}",
			e, e, e, e, e, e, e, e);

		parse(body, &draft);
		assert_int_equal(draft.message.cc.n, 0);
		assert_int_equal(draft.bcc.n, 0);
		assert_int_equal(draft.message.reply_to.n, 0);
		assert_null(draft.message.subject);
		assert_null(draft.message.html);
		assert_int_equal(draft.message.headers.n, 0);
		assert_int_equal(draft.message.attachments.n, 0);
	}
}

static void test_attachment_forms(void **state)
{
	static const char *const forms[] = {
		"\"AP8KDQ==\"",
		"\"AP8KDQ\"",
		"\"AP8\\r\\nKDQ==\\n\"",
		"[0,255,10,13]",
		"{\"type\":\"Buffer\",\"data\":[0,255,10,13]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		_cleanup_draft_ struct draft draft = {0};
		_cleanup_free_ char *body = mem_printf(
			"{" FULL
			",\"attachments\":[{\"filename\":\"a\","
			"\"contentType\":\"x/y\",\"inline_content_id\":\"<i>\","
			"\"content\":%s}]}",
			forms[i]);
		const struct attachment *attachment;

		parse(body, &draft);
		attachment = &draft.message.attachments.items[0];
		assert_int_equal(attachment->content.len, 4);
		assert_memory_equal(attachment->content.data, "\0\xff\n\r", 4);
		assert_string_equal(attachment->content_type, "x/y");
		assert_string_equal(attachment->content_id, "i");
	}
}

static void test_empty_attachment(void **state)
{
	_cleanup_draft_ struct draft draft = {0};

	(void)state;
	parse("{" FULL
	      ",\"attachments\":["
	      "{\"filename\":\"a\",\"content\":\"\"},"
	      "{\"filename\":\"b\",\"content\":[]}]}",
		&draft);
	assert_int_equal(draft.message.attachments.n, 2);
	assert_int_equal(draft.message.attachments.items[1].content.len, 0);
}

/* The body of an email with so many recipients in to, cc and bcc. */
static char *many(int to, int cc, int bcc)
{
	struct buf body = BUF_INIT;
	const struct {
		const char *name;
		int n;
	} lists[] = {{"to", to}, {"cc", cc}, {"bcc", bcc}};

	buf_add_str(&body, "{\"from\":\"a@example.com\",\"text\":\"x\"");
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		buf_printf(&body, ",\"%s\":[", lists[i].name);
		for (int k = 0; k < lists[i].n; k++)
			buf_printf(&body, "%s\"%s%d@dst.test\"", k ? "," : "", lists[i].name, k);
		buf_add_str(&body, "]");
	}
	buf_add_str(&body, "}");
	return buf_take(&body);
}

static const struct {
	int to, cc, bcc;
	int64_t max;
	const char *text; /* of the problem; NULL: taken */
} counts[] = {
	{1, 0, 0, 50, NULL},
	{50, 0, 0, 50, NULL},
	{51, 0, 0, 50, "`to` field: the limit is 50"},
	{51, 0, 0, 100, "`to` field: the limit is 50"},
	{48, 1, 1, 50, NULL},
	{48, 2, 1, 50, "`to`, `cc` and `bcc`: the limit is 50"},
	{1, 49, 1, 50, "`to`, `cc` and `bcc`"},
	{50, 25, 25, 100, NULL},
	{2, 0, 0, 1, "limit is 1."},
};

static void test_recipient_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		_cleanup_draft_ struct draft draft = {0};
		_cleanup_free_ char *body = many(counts[i].to, counts[i].cc, counts[i].bcc);
		struct problem problem = PROBLEM_INIT;
		int result = email_json_parse(body, strlen(body), counts[i].max, &draft, &problem);

		assert_int_equal(result, counts[i].text ? -1 : 0);
		if (counts[i].text)
			assert_non_null(strstr(problem.text, counts[i].text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_tag_limits),
		cmocka_unit_test(test_every_field),
		cmocka_unit_test(test_not_given),
		cmocka_unit_test(test_attachment_forms),
		cmocka_unit_test(test_empty_attachment),
		cmocka_unit_test(test_recipient_limits),
	};

	return cmocka_run_group_tests_name("email_json", tests, NULL, NULL);
}
