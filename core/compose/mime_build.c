/*
 * mime_build: composes a message, with nested bodies.
 *
 * Everything is written once, directly into the caller's buffer. A part is header, empty line
 * and content. The line break after the content belongs to the following boundary.
 */
#include "core/compose/mime_build.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/compose/mime_fields.h"
#include "core/mime/mime_content.h"
#include "core/mime/mime_header.h"
#include "core/mime/mime_param.h"
#include "core/mime/mime_scan.h"

/* A media type. */
struct mime_type {
	char *name;         /* `type/subtype`, lower case */
	struct strv params; /* each `name=value` as written in the header */
};

static void mime_type_clear(struct mime_type *type)
{
	free(type->name);
	strv_free(&type->params);
	*type = (struct mime_type){0};
}
#define _cleanup_mime_type_ __attribute__((cleanup(mime_type_clear)))

enum {
	NAME_MAX_LEN = 127, /* of type and of subtype (RFC 6838 4.2) */
	PARAM_MAX = 900     /* must fit on a line */
};

/* Returns the length of the token at text (RFC 2045 5.1). */
static size_t token_len(const char *text)
{
	size_t len = 0;

	while (text[len] > ' ' && text[len] <= '~' &&
		strchr("()<>@,;:\\\"/[]?=", text[len]) == NULL)
		len++;
	return len;
}

static size_t quoted_string_len(const char *text)
{
	for (size_t i = 1; text[i] >= ' ' && text[i] <= '~'; i++) {
		if (text[i] == '"')
			return i + 1;
		if (text[i] == '\\' && (text[++i] < ' ' || text[i] > '~'))
			return 0;
	}
	return 0;
}

/* Returns the length of `type/subtype` at text; 0 if none. */
static size_t name_len(const char *text)
{
	size_t type = token_len(text), subtype;

	if (type == 0 || type > NAME_MAX_LEN || text[type] != '/')
		return 0;
	subtype = token_len(text + type + 1);
	if (subtype == 0 || subtype > NAME_MAX_LEN)
		return 0;
	return type + 1 + subtype;
}

/* Reads `; a=b; c=d`. Accepts a trailing semicolon, which many clients send. False if a parameter
 * is invalid. */
static bool read_params(const char *text, struct strv *params)
{
	while (*text == ';') {
		const char *param = str_skip_blanks(text + 1);
		size_t name = token_len(param), value;

		if (*param == '\0')
			return true;
		if (name == 0 || param[name] != '=')
			return false;
		text = param + name + 1;
		value = *text == '"' ? quoted_string_len(text) : token_len(text);
		if (value == 0 || name + value > PARAM_MAX)
			return false;
		strv_take(params, mem_dup(param, name + 1 + value));
		text = str_skip_blanks(text + value);
	}
	return *text == '\0';
}

/* Parses `type/subtype` with optional parameters. ERR_INVALID for everything that RFC 2045 does
 * not allow, and for comments. The caller calls mime_type_clear(). */
static int mime_type_parse(const char *text, struct mime_type *type_r, struct err *err)
{
	struct strv params = STRV_INIT;
	size_t len;

	text = str_skip_blanks(text);
	len = name_len(text);
	if (len == 0 || !read_params(str_skip_blanks(text + len), &params)) {
		strv_free(&params);
		return err_set(err, ERR_INVALID,
			"\"%.*s\" is no media type such as application/pdf",
			(int)str_utf8_cut(text, 100), text);
	}
	type_r->name = mem_dup(text, len);
	str_lower(type_r->name);
	type_r->params = params;
	return 0;
}

static const struct {
	const char *ending;
	const char *type;
} endings[] = {
	{"7z", "application/x-7z-compressed"},
	{"aac", "audio/aac"},
	{"avif", "image/avif"},
	{"avi", "video/x-msvideo"},
	{"bmp", "image/bmp"},
	{"bz2", "application/x-bzip2"},
	{"css", "text/css"},
	{"csv", "text/csv"},
	{"doc", "application/msword"},
	{"docx", "application/vnd.openxmlformats-officedocument"
		 ".wordprocessingml.document"},
	{"eml", "message/rfc822"},
	{"epub", "application/epub+zip"},
	{"flac", "audio/flac"},
	{"gif", "image/gif"},
	{"gz", "application/gzip"},
	{"heic", "image/heic"},
	{"htm", "text/html"},
	{"html", "text/html"},
	{"ico", "image/vnd.microsoft.icon"},
	{"ics", "text/calendar"},
	{"jpeg", "image/jpeg"},
	{"jpg", "image/jpeg"},
	{"js", "text/javascript"},
	{"json", "application/json"},
	{"log", "text/plain"},
	{"m4a", "audio/mp4"},
	{"md", "text/markdown"},
	{"mov", "video/quicktime"},
	{"mp3", "audio/mpeg"},
	{"mp4", "video/mp4"},
	{"odp", "application/vnd.oasis.opendocument.presentation"},
	{"ods", "application/vnd.oasis.opendocument.spreadsheet"},
	{"odt", "application/vnd.oasis.opendocument.text"},
	{"ogg", "audio/ogg"},
	{"p7m", "application/pkcs7-mime"},
	{"p7s", "application/pkcs7-signature"},
	{"pdf", "application/pdf"},
	{"png", "image/png"},
	{"ppt", "application/vnd.ms-powerpoint"},
	{"pptx", "application/vnd.openxmlformats-officedocument"
		 ".presentationml.presentation"},
	{"ps", "application/postscript"},
	{"rar", "application/vnd.rar"},
	{"rtf", "application/rtf"},
	{"svg", "image/svg+xml"},
	{"tar", "application/x-tar"},
	{"tif", "image/tiff"},
	{"tiff", "image/tiff"},
	{"txt", "text/plain"},
	{"vcf", "text/vcard"},
	{"wav", "audio/wav"},
	{"webm", "video/webm"},
	{"webp", "image/webp"},
	{"xls", "application/vnd.ms-excel"},
	{"xlsx", "application/vnd.openxmlformats-officedocument"
		 ".spreadsheetml.sheet"},
	{"xml", "application/xml"},
	{"yaml", "application/yaml"},
	{"yml", "application/yaml"},
	{"zip", "application/zip"},
};

/* Returns the media type for the filename's extension, a constant; application/octet-stream if
 * unknown. */
static const char *mime_type_guess(const char *filename)
{
	const char *dot = strrchr(filename, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(endings); i++)
		if (str_eq_nocase(dot + 1, endings[i].ending))
			return endings[i].type;
	return "application/octet-stream";
}

/* With blanks and the name added, the Content-Type field stays within MIME_FIELDS_MAX. */
enum { FILENAME_MAX_LEN = 1000, CONTENT_ID_MAX = 900, CONTENT_TYPE_MAX = 40000 };

/* Appends a text part in UTF-8. subtype is plain or html. */
static void add_text_part(struct buf *out, const char *subtype, const char *text)
{
	buf_printf(out, "Content-Type: text/%s; charset=utf-8\n", subtype);
	mime_content_text(out, text);
}

/* Writes Content-Type with the given parameters, except `name`, also in the form of RFC 2231, which
 * is set from the filename. */
static void add_type(struct buf *out, const struct mime_type *type, const char *filename)
{
	struct mime_fold fold;

	mime_fold_start(&fold, out, "Content-Type");
	mime_fold_word(&fold, type->name);
	for (size_t i = 0; i < type->params.n; i++) {
		const char *param = type->params.items[i];

		if (str_starts_nocase(param, "name=") || str_starts_nocase(param, "name*"))
			continue;
		mime_fold_attach(&fold, ";");
		mime_fold_word(&fold, param);
	}
	if (*filename)
		mime_param_add_words(&fold, "name", filename);
	mime_fold_end(&fold);
}

static void add_disposition(struct buf *out, const char *disposition, const char *filename)
{
	struct mime_fold fold;

	mime_fold_start(&fold, out, "Content-Disposition");
	mime_fold_word(&fold, disposition);
	if (*filename)
		mime_param_add(&fold, "filename", filename);
	mime_fold_end(&fold);
}

/* True if a header field of the attached message, or of a message inside it, may be longer than
 * Postfix passes on. Every line that looks like a field counts. */
static bool has_long_field(const struct buf *text)
{
	struct span rest = {buf_str(text), text->len}, line;
	struct mime_scan_field field;

	while (rest.len > 0)
		if (!mime_scan_field(&rest, &field))
			mime_scan_line(&rest, &line, NULL);
		else if (field.raw.len > MIME_FIELDS_MAX)
			return true;
	return false;
}

/* True if the content can be embedded unencoded and arrives unchanged: its line ends are all LF
 * or all CRLF, and Postfix cuts nothing. */
static bool is_embeddable(const struct buf *content, struct buf *lf)
{
	size_t crs = 0, lfs = 0;

	mime_content_add_lf(lf, buf_str(content), content->len);
	if (content->len == 0 || !mime_content_is_7bit(lf->data, lf->len) || has_long_field(lf))
		return false;
	for (size_t i = 0; i < content->len; i++) {
		crs += content->data[i] == '\r';
		lfs += content->data[i] == '\n';
	}
	if (crs == 0)
		return true;
	return crs == lfs && content->len - lf->len == crs;
}

static int check_attachment(const struct attachment *attachment, struct err *err)
{
	const char *filename = attachment->filename;
	const char *type = attachment->content_type;
	const char *id = attachment->content_id;

	if (!mime_header_value_valid(filename))
		return err_set(
			err, ERR_INVALID, "the filename is not UTF-8 or has a control character");
	if (strlen(filename) > FILENAME_MAX_LEN)
		return err_set(
			err, ERR_INVALID, "the filename is longer than %d bytes", FILENAME_MAX_LEN);
	if (type && strlen(type) > CONTENT_TYPE_MAX)
		return err_set(err, ERR_INVALID, "the content type is longer than %d bytes",
			CONTENT_TYPE_MAX);
	if (id == NULL)
		return 0;
	if (strlen(id) > CONTENT_ID_MAX)
		return err_set(
			err, ERR_INVALID, "the content id is longer than %d bytes", CONTENT_ID_MAX);
	for (; *id; id++)
		if (*id <= ' ' || *id > '~' || *id == '<' || *id == '>')
			return err_set(err, ERR_INVALID,
				"the content id has a blank, <, > or a character that is not ASCII");
	return 0;
}

/* Appends an attachment; as_inline is for one that the HTML shows. It is encoded in base64,
 * whatever its type. Composite types must not be encoded (RFC 2045 6.4): message/rfc822 is
 * embedded as it is if only its line ends change. Otherwise it is sent as
 * application/octet-stream, like all other message/ and multipart/ types. The error says what
 * is wrong with the attachment, but not which one it is. */
static int add_attachment(
	struct buf *out, const struct attachment *attachment, bool as_inline, struct err *err)
{
	_cleanup_mime_type_ struct mime_type type = {0};
	_cleanup_buf_ struct buf embedded = BUF_INIT;
	const struct buf *content = &attachment->content;
	const char *given = attachment->content_type;
	bool embed;

	if (check_attachment(attachment, err) < 0)
		return -1;
	if (str_empty(given))
		given = mime_type_guess(attachment->filename);
	if (mime_type_parse(given, &type, err) < 0)
		return -1;
	embed = str_eq(type.name, "message/rfc822") && is_embeddable(content, &embedded);
	if (!embed && (str_starts(type.name, "message/") || str_starts(type.name, "multipart/"))) {
		mime_type_clear(&type);
		type.name = mem_strdup("application/octet-stream");
	}
	add_type(out, &type, attachment->filename);
	if (!str_empty(attachment->content_id))
		buf_printf(out, "Content-ID: <%s>\n", attachment->content_id);
	add_disposition(out, as_inline ? "inline" : "attachment", attachment->filename);
	if (embed)
		mime_content_7bit(out, embedded.data, embedded.len);
	else
		mime_content_bytes(out, buf_str(content), content->len);
	return 0;
}

/* A multipart (RFC 2046 5.1): begin, then next before each part, then end. Boundaries begin
 * with "=_", which neither base64 nor quoted-printable produces, and are random because of 7bit
 * content. */
struct multipart {
	struct buf *out;
	char boundary[2 + ID_SIZE];
};

/* Ends the header. param follows the boundary: "" or `; name=value`. */
static void multipart_begin(
	struct multipart *multipart, struct buf *out, const char *subtype, const char *param)
{
	multipart->out = out;
	memcpy(multipart->boundary, "=_", 2);
	id_new(multipart->boundary + 2);
	buf_printf(out, "Content-Type: multipart/%s;\n boundary=\"%s\"%s\n", subtype,
		multipart->boundary, param);
}

static void multipart_next(struct multipart *multipart)
{
	buf_printf(multipart->out, "\n--%s\n", multipart->boundary);
}

static void multipart_end(struct multipart *multipart)
{
	buf_printf(multipart->out, "\n--%s--", multipart->boundary);
}

static void add_text_parts(struct buf *out, const struct mime_message *message)
{
	struct multipart multipart;

	if (str_empty(message->html)) {
		const char *text = message->text ? message->text : "";

		add_text_part(out, "plain", text);
		return;
	}
	if (str_empty(message->text)) {
		add_text_part(out, "html", message->html);
		return;
	}
	multipart_begin(&multipart, out, "alternative", "");
	multipart_next(&multipart);
	add_text_part(out, "plain", message->text);
	multipart_next(&multipart);
	add_text_part(out, "html", message->html);
	multipart_end(&multipart);
}

/* True if the HTML of the message can show the attachment. */
static bool is_inline(const struct mime_message *message, size_t i)
{
	return !str_empty(message->html) && !str_empty(message->attachments.items[i].content_id);
}

static size_t count_inline(const struct mime_message *message)
{
	size_t n = 0;

	for (size_t i = 0; i < message->attachments.n; i++)
		n += is_inline(message, i);
	return n;
}

/* Adds either the inline attachments or the others. */
static int add_attachments(struct multipart *multipart, const struct mime_message *message,
	bool inlines, struct err *err)
{
	for (size_t i = 0; i < message->attachments.n; i++) {
		if (is_inline(message, i) != inlines)
			continue;
		multipart_next(multipart);
		if (add_attachment(multipart->out, &message->attachments.items[i], inlines, err) <
			0)
			return err_prefix(err, "attachments[%zu]", i);
	}
	return 0;
}

static int add_related(struct buf *out, const struct mime_message *message, struct err *err)
{
	struct multipart multipart;

	if (count_inline(message) == 0) {
		add_text_parts(out, message);
		return 0;
	}
	/* RFC 2387 3.1 requires the type of the root. */
	multipart_begin(&multipart, out, "related",
		str_empty(message->text) ? "; type=\"text/html\""
					 : ";\n type=\"multipart/alternative\"");
	multipart_next(&multipart);
	add_text_parts(out, message);
	if (add_attachments(&multipart, message, true, err) < 0)
		return -1;
	multipart_end(&multipart);
	return 0;
}

static int add_mixed(struct buf *out, const struct mime_message *message, struct err *err)
{
	struct multipart multipart;

	if (count_inline(message) == message->attachments.n)
		return add_related(out, message, err);
	multipart_begin(&multipart, out, "mixed", "");
	multipart_next(&multipart);
	if (add_related(out, message, err) < 0 ||
		add_attachments(&multipart, message, false, err) < 0)
		return -1;
	multipart_end(&multipart);
	return 0;
}

static int check_text(const char *name, const char *text, struct err *err)
{
	if (text == NULL || str_utf8_valid(text, strlen(text)))
		return 0;
	return err_set(err, ERR_INVALID, "the %s is not UTF-8", name);
}

int mime_build(const struct mime_message *message, struct buf *out, struct err *err)
{
	size_t start = out->len, about = 4096;

	if (check_text("text", message->text, err) < 0 ||
		check_text("html", message->html, err) < 0)
		return -1;
	for (size_t i = 0; i < message->attachments.n; i++)
		about += message->attachments.items[i].content.len / 57 * 78 + 4096;
	buf_reserve(out, about);
	if (mime_fields_add(out, message, err) < 0 || add_mixed(out, message, err) < 0) {
		out->len = start;
		out->data[start] = '\0';
		return -1;
	}
	if (out->data[out->len - 1] != '\n')
		buf_add_char(out, '\n');
	return 0;
}
