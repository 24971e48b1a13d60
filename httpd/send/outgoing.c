/*
 * outgoing: an email that a client wants sent.
 *
 * Threads: any; holds no state.
 */
#include "httpd/send/outgoing.h"

static void clear_addrs(struct addr_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		addr_clear(&list->items[i]);
	free(list->items);
}

void outgoing_clear(struct outgoing *outgoing)
{
	mime_message_clear(&outgoing->message);
	clear_addrs(&outgoing->bcc);
	clear_addrs(&outgoing->envelope);
	buf_free(&outgoing->finished);
	free(outgoing->tags);
	free(outgoing->variables);
	*outgoing = (struct outgoing){0};
}
