/*
 * mime_scan: iterates over the bytes of a message or a form.
 *
 * A span is never read beyond its len. Results point into the given bytes. Threads: any.
 */
#include "core/mime/mime_scan.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"

static void drop(struct span *span, size_t n)
{
	span->data += n;
	span->len -= n;
}

bool mime_scan_line(struct span *rest, struct span *line_r, struct span *raw_r)
{
	const char *lf;
	struct span raw = *rest, line;

	if (rest->len == 0)
		return false;
	lf = memchr(rest->data, '\n', rest->len);
	if (lf)
		raw.len = (size_t)(lf - rest->data) + 1;
	line = raw;
	if (lf) {
		line.len--;
		while (line.len > 0 && line.data[line.len - 1] == '\r')
			line.len--;
	}
	drop(rest, raw.len);
	*line_r = line;
	if (raw_r)
		*raw_r = raw;
	return true;
}

/* Returns the length of the field name at the start of the line, 0 if it is not a field, and
 * the offset of the value. */
static size_t name_len(struct span line, size_t *value_r)
{
	size_t len = 0, at;

	while (len < line.len && line.data[len] > ' ' && line.data[len] <= '~' &&
		line.data[len] != ':')
		len++;
	at = len;
	while (at < line.len && ascii_is_blank(line.data[at]))
		at++;
	if (at == line.len || line.data[at] != ':')
		return 0;
	*value_r = at + 1;
	return len;
}

bool mime_scan_field(struct span *rest, struct mime_scan_field *field_r)
{
	struct span ahead = *rest, line, raw;
	size_t name, value;

	if (!mime_scan_line(&ahead, &line, &raw) || (name = name_len(line, &value)) == 0)
		return false;
	while (ahead.len > 0 && ascii_is_blank(ahead.data[0]))
		mime_scan_line(&ahead, &line, NULL);
	raw.len = rest->len - ahead.len;
	*rest = ahead;
	field_r->raw = raw;
	field_r->name = (struct span){raw.data, name};
	field_r->value = (struct span){raw.data + value, raw.len - value};
	return true;
}

void mime_scan_drop_from_line(struct span *message)
{
	struct span rest = *message, line;
	size_t value;

	while (rest.len > 0 && rest.data[0] == '>')
		drop(&rest, 1);
	if (rest.len >= 5 && memcmp(rest.data, "From ", 5) == 0 && name_len(*message, &value) == 0)
		mime_scan_line(message, &line, NULL);
}

bool mime_scan_empty_line(struct span *rest)
{
	struct span ahead = *rest, line;

	if (!mime_scan_line(&ahead, &line, NULL) || line.len > 0)
		return false;
	*rest = ahead;
	return true;
}

bool mime_scan_is(const struct mime_scan_field *field, const char *name)
{
	return span_is_nocase(field->name, name);
}

char *mime_scan_value(const struct mime_scan_field *field)
{
	struct span rest = field->value, line;
	struct buf value = BUF_INIT;
	size_t first = 0;

	while (mime_scan_line(&rest, &line, NULL))
		buf_add(&value, line.data, line.len);
	for (size_t i = 0; i < value.len; i++)
		if (strchr("\r\n", value.data[i])) /* matches NUL too */
			value.data[i] = ' ';
	while (value.len > 0 && ascii_is_blank(value.data[value.len - 1]))
		value.data[--value.len] = '\0';
	while (first < value.len && ascii_is_blank(value.data[first]))
		first++;
	if (first > 0)
		memmove(value.data, value.data + first, value.len - first + 1);
	return buf_take(&value);
}

/* If only blanks are left on the line, removes them with the line end. False if not. With
 * end_counts the end of the text counts as a line end. */
static bool drop_blank_line(struct span *text, bool end_counts)
{
	size_t n = 0;

	while (n < text->len && ascii_is_blank(text->data[n]))
		n++;
	while (n < text->len && text->data[n] == '\r')
		n++;
	if (n < text->len && text->data[n] == '\n')
		n++;
	else if (n < text->len || !end_counts)
		return false;
	drop(text, n);
	return true;
}

struct delimiter {
	size_t at;   /* offset of its line */
	size_t next; /* offset after its line */
	bool closing;
};

/* True if the text at `at`, which begins with `--boundary`, is a delimiter line. */
static bool read_delimiter(struct span text, size_t at, size_t len, struct delimiter *delimiter_r)
{
	struct span behind = {text.data + at + len, text.len - at - len};
	bool closing = behind.len >= 2 && memcmp(behind.data, "--", 2) == 0;

	if (at > 0 && text.data[at - 1] != '\n')
		return false;
	if (closing)
		drop(&behind, 2);
	if (!drop_blank_line(&behind, closing))
		return false;
	*delimiter_r = (struct delimiter){at, text.len - behind.len, closing};
	return true;
}

static bool find_delimiter(const struct mime_scan_parts *parts, struct delimiter *delimiter_r)
{
	const struct span text = parts->rest;
	size_t len = strlen(parts->delimiter), from = 0;

	for (;;) {
		const char *found = memmem(
			text.data + from, text.len - from, parts->delimiter, len);

		if (found == NULL)
			return false;
		from = (size_t)(found - text.data);
		if (read_delimiter(text, from, len, delimiter_r))
			return true;
		from++;
	}
}

/* Removes the text before the delimiter, and the delimiter, from rest. Returns that text. */
static struct span take_part(struct mime_scan_parts *parts, const struct delimiter *delimiter)
{
	struct span part = {parts->rest.data, delimiter->at};

	if (part.len > 0)
		part.len--; /* the LF belongs to the delimiter */
	if (part.len > 0 && part.data[part.len - 1] == '\r')
		part.len--;
	drop(&parts->rest, delimiter->next);
	parts->open = !delimiter->closing;
	parts->closed = delimiter->closing;
	return part;
}

int mime_scan_parts_begin(struct mime_scan_parts *parts, struct span body, const char *boundary)
{
	size_t len = strlen(boundary);
	struct delimiter first;

	while (len > 0 && ascii_is_blank(boundary[len - 1]))
		len--;
	if (len == 0 || len > MIME_SCAN_BOUNDARY_MAX)
		return -1;
	*parts = (struct mime_scan_parts){.rest = body};
	memcpy(parts->delimiter, "--", 2);
	memcpy(parts->delimiter + 2, boundary, len);
	if (find_delimiter(parts, &first))
		take_part(parts, &first);
	return 0;
}

enum mime_scan_result mime_scan_parts_next(struct mime_scan_parts *parts, struct span *part_r)
{
	struct delimiter next;

	*part_r = (struct span){parts->rest.data, 0};
	if (parts->closed)
		return MIME_SCAN_END;
	if (!parts->open)
		return MIME_SCAN_EOF;
	if (find_delimiter(parts, &next)) {
		*part_r = take_part(parts, &next);
		return MIME_SCAN_PART;
	}
	*part_r = parts->rest;
	drop(&parts->rest, parts->rest.len);
	parts->open = false;
	return MIME_SCAN_EOF;
}
