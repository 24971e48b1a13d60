/*
 * form_cid: replaces content ids that cannot stand in a header field.
 *
 * Threads: any; holds no state.
 */
#include "httpd/form/form_cid.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/mime_message.h"
#include "httpd/http/percent.h"

/* No longer name is looked for in the html. */
enum { NAME_MAX_LEN = 1000 };

static const char scheme[] = "cid:";

struct file {
	const char *name;
	char *id;
};

/* Sorted by name. */
struct files {
	struct file *items;
	size_t n;
};

static bool is_plain(const char *name)
{
	for (; *name; name++)
		if (*name <= ' ' || *name > '~' || strchr("<>%", *name))
			return false;
	return true;
}

static char *new_id(size_t number, const char *name)
{
	char *id = mem_printf("%zu.%s@inline", number, name);

	for (char *p = id; *p; p++)
		if (*p <= ' ' || *p > '~' || strchr("<>%\"'()&", *p))
			*p = '_';
	return id;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(
		((const struct file *)a)->name, ((const struct file *)b)->name);
}

static void collect(const struct mime_message *message, struct files *files)
{
	files->items = mem_alloc(message->attachments_n, sizeof(*files->items));
	for (size_t i = 0; i < message->attachments_n; i++) {
		const struct attachment *file = &message->attachments[i];

		if (file->content_id && !is_plain(file->content_id))
			files->items[files->n++] = (struct file){
				file->filename, new_id(i, file->filename)};
	}
	qsort(files->items, files->n, sizeof(*files->items), by_name);
}

static const struct file *find(const struct files *files, const char *name)
{
	const struct file wanted = {.name = name};

	return bsearch(&wanted, files->items, files->n, sizeof(wanted), by_name);
}

/* The file of the text as it stands, or as it reads decoded. */
static const struct file *find_text(
	const struct files *files, const char *text, size_t len)
{
	char name[NAME_MAX_LEN + 1];
	const struct file *file;

	if (len > NAME_MAX_LEN)
		return NULL;
	memcpy(name, text, len);
	name[len] = '\0';
	file = find(files, name);
	if (file == NULL && percent_decode((struct http_text){text, len}, name,
				    sizeof(name)))
		file = find(files, name);
	return file;
}

/* How long the name at the address is, by what stands before `cid:`. */
static size_t name_length(char before, const char *at)
{
	switch (before) {
	case '"':
		return strcspn(at, "\"");
	case '\'':
		return strcspn(at, "'");
	case '(':
		return strcspn(at, ")");
	default:
		return strcspn(at, " \t\r\n\"'()<>");
	}
}

/* Adds the html up to the next name, and that; where the rest begins. */
static const char *rewrite_one(
	const struct files *files, const char *at, struct buf *out)
{
	const char *name = at + strlen(scheme);
	size_t len = name_length(at[-1], name);
	const struct file *file = find_text(files, name, len);

	buf_add(out, at, strlen(scheme));
	if (file)
		buf_add_str(out, file->id);
	else
		buf_add(out, name, len);
	return name + len;
}

static char *rewrite(const struct files *files, const char *html)
{
	struct buf out = BUF_INIT;
	const char *at = html;

	while (*at) {
		if (at > html && str_starts_nocase(at, scheme))
			at = rewrite_one(files, at, &out);
		else
			buf_add_char(&out, *at++);
	}
	return buf_take(&out);
}

static void set_ids(const struct files *files, struct mime_message *message)
{
	for (size_t i = 0; i < message->attachments_n; i++) {
		struct attachment *file = &message->attachments[i];

		if (file->content_id == NULL || is_plain(file->content_id))
			continue;
		free(file->content_id);
		file->content_id = mem_strdup(find(files, file->filename)->id);
	}
}

void form_cid_apply(struct mime_message *message)
{
	struct files files = {0};

	collect(message, &files);
	if (files.n > 0) {
		set_ids(&files, message);
		if (message->html) {
			char *html = message->html;

			message->html = rewrite(&files, html);
			free(html);
		}
	}
	for (size_t i = 0; i < files.n; i++)
		free(files.items[i].id);
	free(files.items);
}
