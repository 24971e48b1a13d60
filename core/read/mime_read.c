/*
 * mime_read: reads what a finished message says.
 *
 * Fields are found by mime_scan, as Postfix finds them, and addresses by GMime; an address must
 * also be valid for addr_parse(). The search for the texts visits the parts in order and
 * recurses into multiparts, but not into attached messages. It stops when both are found.
 */
#include "core/read/mime_read.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mime/mime_charset.h"
#include "core/mime/mime_content.h"
#include "core/mime/mime_header.h"
#include "core/mime/mime_gmime.h"
#include "core/mime/mime_param.h"
#include "core/mime/mime_scan.h"
#include "core/mime/mime_words.h"

enum {
	VALUE_MAX = 100 * 1024, /* about the length at which Postfix cuts a field */
	ADDRS_MAX = 2000,
	SUBJECT_MAX = 16 * 1024, /* longer ones are cut */
	MESSAGE_ID_MAX = 998,
	DEPTH_MAX = 10,
	PARTS_MAX = 1000,
	PARAM_VALUE_MAX = 8 * 1024, /* of a field; longer ones are cut */
};

static void on_mailbox(void *user, const char *spec, const char *raw_name)
{
	struct addr_list *list = user;
	_cleanup_free_ char *name = mime_words_decode(raw_name);
	struct addr addr;

	if (list->n >= ADDRS_MAX || addr_parse(spec, &addr, NULL) < 0)
		return;
	/* A name that addr_parse() would not read back is left out. */
	if (mime_header_value_valid(name)) {
		_cleanup_free_ char *text = addr_format(
			&(struct addr){name, addr.local, addr.domain});
		_cleanup_addr_ struct addr again = {0};

		if (addr_parse(text, &again, NULL) == 0 && addr_equal(&again, &addr)) {
			free(addr.name);
			addr.name = TAKE_PTR(again.name);
		}
	}
	*addr_list_add(list) = addr;
}

/* Appends the mailboxes of a field like To, also those inside groups. */
static void read_mailboxes(const struct mime_scan_field *field, struct addr_list *list)
{
	_cleanup_free_ char *value = NULL;

	if (field->value.len > VALUE_MAX || list->n >= ADDRS_MAX)
		return;
	value = mime_scan_value(field);
	mime_mailboxes(value, on_mailbox, list);
}

struct walk {
	struct mime_summary *summary;
	struct mime_files *files; /* NULL: look for the texts */
	int parts;
};

/* A message or a part of one. Missing fields are NULL. */
struct entity {
	char *type;
	char *disposition;
	char *encoding;
	char *content_id;
	struct span content;
};

static void entity_clear(struct entity *entity)
{
	free(entity->content_id);
	free(entity->type);
	free(entity->disposition);
	free(entity->encoding);
}

static void read_entity(struct span text, struct entity *entity)
{
	const struct {
		const char *name;
		char **value;
	} wanted[] = {
		{"Content-Type", &entity->type},
		{"Content-Disposition", &entity->disposition},
		{"Content-Transfer-Encoding", &entity->encoding},
		{"Content-ID", &entity->content_id},
	};
	struct mime_scan_field field;

	while (mime_scan_field(&text, &field))
		for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
			if (*wanted[i].value || !mime_scan_is(&field, wanted[i].name))
				continue;
			if (field.value.len > PARAM_VALUE_MAX)
				field.value.len = PARAM_VALUE_MAX;
			*wanted[i].value = mime_scan_value(&field);
		}
	mime_scan_empty_line(&text);
	entity->content = text;
}

/* Returns the file's name, NULL if it has none. That of Content-Disposition counts (RFC 2183 2.3);
 * the other one is older. */
static char *entity_name(const struct entity *entity)
{
	char *name = NULL;

	if ((entity->disposition && param_read_text(entity->disposition, "filename", &name) > 0) ||
		(entity->type && param_read_text(entity->type, "name", &name) > 0))
		return name;
	return NULL;
}

/* Returns the member that a part of this type goes to; NULL if it is there already, or the part is
 * an attachment or of another type. */
static char **place_of(const struct entity *entity, struct mime_summary *summary)
{
	_cleanup_free_ char *name = NULL;
	char **place = NULL;

	if (entity->type == NULL || param_read_is(entity->type, "text/plain") ||
		param_read_is(entity->type, "text") || param_read_is(entity->type, ""))
		place = &summary->text;
	else if (param_read_is(entity->type, "text/html"))
		place = &summary->html;
	if (place == NULL || *place != NULL)
		return NULL;
	if (entity->disposition && param_read_is(entity->disposition, "attachment"))
		return NULL;
	name = entity_name(entity);
	return name ? NULL : place;
}

/* Returns the content in UTF-8; NULL if its encoding is unknown. */
static char *read_text(const struct entity *entity)
{
	_cleanup_free_ char *charset = NULL;
	_cleanup_buf_ struct buf bytes = BUF_INIT;
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct buf lines = BUF_INIT;

	if (mime_content_decode(entity->encoding, entity->content, &bytes) < 0)
		return NULL;
	if (entity->type && param_read(entity->type, "charset", &charset) > 0)
		charset[strcspn(charset, " \t(")] = '\0'; /* cuts off a comment */
	mime_charset_add(&text, buf_str(&bytes), bytes.len, mime_charset_of_name(charset));
	buf_free(&bytes);
	mime_content_add_lf(&lines, buf_str(&text), text.len);
	return buf_take(&lines);
}

static void add_file(struct mime_files *files, struct entity *entity)
{
	struct mime_file *file;
	const char *id = entity->content_id;
	size_t len = id ? strlen(id) : 0;

	files->items = mem_append(files->items, files->n, sizeof(*files->items));
	file = &files->items[files->n++];
	*file = (struct mime_file){
		.name = entity_name(entity),
		.is_inline = entity->disposition && param_read_is(entity->disposition, "inline"),
		.encoding = TAKE_PTR(entity->encoding),
		.content = entity->content,
	};
	if (file->name)
		str_make_line(file->name); /* people see it, and it becomes a file name */
	if (entity->type)
		file->type = str_trim(entity->type, strcspn(entity->type, ";"));
	if (len > 2 && id[0] == '<' && id[len - 1] == '>') {
		file->content_id = mem_dup(id + 1, len - 2);
		str_make_line(file->content_id);
	}
}

static void visit_part(struct walk *walk, struct span text, int depth);

static void visit_parts(struct walk *walk, const struct entity *entity, int depth)
{
	_cleanup_free_ char *boundary = NULL;
	const struct mime_summary *summary = walk->summary;
	struct mime_scan_parts parts;
	enum mime_scan_result result;
	struct span text;

	if (depth == DEPTH_MAX || param_read(entity->type, "boundary", &boundary) <= 0 ||
		mime_scan_parts_begin(&parts, entity->content, boundary) < 0)
		return;
	do {
		result = mime_scan_parts_next(&parts, &text);
		if (result != MIME_SCAN_END && text.len > 0)
			visit_part(walk, text, depth + 1);
	} while (result == MIME_SCAN_PART && walk->parts < PARTS_MAX &&
		 (walk->files || !(summary->html && summary->text)));
}

/* Recurses into nested multiparts, up to DEPTH_MAX. */
static void visit_part(struct walk *walk, struct span text, int depth)
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
		*place = walk->files ? mem_strdup("") : read_text(&entity);
	else if (walk->files)
		add_file(walk->files, &entity);
}

static void on_from(const struct mime_scan_field *field, struct mime_summary *summary)
{
	if (summary->from_fields.n < MIME_READ_FROM_MAX)
		strv_take(&summary->from_fields, mime_scan_value(field));
}

static void on_subject(const struct mime_scan_field *field, struct mime_summary *summary)
{
	struct mime_scan_field bounded = *field;
	_cleanup_free_ char *value = NULL;

	if (summary->subject)
		return;
	if (bounded.value.len > SUBJECT_MAX)
		bounded.value.len = SUBJECT_MAX;
	value = mime_scan_value(&bounded);
	summary->subject = mime_words_decode(value);
	for (char *p = summary->subject; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
}

/* True for `<left@right>`. Mailers do not always follow RFC 5322 here, so any visible character
 * is accepted. */
static bool is_message_id(const char *value)
{
	size_t len = strlen(value);
	const char *at = strchr(value, '@');

	if (len > MESSAGE_ID_MAX || value[0] != '<' || value[len - 1] != '>' || at == NULL ||
		at == value + 1 || at == value + len - 2)
		return false;
	for (size_t i = 1; i < len - 1; i++)
		if (value[i] <= ' ' || value[i] > '~' || strchr("<>", value[i]) ||
			(value[i] == '@' && value + i != at))
			return false;
	return true;
}

static void on_message_id(const struct mime_scan_field *field, struct mime_summary *summary)
{
	char *value = mime_scan_value(field);

	if (summary->message_id == NULL && is_message_id(value))
		summary->message_id = value;
	else
		free(value);
}

static void on_date(const struct mime_scan_field *field, struct mime_summary *summary)
{
	_cleanup_free_ char *value = mime_scan_value(field);

	summary->has_date |= *value != '\0';
}

/* What to do with a field: call on_field(), or add its mailboxes to a list. */
static const struct {
	const char *name;
	void (*on_field)(const struct mime_scan_field *field, struct mime_summary *summary);
	size_t list; /* offset in struct mime_summary */
} readers[] = {
	{"From", on_from, 0},
	{"Subject", on_subject, 0},
	{"Message-ID", on_message_id, 0},
	{"Date", on_date, 0},
	{"To", NULL, offsetof(struct mime_summary, to)},
	{"Cc", NULL, offsetof(struct mime_summary, cc)},
	{"Reply-To", NULL, offsetof(struct mime_summary, reply_to)},
};

static void read_header(struct span message, struct mime_summary *summary)
{
	struct mime_scan_field field;

	while (mime_scan_field(&message, &field))
		for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
			if (!mime_scan_is(&field, readers[i].name))
				continue;
			else if (readers[i].on_field)
				readers[i].on_field(&field, summary);
			else
				read_mailboxes(&field, (void *)((char *)summary + readers[i].list));
}

static void set_default(char **text)
{
	if (*text == NULL)
		*text = mem_strdup("");
}

static void read_body_texts(struct span message, struct mime_summary *summary)
{
	struct walk walk = {.summary = summary};

	visit_part(&walk, message, 0);
	set_default(&summary->html);
	set_default(&summary->text);
}

void mime_read(const char *data, size_t len, struct mime_summary *summary_r)
{
	struct span message = {data, len};

	*summary_r = (struct mime_summary){0};
	mime_scan_drop_from_line(&message);
	read_header(message, summary_r);
	read_body_texts(message, summary_r);
	set_default(&summary_r->subject);
}

void mime_read_texts(const char *data, size_t len, char **html_r, char **text_r)
{
	struct mime_summary summary = {0};
	struct span message = {data, len};

	mime_scan_drop_from_line(&message);
	read_body_texts(message, &summary);
	*html_r = summary.html;
	*text_r = summary.text;
}

void mime_summary_clear(struct mime_summary *summary)
{
	strv_free(&summary->from_fields);
	free(summary->subject);
	free(summary->html);
	free(summary->text);
	free(summary->message_id);
	addr_list_clear(&summary->to);
	addr_list_clear(&summary->cc);
	addr_list_clear(&summary->reply_to);
	*summary = (struct mime_summary){0};
}

void mime_read_files(const char *data, size_t len, struct mime_files *files_r)
{
	struct mime_summary summary = {0};
	struct span message = {data, len};
	struct walk walk = {.summary = &summary, .files = files_r};

	*files_r = (struct mime_files){0};
	mime_scan_drop_from_line(&message);
	visit_part(&walk, message, 0);
	mime_summary_clear(&summary);
}

void mime_file_content(const struct mime_file *file, struct buf *out)
{
	if (mime_content_decode(file->encoding, file->content, out) < 0)
		buf_add(out, file->content.data, file->content.len);
}

void mime_files_free(struct mime_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		free(files->items[i].name);
		free(files->items[i].type);
		free(files->items[i].content_id);
		free(files->items[i].encoding);
	}
	free(files->items);
	*files = (struct mime_files){0};
}
