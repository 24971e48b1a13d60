/*
 * mime_type: media types of attachments.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/mime_type.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

enum {
	NAME_MAX_LEN = 127, /* of type and of subtype: RFC 6838 4.2 */
	PARAM_MAX = 900     /* must fit on a line */
};

/* token of RFC 2045 5.1 */
static size_t token_len(const char *text)
{
	size_t len = 0;

	while (text[len] > ' ' && text[len] <= '~' &&
		strchr("()<>@,;:\\\"/[]?=", text[len]) == NULL)
		len++;
	return len;
}

static size_t quoted_len(const char *text)
{
	for (size_t i = 1; text[i] >= ' ' && text[i] <= '~'; i++) {
		if (text[i] == '"')
			return i + 1;
		if (text[i] == '\\' && (text[++i] < ' ' || text[i] > '~'))
			return 0;
	}
	return 0;
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

/* The length of `type/subtype` at text; 0 when there is none. */
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

/* Reads one parameter; returns what is behind it, NULL when it is none. */
static const char *read_param(const char *text, struct strv *params)
{
	size_t name = token_len(text), value;

	if (name == 0 || text[name] != '=')
		return NULL;
	text += name + 1;
	value = *text == '"' ? quoted_len(text) : token_len(text);
	if (value == 0 || name + value > PARAM_MAX)
		return NULL;
	strv_take(params, mem_dup(text - name - 1, name + 1 + value));
	return skip_blanks(text + value);
}

/* Reads `; a=b; c=d`, a last semicolon allowed: many send it. */
static bool read_params(const char *text, struct strv *params)
{
	while (*text == ';') {
		text = skip_blanks(text + 1);
		if (*text == '\0')
			return true;
		text = read_param(text, params);
		if (text == NULL)
			return false;
	}
	return *text == '\0';
}

int mime_type_parse(const char *text, struct mime_type *type_r, struct err *err)
{
	struct strv params = STRV_INIT;
	size_t len;

	text = skip_blanks(text);
	len = name_len(text);
	if (len == 0 || !read_params(skip_blanks(text + len), &params)) {
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

void mime_type_clear(struct mime_type *type)
{
	free(type->name);
	strv_free(&type->params);
	*type = (struct mime_type){0};
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

const char *mime_type_guess(const char *filename)
{
	const char *dot = strrchr(filename, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(endings); i++)
		if (str_eq_nocase(dot + 1, endings[i].ending))
			return endings[i].type;
	return "application/octet-stream";
}
