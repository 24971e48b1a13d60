/*
 * mime_part: the leaves of a message's body.
 *
 * An attachment travels in base64, whatever its type. A composite type must
 * not (RFC 2045 6.4): message/rfc822 goes as it is when that changes nothing
 * but its line ends, and otherwise, as every other message/ and multipart/
 * type does, it goes as application/octet-stream.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/mime_part.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/mime_content.h"
#include "core/mail/mime_fold.h"
#include "core/mail/mime_header.h"
#include "core/mail/mime_param.h"
#include "core/mail/mime_type.h"

enum { FILENAME_MAX_LEN = 1000, CONTENT_ID_MAX = 900 };

void mime_part_text(struct buf *out, const char *subtype, const char *text)
{
	buf_printf(out, "Content-Type: text/%s; charset=utf-8\n", subtype);
	mime_content_text(out, text);
}

/* Whether the parameter is `name`, in the way of RFC 2231 too. */
static bool is_name(const char *param)
{
	return str_starts_nocase(param, "name=") ||
	       str_starts_nocase(param, "name*");
}

/* `type`, less what this part says itself. */
static void add_type(
	struct buf *out, const struct mime_type *type, const char *filename)
{
	struct mime_fold fold;

	mime_fold_start(&fold, out, "Content-Type");
	mime_fold_word(&fold, type->name);
	for (size_t i = 0; i < type->params.n; i++) {
		if (is_name(type->params.items[i]))
			continue;
		mime_fold_attach(&fold, ";");
		mime_fold_word(&fold, type->params.items[i]);
	}
	if (*filename)
		mime_param_add_words(&fold, "name", filename);
	mime_fold_end(&fold);
}

static void add_disposition(
	struct buf *out, const char *disposition, const char *filename)
{
	struct mime_fold fold;

	mime_fold_start(&fold, out, "Content-Disposition");
	mime_fold_word(&fold, disposition);
	if (*filename)
		mime_param_add(&fold, "filename", filename);
	mime_fold_end(&fold);
}

/* Whether content can be embedded as it is: what CRLF there is, is everywhere,
 * so that the reader gets the very message. */
static bool is_embeddable(const struct buf *content, struct buf *lf)
{
	size_t crs = 0, lfs = 0;

	mime_content_add_lf(lf, buf_str(content), content->len);
	if (content->len == 0 || !mime_content_is_7bit(lf->data, lf->len))
		return false;
	for (size_t i = 0; i < content->len; i++) {
		crs += content->data[i] == '\r';
		lfs += content->data[i] == '\n';
	}
	if (crs == 0)
		return true;
	return crs == lfs && content->len - lf->len == crs;
}

static void set_type(struct mime_type *type, const char *name)
{
	mime_type_clear(type);
	type->name = mem_strdup(name);
}

static bool is_composite(const struct mime_type *type)
{
	return str_starts(type->name, "message/") ||
	       str_starts(type->name, "multipart/");
}

static int check(const struct attachment *attachment, struct err *err)
{
	const char *filename = attachment->filename;
	const char *id = attachment->content_id;

	if (!mime_header_value_valid(filename))
		return err_set(err, ERR_INVALID,
			"the filename is not UTF-8 or has a control character");
	if (strlen(filename) > FILENAME_MAX_LEN)
		return err_set(err, ERR_INVALID,
			"the filename is longer than %d bytes", FILENAME_MAX_LEN);
	if (id == NULL)
		return 0;
	if (strlen(id) > CONTENT_ID_MAX)
		return err_set(err, ERR_INVALID,
			"the content id is longer than %d bytes", CONTENT_ID_MAX);
	for (; *id; id++)
		if (*id <= ' ' || *id > '~' || *id == '<' || *id == '>')
			return err_set(err, ERR_INVALID,
				"the content id has a blank, <, > or a "
				"character that is not ASCII");
	return 0;
}

static void add_leaf(struct buf *out, const struct attachment *attachment,
	bool as_inline, const struct mime_type *type)
{
	add_type(out, type, attachment->filename);
	if (!str_empty(attachment->content_id))
		buf_printf(out, "Content-ID: <%s>\n", attachment->content_id);
	add_disposition(
		out, as_inline ? "inline" : "attachment", attachment->filename);
}

int mime_part_attachment(struct buf *out, const struct attachment *attachment,
	bool as_inline, struct err *err)
{
	_cleanup_mime_type_ struct mime_type type = {0};
	_cleanup_buf_ struct buf embedded = BUF_INIT;
	const struct buf *content = &attachment->content;
	const char *given = attachment->content_type;
	bool embed;

	if (check(attachment, err) < 0)
		return -1;
	if (str_empty(given))
		given = mime_type_guess(attachment->filename);
	if (mime_type_parse(given, &type, err) < 0)
		return -1;
	embed = str_eq(type.name, "message/rfc822") &&
		is_embeddable(content, &embedded);
	if (!embed && is_composite(&type))
		set_type(&type, "application/octet-stream");
	add_leaf(out, attachment, as_inline, &type);
	if (embed)
		mime_content_7bit(out, embedded.data, embedded.len);
	else
		mime_content_bytes(out, buf_str(content), content->len);
	return 0;
}
