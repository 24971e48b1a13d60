/*
 * html_text: what people get to read of HTML.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/html/html_render.h"
#include "core/html/html_text.h"

struct html_case {
	const char *html, *text;
};

static void check(const struct html_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *text = html_text(cases[i].html);

		if (strcmp(text, cases[i].text) != 0)
			fail_msg("%s\nwanted:\n%s\ngot:\n%s", cases[i].html, cases[i].text, text);
	}
}

static void test_blanks(void **state)
{
	static const struct html_case cases[] = {
		{"", ""},
		{" \n\t ", ""},
		{"<p></p>", ""},
		{"<p> </p><br><br>", ""},
		{"hi", "hi\n"},
		{"  hi  there\n\tyou ", "hi there you\n"},
		{"<p>a</p><p>b</p>", "a\n\nb\n"},
		{"<p>a</p>\n\n<p> </p>\n<p>b</p>", "a\n\nb\n"},
		{"<div>a</div><div>b</div>", "a\nb\n"},
		{"<div><div><div>a</div></div></div><div>b</div>", "a\nb\n"},
		{"a<br>b", "a\nb\n"},
		{"a<br/>b<br />c", "a\nb\nc\n"},
		{"a<br><br>b", "a\n\nb\n"},
		{"a<br><br><br><br>b", "a\n\nb\n"},
		{"a <br> b", "a\nb\n"},
		{"<div>a<br></div><div>b</div>", "a\nb\n"},
		{"<div>a</div><br><div>b</div>", "a\n\nb\n"},
		{"<br>a", "a\n"},
		{"a<b>b</b>c <i>d </i>e", "abc d e\n"},
		{"<b>a</b> <b>b</b>", "a b\n"},
		{"<h1>T</h1>x<h2>U</h2>", "T\n\nx\n\nU\n"},
		{"a<hr>b", "a\n\n----------\n\nb\n"},
		{"a\xc2\xa0&nbsp; b", "a b\n"},
		{"a\xe2\x80\x8b&shy;&#8203;b", "ab\n"},
		{"<p>&nbsp;</p>a", "a\n"},
		{"<blockquote>q</blockquote>r", "q\n\nr\n"},
		{"a\r\nb\r\n", "a b\n"},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases));
}

static void test_characters(void **state)
{
	static const struct html_case cases[] = {
		{"&lt;b&gt; &amp; &quot;x&quot; &apos;", "<b> & \"x\" '\n"},
		{"&eacute; &#233; &#xe9; &#x1F600; &euro;", "é é é 😀 €\n"},
		{"日本語 😀 é", "日本語 😀 é\n"},
		{"<meta charset=iso-8859-1><p>é", "é\n"},
		{"a & b < c > d", "a & b < c > d\n"},
		{"&bogus; x", "&bogus; x\n"},
		{"a\xff"
		 "b\xc3",
			"a\xef\xbf\xbd"
			"b\xef\xbf\xbd\n"},
		{"&#0;&#xD800;&#x110000;x", "x\n"},
		{"a\x01\x1b"
		 "b",
			"ab\n"},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases));
}

static void test_hidden(void **state)
{
	static const struct html_case cases[] = {
		{"<html><head><title>t</title><style>s</style></head>"
		 "<body>x</body></html>",
			"x\n"},
		{"<script>if (a < b) c();</script>x", "x\n"},
		{"<style>p > a {}</style>x", "x\n"},
		{"<body><style>s</style>x", "x\n"},
		{"<template><p>t</p></template>x", "x\n"},
		{"<!-- c -->x<!-- <p>d</p> -->", "x\n"},
		{"<div style=\"display:none\">p</div>x", "x\n"},
		{"<div style='color:red; DISPLAY : None !important'>p</div>x", "x\n"},
		{"<span style='visibility:hidden'>p</span>x", "x\n"},
		{"<span hidden>p</span>x", "x\n"},
		{"<div style='display:none'><p>p<div>q</div></p></div>x", "x\n"},
		{"<div style='display:none'>p<br></div>x", "x\n"},
		{"<div style='display:none'><ol><li>a</ol></div>"
		 "<ol><li>b</ol>",
			"1. b\n"},
		{"<div style='mydisplay:none'>p</div>x", "p\nx\n"},
		{"<div style='display:block'>p</div>x", "p\nx\n"},
		{"<div style>p</div>x", "p\nx\n"},
		{"<!--[if mso]>m<![endif]-->x", "x\n"},
		{"<!--[if !mso]><!-->x<!--<![endif]-->", "x\n"},
		{"<![if !mso]>x<![endif]>y", "xy\n"},
		{"<p>a<![endif]--></p>b", "a<![endif]-->\n\nb\n"},
		{"<o:p>office</o:p>", "office\n"},
		{"<?xml version='1.0'?>x", "x\n"},
		{"<!DOCTYPE html><p>x", "x\n"},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases));
}

static void test_lists(void **state)
{
	static const struct html_case cases[] = {
		{"<ul><li>a<li>b</ul>", "- a\n- b\n"},
		{"x<ul><li>a</li></ul>y", "x\n\n- a\n\ny\n"},
		{"<ul>\n <li> a </li>\n <li> b </li>\n</ul>", "- a\n- b\n"},
		{"<ol><li>a<li>b</ol>", "1. a\n2. b\n"},
		{"<ol start=9><li>a<li>b</ol>", "9. a\n10. b\n"},
		{"<ol start=x><li>a</ol>", "1. a\n"},
		{"<ol start=-5><li>a</ol>", "1. a\n"},
		{"<ol start=99999999999999999999><li>a</ol>", "1. a\n"},
		{"<ol start=2147483647><li>a<li>b</ol>", "2147483647. a\n2147483648. b\n"},
		{"<ul><li>a<ul><li>b<li>c</ul><li>d</ul>", "- a\n  - b\n  - c\n- d\n"},
		{"<ol><li>a<ul><li>b</ul></ol>", "1. a\n   - b\n"},
		{"<ol><li>a<li>b</ol><ol><li>c</ol>", "1. a\n2. b\n\n1. c\n"},
		{"<ul><li>a<br>b</ul>", "- a\n  b\n"},
		{"<ul><li><p>a</p><p>b</p></ul>", "- a\n\n  b\n"},
		{"<ul><li></li><li>a</li></ul>x", "- a\n\nx\n"},
		{"<ul><li></ul>x", "x\n"},
		{"<li>a<li>b", "- a\n- b\n"},
		{"<dl><dt>t<dd>d</dl>", "t\nd\n"},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases));
}

static void test_tables(void **state)
{
	static const struct html_case cases[] = {
		{"<table><tr><td>a<td>b<tr><td>c<td>d</table>", "a b\nc d\n"},
		{"<table><thead><tr><th>A</th><th>B</th></tr></thead>"
		 "<tbody><tr><td>1</td><td>2</td></tr></tbody></table>",
			"A B\n1 2\n"},
		{"x<table><tr><td>a</td></tr></table>y", "x\n\na\n\ny\n"},
		{"<table>\n<tr>\n<td> a </td>\n<td></td><td> b </td>\n</tr>\n"
		 "</table>",
			"a b\n"},
		{"<table><tr><td><table><tr><td>a</table><td>b</table>", "a\n\nb\n"},
		{"<table><caption>C</caption><tr><td>a</table>", "C\na\n"},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases));
}

static void test_links(void **state)
{
	static const struct html_case cases[] = {
		{"<a href=http://x.com/p>site</a>", "site (http://x.com/p)\n"},
		{"go <a href='https://x.com'>here </a>now", "go here (https://x.com) now\n"},
		{"<a href='https://x.com'>here</a>.", "here (https://x.com).\n"},
		{"<a href='https://x.com'>https://x.com</a>", "https://x.com\n"},
		{"<a href='https://x.com/'>https://x.com</a>", "https://x.com\n"},
		{"<a href='https://x.com/'> https://x.com/ </a>", "https://x.com/\n"},
		{"<a href='https://x.com'>x.com</a>", "x.com (https://x.com)\n"},
		{"<a href='mailto:a@x.com'>a@x.com</a>", "a@x.com\n"},
		{"<a href='mailto:a@x.com?subject=s'>a@x.com</a>", "a@x.com\n"},
		{"<a href='mailto:a@x.com'>us</a>", "us (mailto:a@x.com)\n"},
		{"<a href='mailto:'>us</a>", "us (mailto:)\n"},
		{"<a href='HTTP://x.com'>s</a>", "s (HTTP://x.com)\n"},
		{"<a href=' http://x.com/a b\n\tc '>s</a>", "s (http://x.com/a%20bc)\n"},
		{"<a href='http://x.com/?a=1&amp;b=2'>s</a>", "s (http://x.com/?a=1&b=2)\n"},
		{"<a href='javascript:x()'>s</a>", "s\n"},
		{"<a href='tel:1'>s</a><a href='#x'>t</a><a href=''>u</a>", "stu\n"},
		{"<a name=x>s</a><a href>t</a>", "st\n"},
		{"x<a href='http://x.com'></a>y", "xy\n"},
		{"x<a href='http://x.com'><img src=y></a>y", "xy\n"},
		{"<a href='http://x.com'><img src=y alt=Logo></a>", "Logo (http://x.com)\n"},
		{"<a href='http://x.com'><div>b</div></a>c", "b (http://x.com)\nc\n"},
		{"<p>a</p><a href='http://x.com'><p>b</p></a>", "a\n\nb (http://x.com)\n"},
		{"<a href='http://x.com'>b<a href='http://y.com'>c",
			"b (http://x.com)c (http://y.com)\n"},
		{"<a href='http://x.com' style='display:none'>b</a>c", "c\n"},
		{"<a href='http://日本.jp/é'>s</a>", "s (http://日本.jp/é)\n"},
		{"<img alt='two  words'>", "two words\n"},
		{"a<img alt=''>b<img>c<img alt>d", "abcd\n"},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases));
}

static void test_preformatted(void **state)
{
	static const struct html_case cases[] = {
		{"<pre>a\n  b\n c</pre>d", "a\n  b\n c\n\nd\n"},
		{"<pre>\n  a  b  \n</pre>", "  a  b\n"},
		{"<pre>a\n\n \n\nb</pre>", "a\n\nb\n"},
		{"<pre>a\tb\n\tc\t\n</pre>", "a        b\n        c\n"},
		{"<pre>a<br>  b</pre>", "a\n  b\n"},
		{"<pre>a  <b>b </b> c</pre>", "a  b  c\n"},
		{"<pre>a\r\nb\r\n</pre>", "a\nb\n"},
		{"<pre>   </pre>x", "x\n"},
		{"<ul><li><pre>a\n b</pre></ul>", "- a\n   b\n"},
		{"<pre>a   <a href='http://x.com'>\n\n\nb </a> c</pre>",
			"a\n\nb (http://x.com)  c\n"},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases));
}

/* The lines of whatever comes out keep the rules. */
static void check_rules(const char *html)
{
	_cleanup_free_ char *text = html_text(html);
	size_t len = strlen(text);

	assert_true(str_utf8_valid(text, len));
	assert_null(strstr(text, "\n\n\n"));
	assert_null(strstr(text, " \n"));
	assert_null(strchr(text, '\r'));
	assert_null(strchr(text, '\t'));
	if (len > 0) {
		assert_int_not_equal(text[0], '\n');
		assert_int_equal(text[len - 1], '\n');
		assert_true(len == 1 || text[len - 2] != '\n');
	}
}

/* Input that is broken or much too much: neither a crash nor for ever. */
static void test_hostile(void **state)
{
	static const struct {
		const char *head, *body;
		size_t heads, bodies;
	} cases[] = {
		{"<b>", "x", 100000, 1},
		{"<div>", "x", 100000, 1},
		{"<ul><li>", "x", 50000, 1},
		{"<table><tr><td>", "x", 30000, 1},
		{"<a href='http://x.com'>", "x", 50000, 1},
		{"<pre>", "\n a", 10000, 10000},
		{"<p style='display:none'>", "x", 50000, 1},
		{"<b>", "</i>", 100000, 100000},
		{"<div>", "<li>", 50000, 50000},
		{"</b>", "x", 100000, 1},
		{"<", "x", 100000, 1},
		{"</", "x", 100000, 1},
		{"<!", "x", 100000, 1},
		{"<!--", "x", 100000, 1},
		{"<![", "x", 100000, 1},
		{"<![x]>", "x", 100000, 1},
		{"<?", "x", 100000, 1},
		{"&", "x", 100000, 1},
		{"&#", "x", 100000, 1},
		{"<a b=", "x", 100000, 1},
		{"<a b='", "x", 100000, 1},
		{"<script>", "x", 100000, 1},
		{"<html a=b><head><body c=d>", "x", 10000, 1},
		{"<title>", "x", 10000, 1},
		{"<br>", "x", 100000, 1},
		{"<frameset>", "<frame>", 1000, 1000},
		{"<![CDATA[", "]]>", 1000, 1000},
		{"<a\n", "x='y'", 1, 50000},
		{"<b><div>", "<i>", 1, 50000},
		{"<p", " a1", 1, 50000},
		{"<pre>", "\tx", 1, 50000},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf html = BUF_INIT;

		for (size_t n = 0; n < cases[i].heads; n++)
			buf_add_str(&html, cases[i].head);
		for (size_t n = 0; n < cases[i].bodies; n++)
			buf_add_str(&html, cases[i].body);
		check_rules(html.data);
	}
}

/* A long tag takes nothing of what follows it, whatever it is long of. */
static void test_long_tags(void **state)
{
	static const char *const fillers[] = {" a=b", " a", "'a", " style=x", "/"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fillers); i++) {
		_cleanup_buf_ struct buf html = BUF_INIT;
		_cleanup_free_ char *text = NULL;

		buf_add_str(&html, "<p><img alt=A");
		while (html.len < 500000)
			buf_add_str(&html, fillers[i]);
		buf_add_str(&html, "'>B<p>C");
		text = html_text(html.data);
		if (strstr(text, "C\n") == NULL)
			fail_msg("%s: %s", fillers[i], text);
	}
}

/* End tags that match nothing, deep in elements that are never closed. */
static void test_searches_are_bounded(void **state)
{
	static const struct {
		int open, ends;
		const char *text;
	} cases[] = {
		{100, 1000, "top\nend\n"},
		{100000, 100000, "top\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf html = BUF_INIT;
		_cleanup_free_ char *text = NULL;

		buf_add_str(&html, "top<b><div>");
		for (int n = 0; n < cases[i].open; n++)
			buf_add_str(&html, "<i>");
		for (int n = 0; n < cases[i].ends; n++)
			buf_add_str(&html, "</b>");
		buf_add_str(&html, "end");
		text = html_text(html.data);
		assert_string_equal(text, cases[i].text);
	}
}

/* Text is never many times as long as its HTML. */
static void test_growth_is_bounded(void **state)
{
	static const struct {
		const char *head, *body;
	} cases[] = {
		{"<pre>", "\t"},
		{"<pre>", "\tx"},
		{"<ul><li><ul><li><ul><li><ul><li><ul><li><ul><li><ul><li><ul>"
		 "<li><ul><li><ul><li><ul><li><ul><li><ul><li><ul><li><ul><li>"
		 "<ul><li><ul><li><ul><li><ul><li><ul><li><ul><li><pre>",
			"\nx"},
		{"", "<hr>"},
		{"", "<ol start=2147483647><li>x"},
		{"", "<a href='http:            '>x</a>"},
		{"", "\xff"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf html = BUF_INIT;
		_cleanup_free_ char *text = NULL;

		buf_add_str(&html, cases[i].head);
		while (html.len < 200000)
			buf_add_str(&html, cases[i].body);
		buf_add_str(&html, "x");
		text = html_text(html.data);
		assert_true(strlen(text) <= HTML_TEXT_GROWTH * html.len + 8192);
	}
}

static void test_deep(void **state)
{
	_cleanup_buf_ struct buf html = BUF_INIT;
	_cleanup_free_ char *text = NULL;

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_add_str(&html, "<div>");
	buf_add_str(&html, "bottom");
	for (int i = 0; i < 100000; i++)
		buf_add_str(&html, "</div>");
	buf_add_str(&html, "after");
	text = html_text(html.data);
	assert_string_equal(text, "bottom\nafter\n");
}

static void test_large(void **state)
{
	_cleanup_buf_ struct buf html = BUF_INIT;
	_cleanup_free_ char *text = NULL;

	(void)state;
	for (int i = 0; i < 200000; i++)
		buf_add_str(&html, "<p>word ");
	text = html_text(html.data);
	assert_int_equal(strlen(text), 200000 * 6 - 1);
}

/* Pieces of HTML put together at random. */
static void test_random(void **state)
{
	static const char *const pieces[] = {"<p>", "</p>", "<div>", "</div>", "<ul>", "</ul>",
		"<ol start=3>", "</ol>", "<li>", "</li>", "<pre>", "</pre>", "<br>", "\n", " ",
		"\t", "x", "é", "&nbsp;", "<a href='http://x.com'>", "</a>", "<table>", "<tr>",
		"<td>", "</table>", "<b hidden>", "</b>", "<script>", "</script>", "<!--", "-->",
		"<![if x]>", "<", "&", "<img alt=' a '>", "<hr>", "\xff", "\xc3", "<html x=y>",
		"<body z>", "<head>", "</head>"};
	uint32_t random = 1;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		char html[800] = "";

		for (int n = 0; n < 20; n++) {
			random = random * 1664525 + 1013904223;
			strcat(html, pieces[(random >> 16) % ARRAY_SIZE(pieces)]);
		}
		check_rules(html);
	}
}

static void *convert_many(void *arg)
{
	bool *good = arg;

	for (int i = 0; i < 500; i++) {
		_cleanup_free_ char *text = html_text("<p>&eacute;<ul><li>a</ul></i>");

		*good &= str_eq(text, "é\n\n- a\n");
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[4];
	bool good[ARRAY_SIZE(threads)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		good[i] = true;
		assert_int_equal(pthread_create(&threads[i], NULL, convert_many, &good[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		pthread_join(threads[i], NULL);
		assert_true(good[i]);
	}
}

/* The table of elements is searched by halving: each is found if it is sorted. */
static void test_elements(void **state)
{
	static const char *const names[] = {"a", "address", "article", "aside", "blockquote",
		"body", "br", "caption", "center", "dd", "details", "div", "dl", "dt", "fieldset",
		"figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
		"head", "header", "hr", "img", "legend", "li", "main", "menu", "nav", "ol",
		"option", "p", "pre", "script", "section", "style", "summary", "table", "tbody",
		"td", "template", "tfoot", "th", "thead", "title", "tr", "ul"};

	static const char *const list[] = {"href", "http://x.example/", "alt", "image", NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct html_render *render = html_render_new(1000);
		_cleanup_free_ char *text = NULL;

		html_render_text(render, "a", 1);
		html_render_open(render, names[i], list);
		html_render_text(render, "b", 1);
		html_render_close(render);
		html_render_text(render, "c", 1);
		text = html_render_finish(render);
		if (str_eq(text, "abc\n"))
			fail_msg("%s has no effect", names[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads), /* first: nothing is ready */
		cmocka_unit_test(test_blanks),
		cmocka_unit_test(test_characters),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_preformatted),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_long_tags),
		cmocka_unit_test(test_searches_are_bounded),
		cmocka_unit_test(test_growth_is_bounded),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_elements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
