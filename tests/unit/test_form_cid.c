/* form_cid: which files get another content id, and what becomes of the html. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/compose/mime_message.h"
#include "httpd/form/form_email.h"

/* The inline files of each case, and the ids that they get. */
static const char *const names[] = {
	"a.png", "grün.png", "a b.png", "50%.png", "(1) ü.png", "<x>.png", "a%20c"};
static const char *const ids[] = {"a.png", "1.gr__n.png@inline", "2.a_b.png@inline",
	"3.50_.png@inline", "4._1____.png@inline", "5._x_.png@inline", "6.a_20c@inline"};

static const struct {
	const char *html, *wanted;
} cases[] = {
	{"", ""},
	{"<p>grün.png</p>", "<p>grün.png</p>"},
	{"<img src=\"cid:a.png\">", "<img src=\"cid:a.png\">"},
	{"<img src=\"cid:grün.png\">", "<img src=\"cid:1.gr__n.png@inline\">"},
	{"<img src='cid:grün.png'>", "<img src='cid:1.gr__n.png@inline'>"},
	{"<img src=cid:grün.png>", "<img src=cid:1.gr__n.png@inline>"},
	{"<img src=\"CID:gr%C3%bcn.png\">", "<img src=\"CID:1.gr__n.png@inline\">"},
	{"url(cid:grün.png)", "url(cid:1.gr__n.png@inline)"},
	{"<img src=\"cid:a b.png\">", "<img src=\"cid:2.a_b.png@inline\">"},
	{"<img src=\"cid:a%20b.png\">", "<img src=\"cid:2.a_b.png@inline\">"},
	{"<img src=\"cid:50%.png\">", "<img src=\"cid:3.50_.png@inline\">"},
	{"<img src=\"cid:50%25.png\">", "<img src=\"cid:3.50_.png@inline\">"},
	{"<img src=\"cid:(1) ü.png\">", "<img src=\"cid:4._1____.png@inline\">"},
	{"<img src=\"cid:a%20c\">", "<img src=\"cid:6.a_20c@inline\">"},
	{"<img src=\"cid:grün.png2\">", "<img src=\"cid:grün.png2\">"},
	{"<img src=\"cid:grün", "<img src=\"cid:grün"},
	{"cid:grün.png cid:", "cid:grün.png cid:"},
	{"x cid:grün.png cid:grün.png", "x cid:1.gr__n.png@inline cid:1.gr__n.png@inline"},
	{"\"cid:\"cid:a b.png\"cid:a b.png\"",
		"\"cid:\"cid:2.a_b.png@inline\"cid:2.a_b.png@inline\""},
};

static void add_files(struct mime_message *message)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct attachment *file = mime_message_add_attachment(message);

		file->filename = mem_strdup(names[i]);
		file->content_id = mem_strdup(names[i]);
	}
	mime_message_add_attachment(message)->filename = mem_strdup("ü.pdf");
}

static void test_ids_and_html(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_mime_message_ struct mime_message message = {0};

		add_files(&message);
		message.html = mem_strdup(cases[i].html);
		form_cid_apply(&message);
		assert_string_equal(message.html, cases[i].wanted);
		for (size_t k = 0; k < ARRAY_SIZE(ids); k++)
			assert_string_equal(message.attachments.items[k].content_id, ids[k]);
		assert_null(message.attachments.items[ARRAY_SIZE(ids)].content_id);
	}
}

static void test_without_html_or_files(void **state)
{
	_cleanup_mime_message_ struct mime_message message = {0};

	(void)state;
	form_cid_apply(&message);
	add_files(&message);
	form_cid_apply(&message);
	assert_null(message.html);
	assert_string_equal(message.attachments.items[1].content_id, ids[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_and_html),
		cmocka_unit_test(test_without_html_or_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
