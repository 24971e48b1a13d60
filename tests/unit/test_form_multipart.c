/*
 * Bodies of multipart/form-data, as real clients send them and as nobody
 * should.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "httpd/form/form.h"
#include "tests/unit/form_show.h"

#define TYPE      "multipart/form-data; boundary=b"
#define CD        "Content-Disposition: form-data; "
#define PART      "--b\r\n"
#define END       "\r\n--b--\r\n"
#define MALFORMED "!malformed multipart/form-data request"
#define EARLY     "!unable to parse request: unexpected EOF"

static const struct {
	const char *name;
	const char *type;
	const char *body;
	const char *shown;
} cases[] = {
	{"one field", TYPE, PART CD "name=\"to\"\r\n\r\na@x" END, "to=a@x;"},
	{"two of one name in order", TYPE,
		PART CD "name=\"to\"\r\n\r\na\r\n" PART CD "name=\"to\"\r\n\r\nb" END,
		"to=a;to=b;"},
	{"no field", TYPE, "--b--\r\n", ""},
	{"no line end at the end", TYPE, PART CD "name=\"a\"\r\n\r\n1\r\n--b--", "a=1;"},
	{"preamble and epilogue", TYPE,
		"hello\r\n--bb\r\n" PART CD "name=\"a\"\r\n\r\n1" END "--b\r\nmore\r\n", "a=1;"},
	{"blanks behind delimiters", TYPE, "--b \t\r\n" CD "name=\"a\"\r\n\r\n1\r\n--b-- \t\r\n",
		"a=1;"},
	{"LF only", TYPE, "--b\nContent-Disposition: form-data; name=a\n\n1\n--b--\n", "a=1;"},

	/* Names. */
	{"brackets", TYPE,
		PART CD "name=\"to[]\"\r\n\r\n1\r\n" PART CD "name=\"to[0]\"\r\n\r\n2\r\n" PART CD
			"name=\"a[x][y]\"\r\n\r\n3\r\n" PART CD "name=\"[z]\"\r\n\r\n4\r\n" PART CD
			"name=\"q]\"\r\n\r\n5" END,
		"to=1;to=2;a[x]=3;[z]=4;q]=5;"},
	{"unquoted name", TYPE, PART CD "name=h:X-A \r\n\r\n1" END, "h:X-A=1;"},
	{"name with quotes", TYPE, PART CD "name=\"v:%22a%22\"\r\n\r\n1" END, "v:\"a\"=1;"},
	{"header names in any case and order", TYPE,
		PART "content-TYPE: text/plain\r\nX-Y: z\r\n"
		     "cOnTent-disposition:form-data;name=\"a\"\r\n\r\n1" END,
		"a<text/plain>=1;"},
	{"folded disposition", TYPE,
		PART "Content-Disposition: form-data;\r\n name=\"a\";\r\n"
		     "\tfilename=\"f\"\r\n\r\n1" END,
		"a(f)=1;"},

	/* Contents. */
	{"empty content", TYPE, PART CD "name=\"a\"\r\n\r\n" END, "a=;"},
	{"empty content without its line end", TYPE, PART CD "name=\"a\"\r\n\r\n--b--", "a=;"},
	{"line breaks stay", TYPE, PART CD "name=\"a\"\r\n\r\n\n1\n\r\n\r2\r\r\n" END,
		"a=\\0a1\\0a\\0d\\0a\\0d2\\0d\\0d\\0a;"},
	{"boundary prefix in the content", TYPE,
		PART CD "name=\"a\"\r\n\r\n--bc\r\nx--b\r\n--b-\r\n--b x\r\n"
			"-- b\r\n--b--c" END,
		"a=--bc\\0d\\0ax--b\\0d\\0a--b-\\0d\\0a--b x\\0d\\0a"
		"-- b\\0d\\0a--b--c;"},
	{"From at a line begin", TYPE, PART CD "name=\"a\"\r\n\r\nFrom me\r\n>From you" END,
		"a=From me\\0d\\0a>From you;"},
	{"base64", TYPE,
		PART CD "name=\"a\"\r\nContent-Transfer-Encoding: BASE64"
			"\r\n\r\naGVs\r\nbG8=\r\n" END,
		"a=hello;"},
	{"base64 of a file", TYPE,
		PART CD "name=\"a\"; filename=\"f\"\r\n"
			"Content-Transfer-Encoding: base64\r\n\r\nAP8K" END,
		"a(f)=\\00\\ff\\0a;"},
	{"bad base64", TYPE,
		PART CD "name=\"a\"\r\nContent-Transfer-Encoding: base64"
			"\r\n\r\na!" END,
		MALFORMED},
	{"quoted-printable", TYPE,
		PART CD "name=\"a\"\r\nContent-Transfer-Encoding: "
			"quoted-printable\r\n\r\na=3Db=C3=A9 =\r\nc" END,
		"a=a=b\\c3\\a9 c;"},
	{"8bit, binary, 7bit", TYPE,
		PART CD "name=a\r\nContent-Transfer-Encoding: 8bit\r\n\r\n=41"
			"\r\n" PART CD "name=b\r\nContent-Transfer-Encoding: "
			"binary\r\n\r\n=42\r\n" PART CD
			"name=c\r\nContent-Transfer-Encoding: 7bit\r\n\r\n=43" END,
		"a==41;b==42;c==43;"},
	{"unknown encoding", TYPE,
		PART CD "name=\"a\"\r\nContent-Transfer-Encoding: rot13"
			"\r\n\r\na" END,
		MALFORMED},
	{"Content-Length is ignored", TYPE,
		PART CD "name=\"a\"\r\nContent-Length: 1\r\n\r\n123" END, "a=123;"},
	{"charset of a text", TYPE,
		PART CD "name=\"a\"\r\nContent-Type: text/plain; "
			"charset=\"ISO-8859-1\"\r\n\r\n\xe9" END,
		"a<text/plain; charset=\"ISO-8859-1\">=\\c3\\a9;"},
	{"charset of a file", TYPE,
		PART CD "name=\"a\"; filename=f\r\nContent-Type: text/plain; "
			"charset=ISO-8859-1\r\n\r\n\xe9" END,
		"a(f)<text/plain; charset=ISO-8859-1>=\\e9;"},
	{"unknown charset", TYPE,
		PART CD "name=\"a\"\r\nContent-Type: text/plain; charset=x-y"
			"\r\n\r\n\xe9" END,
		"a<text/plain; charset=x-y>=\\e9;"},
	{"UTF-8 as it is", TYPE,
		PART CD "name=\"a\"\r\nContent-Type: text/plain; charset=UTF-8"
			"\r\n\r\n\xc3\xa9" END,
		"a<text/plain; charset=UTF-8>=\\c3\\a9;"},

	/* Files. */
	{"a file", TYPE,
		PART CD "name=\"attachment[0]\"; filename=\"a b.txt\"\r\n"
			"Content-Type: text/csv\r\n\r\n1,2" END,
		"attachment(a b.txt)<text/csv>=1,2;"},
	{"a file without a name", TYPE,
		PART CD "name=\"attachment[2]\"\r\nContent-Type: image/png"
			"\r\n\r\n1" END,
		"attachment<image/png>=1;"},
	{"a file with an empty name", TYPE, PART CD "name=\"a\"; filename=\"\"\r\n\r\n" END,
		"a()=;"},
	{"a text as a file", TYPE, PART CD "name=\"text\"; filename=\"blob\"\r\n\r\nhi" END,
		"text(blob)=hi;"},
	{"a message as a file", TYPE,
		PART CD "name=\"message\"; filename=\"m.eml\"\r\n"
			"Content-Type: message/rfc822\r\n\r\n"
			"From: a@x\r\nContent-Type: multipart/mixed; "
			"boundary=c\r\n\r\n--c\r\n\r\nhi\r\n--c--\r\n\r\n" END,
		"message(m.eml)<message/rfc822>=From: a@x\\0d\\0aContent-Type:"
		" multipart/mixed; boundary=c\\0d\\0a\\0d\\0a--c\\0d\\0a\\0d"
		"\\0ahi\\0d\\0a--c--\\0d\\0a\\0d\\0a;"},
	{"a multipart as a file", TYPE,
		PART CD "name=\"a\"; filename=\"m\"\r\nContent-Type: "
			"multipart/mixed; boundary=c\r\n\r\n--c--" END,
		"a(m)<multipart/mixed; boundary=c>=--c--;"},
	{"several files of one field", TYPE,
		PART CD "name=\"attachment\"\r\nContent-Type: multipart/mixed; "
			"boundary=c\r\n\r\n--c\r\nContent-Disposition: "
			"attachment; filename=\"x\"\r\nContent-Type: "
			"text/plain\r\n\r\n1\r\n--c\r\nContent-Disposition: "
			"file; filename=y\r\n\r\n2\r\n--c\r\n\r\n3\r\n--c--"
			"\r\n" PART CD "name=\"z\"\r\n\r\n4" END,
		"attachment(x)<text/plain>=1;attachment(y)=2;attachment=3;"
		"z=4;"},
	{"several files, not closed", TYPE,
		PART CD "name=\"a\"\r\nContent-Type: multipart/mixed; "
			"boundary=c\r\n\r\n--c\r\n\r\n1" END,
		EARLY},
	{"several files without a boundary", TYPE,
		PART CD "name=\"a\"\r\nContent-Type: multipart/mixed\r\n\r\n1" END, MALFORMED},
	{"a multipart in that", TYPE,
		PART CD "name=\"a\"\r\nContent-Type: multipart/mixed; "
			"boundary=c\r\n\r\n--c\r\nContent-Type: "
			"multipart/mixed; boundary=d\r\n\r\n--d--\r\n--c--" END,
		"a<multipart/mixed; boundary=d>=--d--;"},

	/* Names of files. */
	{"UTF-8", TYPE, PART CD "name=a; filename=\"na\xc3\xafve.txt\"\r\n\r\n" END,
		"a(na\\c3\\afve.txt)=;"},
	{"escapes of HTML, and only these", TYPE,
		PART CD "name=a; filename=\"%22a%22%0d%0A%20%.txt\"\r\n\r\n" END,
		"a(\"a\"\\0d\\0a%20%.txt)=;"},
	{"backslash quotes", TYPE, PART CD "name=a; filename=\"a \\\"b\\\" c\"\r\n\r\n" END,
		"a(a \"b\" c)=;"},
	{"backslash quote at the end", TYPE,
		PART CD "name=a; filename=\"a \\\"b\\\"\"; x=y\r\n\r\n" END, "a(a \"b\")=;"},
	{"inner quotes", TYPE, PART CD "name=a; filename=\"a \"b\"; c.txt\"\r\n\r\n" END,
		"a(a \"b\"; c.txt)=;"},
	{"unquoted with a blank", TYPE, PART CD "name=a; filename=re port.pdf ; x\r\n\r\n" END,
		"a(re port.pdf)=;"},
	{"Unix path", TYPE, PART CD "name=a; filename=\"/tmp/x/f.txt\"\r\n\r\n" END, "a(f.txt)=;"},
	{"Windows path", TYPE, PART CD "name=a; filename=\"C:\\new\\f.txt\"\r\n\r\n" END,
		"a(f.txt)=;"},
	{"Windows path, escaped", TYPE,
		PART CD "name=a; filename=\"C:\\\\new\\\\f.txt\"\r\n\r\n" END, "a(f.txt)=;"},
	{"path that ends in a backslash", TYPE,
		PART CD "name=a; filename=\"C:\\new\\\"\r\n\r\n" END, "a()=;"},
	{"file name before name", TYPE, PART CD "filename=\"name=x\"; name=\"a\"\r\n\r\n" END,
		"a(name=x)=;"},
	{"RFC 8187", TYPE,
		PART CD "name=a; filename=\"x\"; filename*=utf-8'en'%e2%82%AC"
			"%20.txt\r\n\r\n" END,
		"a(\\e2\\82\\ac .txt)=;"},
	{"RFC 8187 alone, another charset", TYPE,
		PART CD "name=a; FileName*=ISO-8859-1''%e9/%E9\r\n\r\n" END, "a(\\c3\\a9)=;"},
	{"RFC 8187 in quotes", TYPE, PART CD "name=a; filename*=\"UTF-8''%41\"\r\n\r\n" END,
		"a(A)=;"},
	{"RFC 8187 malformed", TYPE, PART CD "name=a; filename=x; filename*=UTF-8'%41\r\n\r\n" END,
		"a(x)=;"},
	{"RFC 8187 with a bad escape", TYPE,
		PART CD "name=a; filename=x; filename*=UTF-8''%4\r\n\r\n" END, "a(x)=;"},
	{"RFC 8187 with a NUL", TYPE,
		PART CD "name=a; filename=x; filename*=UTF-8''%00\r\n\r\n" END, "a(x)=;"},
	{"RFC 8187 name of a field", TYPE, PART CD "name*=utf-8''%C3%A9\r\n\r\n1" END,
		"\\c3\\a9=1;"},

	/* Boundaries. */
	{"quoted boundary", "multipart/form-data; boundary=\"a b;c=\"",
		"--a b;c=\r\n" CD "name=a\r\n\r\n1\r\n--a b;c=--", "a=1;"},
	{"every character", "multipart/form-data; charset=utf-8; BOUNDARY='()+_,-./:=? 9",
		"--'()+_,-./:=? 9\r\n" CD "name=a\r\n\r\n1\r\n--'()+_,-./:=? 9--\r\n", "a=1;"},
	{"boundary with blanks behind", "multipart/form-data; boundary=\"b  \"",
		"--b  \r\n" CD "name=a\r\n\r\n1\r\n--b--\r\n", "a=1;"},
	{"boundary of dashes", "Multipart/Form-Data;boundary=--",
		"----\r\n" CD "name=a\r\n\r\n1\r\n------\r\n", "a=1;"},
	{"no boundary", "multipart/form-data", PART END, MALFORMED},
	{"empty boundary", "multipart/form-data; boundary=\"\"", PART END, MALFORMED},
	{"unclosed boundary", "multipart/form-data; boundary=\"b", PART END, MALFORMED},
	{"another type", "multipart/mixed; boundary=b", PART END, MALFORMED},

	/* Not whole. */
	{"nothing", TYPE, "", EARLY},
	{"only a preamble", TYPE, "--c\r\n" CD "name=a\r\n\r\n1\r\n--c--\r\n", EARLY},
	{"first delimiter not ended", TYPE, "--b", EARLY},
	{"ends in the header", TYPE, PART "Content-Dispo", EARLY},
	{"ends in the content", TYPE, PART CD "name=\"a\"\r\n\r\nhel", EARLY},
	{"ends in the delimiter", TYPE, PART CD "name=\"a\"\r\n\r\nhello\r\n--b-", EARLY},
	{"ends before the next part", TYPE, PART CD "name=\"a\"\r\n\r\nhello\r\n--b\r\n", EARLY},

	/* Malformed. */
	{"no header", TYPE, PART "\r\nhello" END, MALFORMED},
	{"no disposition", TYPE, PART "Content-Type: text/plain\r\n\r\nhello" END, MALFORMED},
	{"another disposition", TYPE,
		PART "Content-Disposition: attachment; name=\"a\"\r\n\r\n" END, MALFORMED},
	{"no name", TYPE, PART CD "filename=\"a\"\r\n\r\n" END, MALFORMED},
	{"name not closed", TYPE, PART CD "name=\"a\r\n\r\n" END, MALFORMED},
	{"file name not closed", TYPE, PART CD "name=a; filename=\"b\r\n\r\n" END, MALFORMED},
	{"a line that is no field", TYPE, PART CD "name=a\r\nhello\r\n\r\n" END, MALFORMED},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_form_ struct form form = FORM_INIT;
		_cleanup_free_ char *shown = NULL;
		struct err err = ERR_INIT;
		int result = form_parse_multipart(
			cases[i].type, cases[i].body, strlen(cases[i].body), &form, &err);

		shown = form_show(&form, result, &err);
		if (strcmp(shown, cases[i].shown) != 0)
			fail_msg("%s: got\n%s\nwanted\n%s", cases[i].name, shown, cases[i].shown);
		if (result < 0)
			assert_int_equal(err.code, ERR_INVALID);
	}
}

/* A body that is cut anywhere before the closing delimiter is never taken for
 * a whole one. */
static void test_every_cut(void **state)
{
	static const char body[] = PART CD
		"name=\"a\"; filename=\"f\"\r\nContent-Type: "
		"text/plain\r\n\r\none\r\n\r\n" PART CD "name=\"b\"\r\n\r\ntwo\r\n--b--";

	(void)state;
	for (size_t len = 0; len < sizeof(body) - 1; len++) {
		_cleanup_free_ char *copy = mem_dup(body, len);
		_cleanup_form_ struct form form = FORM_INIT;
		struct err err = ERR_INIT;

		if (form_parse_multipart(TYPE, copy, len, &form, &err) == 0)
			fail_msg("the first %zu bytes are enough", len);
		assert_string_equal(err.text, &EARLY[1]);
	}
}

static void test_all_bytes(void **state)
{
	_cleanup_buf_ struct buf body = BUF_INIT;
	_cleanup_buf_ struct buf bytes = BUF_INIT;
	_cleanup_form_ struct form form = FORM_INIT;
	const struct form_field *field;

	(void)state;
	for (int i = 0; i < 256 * 256; i++) {
		buf_add_char(&bytes, (char)(i / 256));
		buf_add_char(&bytes, (char)i);
	}
	buf_add_str(&body, PART CD "name=a; filename=f\r\n\r\n");
	buf_add(&body, bytes.data, bytes.len);
	buf_add_str(&body, END);
	assert_int_equal(form_parse_multipart(TYPE, body.data, body.len, &form, NULL), 0);
	field = form_next(&form, "a", NULL);
	assert_non_null(field);
	assert_int_equal(field->value.len, bytes.len);
	assert_memory_equal(field->value.data, bytes.data, bytes.len);
}

static void test_nul_in_header(void **state)
{
	static const char body[] = PART CD "name=\"a\0b\"\r\n\r\n1" END;
	_cleanup_form_ struct form form = FORM_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(form_parse_multipart(TYPE, body, sizeof(body) - 1, &form, &err), -1);
	assert_string_equal(err.text, &MALFORMED[1]);
}

static int parse_many(size_t n, struct form *form, struct err *err)
{
	_cleanup_buf_ struct buf body = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		buf_add_str(&body, PART CD "name=a\r\n\r\n1\r\n");
	buf_add_str(&body, "--b--");
	return form_parse_multipart(TYPE, body.data, body.len, form, err);
}

static void test_too_many(void **state)
{
	_cleanup_form_ struct form form = FORM_INIT;
	_cleanup_form_ struct form none = FORM_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(parse_many(FORM_FIELDS_MAX, &form, &err), 0);
	assert_int_equal(form.n, FORM_FIELDS_MAX);
	assert_int_equal(parse_many(FORM_FIELDS_MAX + 1, &none, &err), -1);
	assert_string_equal(err.text, "too many form fields, max is 4000");
	assert_int_equal(none.n, 0);
}

static void test_long_header(void **state)
{
	_cleanup_buf_ struct buf body = BUF_INIT;
	_cleanup_form_ struct form form = FORM_INIT;
	struct err err = ERR_INIT;

	(void)state;
	buf_add_str(&body, PART CD "name=a\r\n");
	while (body.len < FORM_PART_HEADER_MAX + 100)
		buf_add_str(&body, "X-A: b\r\n");
	buf_add_str(&body, "\r\n1" END);
	assert_int_equal(form_parse_multipart(TYPE, body.data, body.len, &form, &err), -1);
	assert_string_equal(err.text, &MALFORMED[1]);
}

static void test_long_boundary(void **state)
{
	_cleanup_buf_ struct buf type = BUF_INIT;
	_cleanup_form_ struct form form = FORM_INIT;
	struct err err = ERR_INIT;

	(void)state;
	buf_add_str(&type, "multipart/form-data; boundary=");
	for (int i = 0; i < 251; i++)
		buf_add_char(&type, 'b');
	assert_int_equal(form_parse_multipart(type.data, PART, 5, &form, &err), -1);
	assert_string_equal(err.text, &MALFORMED[1]);
}

static void test_look_up(void **state)
{
	static const char body[] = PART CD "name=to\r\n\r\n1\r\n" PART CD
					   "name=cc\r\n\r\n2\r\n" PART CD "name=to[]\r\n\r\n3" END;
	_cleanup_form_ struct form form = FORM_INIT;
	const struct form_field *field;

	(void)state;
	assert_int_equal(form_parse_multipart(TYPE, body, sizeof(body) - 1, &form, NULL), 0);
	assert_string_equal(buf_str(&form_next(&form, "to", NULL)->value), "1");
	assert_string_equal(buf_str(&form_next(&form, "cc", NULL)->value), "2");
	assert_null(form_next(&form, "To", NULL));
	field = form_next(&form, "to", form_next(&form, "to", NULL));
	assert_non_null(field);
	assert_string_equal(field->value.data, "3");
	assert_null(form_next(&form, "to", field));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_all_bytes),
		cmocka_unit_test(test_nul_in_header),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_long_header),
		cmocka_unit_test(test_long_boundary),
		cmocka_unit_test(test_look_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
