/* form_email, form_options, form_variables: from a form to the emails that are
 * sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "httpd/form/form_email.h"
#include "httpd/form/form_options.h"
#include "httpd/form/form_variables.h"

#define NOW_US INT64_C(1000000000000000) /* 2001 */

enum { RECIPIENTS = 6 };

/* What became of a form. */
struct result {
	int status; /* 0: taken */
	struct problem problem;
	struct draft base;
	struct form_variables *variables;
	struct draft made[RECIPIENTS]; /* of base and the variables */
	struct draft *emails;          /* those, or base */
	size_t n;
};

static const struct form_email_rules rules = {
	.domain = "example.com", .recipients = RECIPIENTS, .now_us = NOW_US};

static int make_all(struct result *result)
{
	const struct send_personal *personal = &result->variables->personal;

	result->emails = result->made;
	result->n = result->base.message.to.n;
	for (size_t i = 0; i < result->n; i++) {
		uint64_t most = personal->size(personal, &result->base, i);

		if (personal->make(personal, &result->base, i, &result->made[i], &result->problem) <
			0)
			return -1;
		assert_true(strlen(result->made[i].message.text) <= most);
	}
	return 0;
}

static void parse(const char *body, struct result *result)
{
	_cleanup_form_ struct form form = FORM_INIT;
	struct draft *email = &result->base;
	struct problem *problem = &result->problem;

	*result = (struct result){.problem = PROBLEM_INIT, .n = 1};
	result->emails = email;
	assert_int_equal(form_parse_urlencoded(body, strlen(body), &form, NULL), 0);
	if (form_email_parse(&form, &rules, email, problem) < 0 ||
		form_variables_read(&form, &result->variables, problem) < 0 ||
		(result->variables ? make_all(result) : form_variables_none(email, problem)) < 0)
		result->status = problem_status(problem);
}

static void clear(struct result *result)
{
	for (size_t i = 0; result->variables && i < result->n; i++)
		result->variables->personal.clear(&result->made[i]);
	form_variables_free(result->variables);
	draft_clear(&result->base);
}

#define BASE       "from=a@example.com&to=b@dst.test&"
#define FULL       BASE "text=x&"
#define NO_ADDRESS " parameter is not a valid address. please check documentation"
#define NO_BODY    "Need at least one of 'text' or 'html' parameters specified"

static const struct {
	const char *body;
	const char *text; /* of the problem */
} refused[] = {
	{"", "from parameter is missing"},
	{"from=&to=b@dst.test&text=x", "from parameter is missing"},
	{"from=a@example.com&text=x", "to parameter is missing"},
	{"from=a@example.com&to=+&text=x", "to parameter is missing"},
	{"from=a@example.com&to=,&text=x", "to parameter is missing"},
	{"from=nobody&to=b@dst.test&text=x", "from" NO_ADDRESS},
	{"from=a@example.com&to=b&text=x", "to" NO_ADDRESS},
	{"from=a@example.com&to=b@dst.test,c&text=x", "to" NO_ADDRESS},
	{FULL "cc=c", "cc" NO_ADDRESS},
	{FULL "bcc=c@", "bcc" NO_ADDRESS},
	{"from=a@example.org&to=b@dst.test&text=x",
		"from domain example.org does not match the sending domain example.com"},
	{FULL "to=c@d.test,d@d.test,e@d.test,f@d.test,g@d.test,h@d.test",
		"Too many recipients, max is 6"},
	{FULL "cc=c@d.test,d@d.test&bcc=e@d.test,f@d.test,g@d.test,h@d.test",
		"Too many recipients, max is 6"},
	{BASE, NO_BODY},
	{BASE "text=&html=", NO_BODY},
	{FULL "subject=a%0D%0ABcc:+x", "subject parameter contains line"},
	{BASE "text=a%00b", "text parameter contains a NUL"},
	{BASE "text=%ff", "text parameter is not valid UTF-8"},
	{FULL "h:X-A=a%0Ab", "h:X-A contains line breaks"},
	{FULL "h:X-A=a%0D%0A%0D%0A+b", "h:X-A contains line breaks"},
	{FULL "h:X-%C3%84=a", "Header name must be pure ASCII: X-\xc3\x84"},
	{FULL "h:X+A=a", "h:X A is not a valid header name"},
	{FULL "h:=a", "h: is not a valid header name"},
	{FULL "h:Reply-To=nobody", "h:Reply-To" NO_ADDRESS},
	{FULL "h:Message-Id=nothing", "h:Message-Id"},
	{FULL "h:Message-Id=%3Ca@b%3E+%3Cc@d%3E", "h:Message-Id"},
	{FULL "h:X-Mailgun-Variables=x", "h:X-Mailgun-Variables"},
	{FULL "o:deliverytime=2000000000", "o:deliverytime"},
	{FULL "o:deliverytime=soon", "o:deliverytime"},
	{FULL "o:deliverytime=Fri,+14+Oct+2044+23:10:10+-0000", "o:deliverytime"},
	{FULL "o:require-tls=yes", "o:require-tls"},
	{FULL "o:require-tls=True", "o:require-tls"},
	{FULL "o:time-zone-localize=10:00", "o:time-zone-localize"},
	{FULL "template=x", "template parameter is not supported yet"},
	{FULL "t:version=x", "t:version parameter is not supported yet"},
	{FULL "recipient-variables=x", "'recipient-variables' parameter is not a valid JSON"},
	{FULL "recipient-variables=[]", "'recipient-variables' parameter is not a valid JSON"},
	{FULL "h:X-A=%25recipient.x%25&recipient-variables="
	      "{\"b@dst.test\":{\"x\":\"a\\nBcc: x@y.z\"}}",
		"h:X-A contains line breaks"},
	{FULL "subject=%25recipient.x%25&recipient-variables="
	      "{\"b@dst.test\":{\"x\":\"a\\r\\nBcc: x@y.z\"}}",
		"subject parameter contains line breaks"},
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct result result;

		parse(refused[i].body, &result);
		if (result.status != 400 || !str_starts(result.problem.text, refused[i].text))
			fail_msg("%s: %d %s", refused[i].body, result.status, result.problem.text);
		clear(&result);
	}
}

static void assert_list(const struct addr_list *list, const char *expected)
{
	_cleanup_strv_ struct strv texts = STRV_INIT;
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < list->n; i++)
		strv_take(&texts, addr_format(&list->items[i]));
	text = strv_join(&texts, "|");
	assert_string_equal(text, expected);
}

static void test_people(void **state)
{
	struct result result;

	(void)state;
	parse("from=Ann+%3CA@Example.COM%3E&to=b@dst.test,+Bob+"
	      "%3Cc@dst.test%3E,&to[]=d@dst.test&to[3]=B@dst.test,b@dst.test"
	      "&cc=e@dst.test&bcc=%22Doe,+J%22+%3Cf@dst.test%3E&text=x",
		&result);
	assert_int_equal(result.status, 0);
	assert_int_equal(result.n, 1);
	assert_list(
		&result.emails[0].message.to, "b@dst.test|Bob <c@dst.test>|d@dst.test|B@dst.test");
	assert_list(&result.emails[0].message.cc, "e@dst.test");
	assert_int_equal(result.emails[0].bcc.n, 1);
	assert_string_equal(result.emails[0].message.from.domain, "example.com");
	clear(&result);
}

static const char *header(const struct draft *email, const char *name)
{
	for (size_t i = 0; i < email->message.headers.n; i++)
		if (str_eq(email->message.headers.items[i].name, name))
			return email->message.headers.items[i].value;
	return NULL;
}

static void test_options(void **state)
{
	struct result result;
	const struct draft *email;

	(void)state;
	parse(FULL
		"h:X-A=1%0D%0A+2%0A%09%0D%0A+3&h:Reply-To=r%0D%0A+%3Cr@x.test%3E&h:Message-Id=id@x.test&"
		"h:Content-Type=x&h:Bcc=x&h:Received=x&h:Sender=s@x.test&"
		"h:From=x&o:tag=one&o:tag=two&o:testmode=Yes&o:dkim=yes&"
		"o:require-tls=no&o:deliverytime=999999999&"
		"o:deliverytime=Fri,+14+Oct+2000+23:10:10+-0000&"
		"o:deliverytime=&o:time-zone-localize=&template=&t:version=&"
		"v:k=1&h:X-Mailgun-Variables={\"j\":[2]}&unknown=x",
		&result);
	assert_int_equal(result.status, 0);
	email = &result.emails[0];
	assert_string_equal(header(email, "X-A"), "1 2\t 3");
	assert_string_equal(header(email, "Sender"), "s@x.test");
	assert_int_equal(email->message.headers.n, 2);
	assert_list(&email->message.reply_to, "r <r@x.test>");
	assert_string_equal(email->message.message_id, "<id@x.test>");
	assert_true(email->test);
	assert_string_equal(email->tags,
		"[{\"name\":\"tag\",\"value\":\"one\"},"
		"{\"name\":\"tag\",\"value\":\"two\"}]");
	assert_string_equal(email->variables, "{\"k\":\"1\",\"j\":[2]}");
	clear(&result);
}

static void test_options_limit(void **state)
{
	static const char start[] = FULL "v:a=";
	struct buf body = BUF_INIT;
	struct result result;

	(void)state;
	buf_add_str(&body, start);
	for (int i = 0; i < FORM_OPTIONS_MAX - 3; i++)
		buf_add_char(&body, 'x');
	parse(body.data, &result);
	assert_int_equal(result.status, 0);
	clear(&result);
	buf_add_char(&body, 'x');
	parse(body.data, &result);
	assert_int_equal(result.status, 400);
	assert_string_equal(result.problem.text,
		"Send options (parameters starting with o:, h:, or v:) are limited to 16 kB total");
	clear(&result);
	buf_free(&body);
}

static void test_variables(void **state)
{
	struct result result;

	(void)state;
	parse("from=a@example.com&to=b@dst.test&to=Cy+%3Cc@dst.test%3E&"
	      "cc=d@dst.test&subject=Hi+%25recipient.name%25&"
	      "text=%25recipient%25+%25recipient.none%25+100%25&"
	      "html=%25recipient.n%25&h:X-U=/%25recipient.n%25&"
	      "h:Message-Id=%3C%25recipient.n%25@x.test%3E&"
	      "recipient-variables={\"B@dst.test\":{\"name\":\"Bee\","
	      "\"n\":1},\"c@dst.test\":{\"name\":\"%25recipient.n%25\","
	      "\"n\":true}}",
		&result);
	assert_int_equal(result.status, 0);
	assert_int_equal(result.n, 2);
	assert_list(&result.emails[0].message.to, "b@dst.test");
	assert_list(&result.emails[1].message.to, "Cy <c@dst.test>");
	assert_list(&result.emails[1].message.cc, "d@dst.test");
	assert_string_equal(result.emails[0].message.subject, "Hi Bee");
	assert_string_equal(result.emails[1].message.subject, "Hi %recipient.n%");
	assert_string_equal(result.emails[0].message.text, "b@dst.test %recipient.none% 100%");
	assert_string_equal(result.emails[0].message.html, "1");
	assert_string_equal(header(&result.emails[1], "X-U"), "/true");
	assert_string_equal(result.emails[0].message.message_id, "<1@x.test>");
	clear(&result);
}

static const struct {
	const char *value;
	const char *expected; /* NULL: no such field */
} unsubscribes[] = {
	{"%3Chttps://x.test/u%3E", "<https://x.test/u>"},
	{"%3C%25unsubscribe_url%25%3E", NULL},
	{"%3Cmailto:%25tag_unsubscribe_email%25%3E,+%3Chttps://x.test/u%3E", "<https://x.test/u>"},
	{"%3Chttps://x.test/u%3E,%3C%25unsubscribe_url%25%3E", "<https://x.test/u>"},
};

static void test_macros(void **state)
{
	struct result result;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(unsubscribes); i++) {
		_cleanup_free_ char *body = mem_printf(
			FULL "h:List-Unsubscribe=%s", unsubscribes[i].value);
		const char *value;

		parse(body, &result);
		assert_int_equal(result.status, 0);
		value = header(&result.emails[0], "List-Unsubscribe");
		if (unsubscribes[i].expected)
			assert_string_equal(value, unsubscribes[i].expected);
		else
			assert_null(value);
		clear(&result);
	}
	parse(BASE "text=a%25mailing_list_unsubscribe_url%25b%25recipient%25", &result);
	assert_string_equal(result.emails[0].message.text, "ab%recipient%");
	clear(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_people),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_options_limit),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_macros),
	};

	return cmocka_run_group_tests_name("form_email", tests, NULL, NULL);
}
