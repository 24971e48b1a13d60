/*
 * mime_read_body: finds the texts of a message (RFC 2045, RFC 2046).
 *
 * Goes through the parts in their order and into multiparts, not into messages
 * that are attached, and stops when both texts are found. Threads: any; holds
 * no state.
 */
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/mime_charset.h"
#include "core/mail/mime_content.h"
#include "core/mail/mime_read_private.h"
#include "core/mail/mime_transfer.h"
#include "core/mail/param_read.h"

enum {
	DEPTH_MAX = 10,
	PARTS_MAX = 1000,
	VALUE_MAX = 8 * 1024, /* of a field; what is longer is cut */
};

struct walk {
	struct mime_summary *summary;
	int parts;
};

/* A message or a part of one; a field that is missing is NULL. */
struct entity {
	char *type;
	char *disposition;
	char *encoding;
	struct mime_span content;
};

static void entity_clear(struct entity *entity)
{
	free(entity->type);
	free(entity->disposition);
	free(entity->encoding);
}

static void keep_field(struct entity *entity, const struct mime_scan_field *field)
{
	struct mime_scan_field bounded = *field;
	char **value;

	if (mime_scan_is(field, "Content-Type"))
		value = &entity->type;
	else if (mime_scan_is(field, "Content-Disposition"))
		value = &entity->disposition;
	else if (mime_scan_is(field, "Content-Transfer-Encoding"))
		value = &entity->encoding;
	else
		return;
	if (bounded.value.len > VALUE_MAX)
		bounded.value.len = VALUE_MAX;
	if (*value == NULL)
		*value = mime_scan_value(&bounded);
}

static void read_entity(struct mime_span text, struct entity *entity)
{
	struct mime_scan_field field;

	while (mime_scan_field(&text, &field))
		keep_field(entity, &field);
	mime_scan_empty_line(&text);
	entity->content = text;
}

static bool has_param(const char *header, const char *name)
{
	_cleanup_free_ char *value = NULL;

	return header && param_read(header, name, &value) > 0;
}

static bool is_attachment(const struct entity *entity)
{
	return (entity->disposition &&
		       param_read_is(entity->disposition, "attachment")) ||
	       has_param(entity->disposition, "filename") ||
	       has_param(entity->disposition, "filename*") ||
	       has_param(entity->type, "name") ||
	       has_param(entity->type, "name*");
}

/* Where a part of this type goes, NULL if nowhere. */
static char **place_of(const struct entity *entity, struct mime_summary *summary)
{
	char **place = NULL;

	if (entity->type == NULL || param_read_is(entity->type, "text/plain") ||
		param_read_is(entity->type, "text") ||
		param_read_is(entity->type, ""))
		place = &summary->text;
	else if (param_read_is(entity->type, "text/html"))
		place = &summary->html;
	return place && *place == NULL && !is_attachment(entity) ? place : NULL;
}

/* The charset of a text, NULL when it is not given; a new string. */
static char *charset_of(const struct entity *entity)
{
	char *charset = NULL;

	if (entity->type == NULL ||
		param_read(entity->type, "charset", &charset) <= 0)
		return NULL;
	charset[strcspn(charset, " \t(")] = '\0'; /* a comment */
	return charset;
}

/* The content in UTF-8; NULL when its encoding is not known. */
static char *read_text(const struct entity *entity)
{
	_cleanup_free_ char *charset = charset_of(entity);
	_cleanup_buf_ struct buf bytes = BUF_INIT;
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct buf lines = BUF_INIT;

	if (mime_transfer_decode(entity->encoding, entity->content, &bytes) < 0)
		return NULL;
	mime_charset_add(&text, buf_str(&bytes), bytes.len, charset);
	buf_free(&bytes);
	mime_content_add_lf(&lines, buf_str(&text), text.len);
	return buf_take(&lines);
}

static void visit(struct walk *walk, struct mime_span text, int depth);

static void visit_parts(struct walk *walk, const struct entity *entity, int depth)
{
	_cleanup_free_ char *boundary = NULL;
	const struct mime_summary *summary = walk->summary;
	struct mime_scan_parts parts;
	enum mime_scan_result result;
	struct mime_span text;

	if (depth == DEPTH_MAX ||
		param_read(entity->type, "boundary", &boundary) <= 0 ||
		mime_scan_parts_begin(&parts, entity->content, boundary) < 0)
		return;
	do {
		result = mime_scan_parts_next(&parts, &text);
		if (result != MIME_SCAN_END && text.len > 0)
			visit(walk, text, depth + 1);
	} while (result == MIME_SCAN_PART && walk->parts < PARTS_MAX &&
		 !(summary->html && summary->text));
}

/* Calls itself for each multipart in a multipart, DEPTH_MAX deep. */
static void visit(struct walk *walk, struct mime_span text, int depth)
{
	__attribute__((cleanup(entity_clear))) struct entity entity = {0};
	char **place;

	walk->parts++;
	read_entity(text, &entity);
	if (entity.type && str_starts_nocase(entity.type, "multipart/")) {
		/* The parts of a digest are messages. */
		if (!param_read_is(entity.type, "multipart/digest"))
			visit_parts(walk, &entity, depth);
		return;
	}
	place = place_of(&entity, walk->summary);
	if (place)
		*place = read_text(&entity);
}

void mime_read_body(struct mime_span message, struct mime_summary *summary)
{
	struct walk walk = {.summary = summary};

	visit(&walk, message, 0);
}
