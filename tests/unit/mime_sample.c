/*
 * mime_sample: messages for tests, built by mime_build and read by GMime.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/str.h"
#include "core/compose/mime_build.h"
#include "tests/unit/mime_sample.h"

void mime_sample_addr(struct addr_list *list, const char *text)
{
	struct err err = ERR_INIT;

	if (addr_parse(text, addr_list_add(list), &err) < 0)
		fail_msg("%s", err.text);
}

void mime_sample_fill(struct mime_message *message)
{
	assert_int_equal(addr_parse("Acme <hello@example.com>", &message->from, NULL), 0);
	mime_sample_addr(&message->to, "a@dst.example");
	message->message_id = mem_strdup("<id@example.com>");
	message->date_us = 1795228998000000; /* 2026-11-21 02:43:18 */
}

void mime_sample_header(struct mime_message *message, const char *name, const char *value)
{
	struct header *header = mime_message_add_header(message);

	header->name = mem_strdup(name);
	header->value = mem_strdup(value);
}

struct attachment *mime_sample_attach(struct mime_message *message, const char *filename,
	const char *type, const char *data, size_t len)
{
	struct attachment *attachment = mime_message_add_attachment(message);

	attachment->filename = mem_strdup(filename ? filename : "x.bin");
	attachment->content_type = mem_strdup(type);
	buf_add(&attachment->content, data, len);
	return attachment;
}

static bool has_utf8_address(const struct mime_message *message)
{
	for (const char *p = message->from.local; *p; p++)
		if ((unsigned char)*p >= 0x80)
			return true;
	return false;
}

/* Lines of at most 998 characters that end in LF, ASCII without controls. */
static void check_lines(const struct buf *out, bool utf8)
{
	size_t column = 0;

	assert_int_equal(out->data[out->len - 1], '\n');
	for (size_t i = 0; i < out->len; i++) {
		unsigned char c = (unsigned char)out->data[i];

		column = c == '\n' ? 0 : column + 1;
		if (column > 998)
			fail_msg("line too long at byte %zu", i);
		if (c != '\n' && c != '\t' && (c < ' ' || c == 0x7f))
			fail_msg("control character at byte %zu", i);
		if (c >= 0x80 && !utf8)
			fail_msg("8-bit character at byte %zu", i);
	}
}

GMimeMessage *mime_sample_build(const struct mime_message *message, struct buf *out)
{
	struct err err = ERR_INIT;
	GMimeStream *stream;
	GMimeParser *parser;
	GMimeMessage *result;

	if (mime_build(message, out, &err) < 0)
		fail_msg("%s", err.text);
	check_lines(out, has_utf8_address(message));
	stream = g_mime_stream_mem_new_with_buffer(out->data, out->len);
	parser = g_mime_parser_new_with_stream(stream);
	result = g_mime_parser_construct_message(parser, NULL);
	g_object_unref(parser);
	g_object_unref(stream);
	assert_non_null(result);
	return result;
}

GMimeObject *mime_sample_part(GMimeMessage *message, const char *path)
{
	GMimeObject *part = g_mime_message_get_mime_part(message);

	for (; *path; path++) {
		assert_true(GMIME_IS_MULTIPART(part));
		part = g_mime_multipart_get_part(GMIME_MULTIPART(part), *path - '0');
		assert_non_null(part);
	}
	return part;
}

void mime_sample_content(GMimeObject *part, struct buf *out)
{
	GMimeStream *stream = g_mime_stream_mem_new();
	GByteArray *bytes;

	assert_true(GMIME_IS_PART(part));
	g_mime_data_wrapper_write_to_stream(g_mime_part_get_content(GMIME_PART(part)), stream);
	bytes = g_mime_stream_mem_get_byte_array(GMIME_STREAM_MEM(stream));
	buf_add(out, bytes->data, bytes->len);
	g_object_unref(stream);
}

void mime_sample_shape(GMimeObject *part, struct buf *out)
{
	GMimeContentType *type = g_mime_object_get_content_type(part);

	buf_add_str(out, g_mime_content_type_get_media_subtype(type));
	if (!GMIME_IS_MULTIPART(part))
		return;
	buf_add_char(out, '(');
	for (int i = 0; i < g_mime_multipart_get_count(GMIME_MULTIPART(part)); i++) {
		if (i > 0)
			buf_add_char(out, ' ');
		mime_sample_shape(g_mime_multipart_get_part(GMIME_MULTIPART(part), i), out);
	}
	buf_add_char(out, ')');
}

/* The field at text without its line breaks. */
static char *unfold(const char *text)
{
	struct buf value = BUF_INIT;

	for (; *text != '\n' || text[1] == ' ' || text[1] == '\t'; text++)
		if (*text != '\n')
			buf_add_char(&value, *text);
	return buf_take(&value);
}

char *mime_sample_field(const struct buf *message, const char *name)
{
	_cleanup_free_ char *start = mem_printf("%s:", name);
	const char *line = message->data;
	char *value = NULL;

	for (; *line != '\n'; line = strchr(line, '\n') + 1) {
		if (!str_starts_nocase(line, start))
			continue;
		assert_null(value);
		value = unfold(line + strlen(start));
	}
	return value;
}

const char *const mime_sample_texts[MIME_SAMPLE_TEXTS] = {
	"x",
	"hello world",
	"a  b   c",
	"tab\there",
	"é",
	"Zoë's caf\xc3\xa9",
	"plain é plain",
	"é plain é plain é",
	"a  é  b",
	"a é é b  é   é",
	"é =?utf-8?q?x?= literal",
	"=?é",
	"日本語の件名です",
	"😀",
	"👨‍👩‍👧‍👦 family",
	"ends with é",
	"a_b = ? é_=?",
	"\"quotes\" (é) <x@y.com>, ;:\\",
	JA10,
	JA100,
	JA100 " " JA100 " x " JA100,
	"é " X900 X100 " é",
	"Ü ist " X100 " und ä " X100,
	X100,
	X900,
	X900 X900 X900,
	X900 " " X900 " " X100 " " X100,
	"=?",
	"word word word word word word word word word word word word word word word word word word "
	"word word",
	"é word word word word word word word word word word word word word ö word word word word "
	"word word",
};

void mime_sample_check_words(const char *header)
{
	while (*header != '\n') {
		size_t len = strcspn(header, "\n");
		_cleanup_free_ char *line = mem_dup(header, len);
		const char *word = strstr(line, "=?UTF-8?");

		if (word) {
			size_t word_len = strcspn(word, " \"");

			if (len > 76 || word_len > 75)
				fail_msg("[%s]", line);
		}
		header += len + 1;
	}
}
