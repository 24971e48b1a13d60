/*
 * mime_fold: writes one header field, folded.
 *
 * Threads: any; one field belongs to one thread at a time.
 */
#include "core/mail/mime_fold.h"

#include <string.h>

void mime_fold_start(struct mime_fold *fold, struct buf *out, const char *name)
{
	*fold = (struct mime_fold){.out = out, .first = true};
	mime_fold_attach(fold, name);
	mime_fold_attach(fold, ":");
}

void mime_fold_add(
	struct mime_fold *fold, const char *text, size_t blanks, size_t len)
{
	size_t limit = fold->first ? MIME_FOLD_MAX : MIME_FOLD_WANTED;

	/* Blanks alone must not become a line. */
	if (blanks > 0 && len > blanks && fold->column + len > limit)
		mime_fold_break(fold);
	buf_add(fold->out, text, len);
	fold->column += len;
	fold->first = false;
}

void mime_fold_word(struct mime_fold *fold, const char *word)
{
	struct buf text = BUF_INIT;

	buf_printf(&text, " %s", word);
	mime_fold_add(fold, text.data, 1, text.len);
	buf_free(&text);
}

void mime_fold_break(struct mime_fold *fold)
{
	buf_add_char(fold->out, '\n');
	fold->column = 0;
	fold->first = false;
}

void mime_fold_attach(struct mime_fold *fold, const char *text)
{
	buf_add_str(fold->out, text);
	fold->column += strlen(text);
}

void mime_fold_end(struct mime_fold *fold)
{
	buf_add_char(fold->out, '\n');
}
