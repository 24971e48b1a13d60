/*
 * email_find: the email that the argument of a verb names.
 *
 * Threads: one, the command's.
 */
#include "cli/email_find.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

enum { NAMED_MAX = 5 };

static const struct email_scope everything = {0};

static int find_by_id(
	const struct call *call, struct email *email_r, struct err *err)
{
	char id[ID_SIZE];
	int found;

	if (call_id_argument(call, id, err) < 0)
		return -1;
	found = store_email_get(call->db, id, &everything, email_r, err);
	if (found == 0)
		err_set(err, ERR_NOT_FOUND, "there is no email with the id %s",
			id);
	return found > 0 ? 0 : -1;
}

/* The form API's own Message-IDs begin with the id: 1, 0 when there is no such
 * email, -1. */
static int find_own(const struct call *call, const char *message_id,
	struct email *email_r, struct err *err)
{
	_cleanup_free_ char *local = mem_dup(
		message_id + 1, strcspn(message_id + 1, "@"));
	char id[ID_SIZE];

	if (!id_parse(local, id))
		return 0;
	return store_email_get(call->db, id, &everything, email_r, err);
}

static int refuse_several(
	const char *message_id, const struct email_list *list, struct err *err)
{
	_cleanup_buf_ struct buf ids = BUF_INIT;

	for (size_t i = 0; i < list->n && i < NAMED_MAX; i++)
		buf_printf(&ids, "%s%s", i ? ", " : "", list->items[i].id);
	return err_set(err, ERR_INVALID,
		"several emails have the Message-ID %s; show one of them by "
		"its id: %s%s",
		message_id, buf_str(&ids), list->n > NAMED_MAX ? ", ..." : "");
}

static int find_chosen(const struct call *call, const char *message_id,
	struct email *email_r, struct err *err)
{
	struct email_list list;
	int found = 0;

	if (store_email_list_chosen(
		    call->db, message_id, NAMED_MAX + 1, &list, err) < 0)
		return -1;
	if (list.n > 1)
		found = refuse_several(message_id, &list, err);
	else if (list.n == 1)
		found = store_email_get(
			call->db, list.items[0].id, &everything, email_r, err);
	store_email_list_free(&list);
	if (found == 0)
		err_set(err, ERR_NOT_FOUND,
			"there is no email with the Message-ID %s", message_id);
	return found > 0 ? 0 : -1;
}

int email_find(const struct call *call, struct email *email_r, struct err *err)
{
	const char *text = call_argument(call);
	_cleanup_free_ char *message_id = NULL;
	int found;

	if (strchr(text, '@') == NULL)
		return find_by_id(call, email_r, err);
	message_id = *text == '<' ? mem_strdup(text) : mem_printf("<%s>", text);
	found = find_own(call, message_id, email_r, err);
	if (found != 0)
		return found > 0 ? 0 : -1;
	return find_chosen(call, message_id, email_r, err);
}
