/*
 * probe_notes: a probe is recognized by its Message-ID, which contains its ticket. The queue
 * manager logs only the queue id, so the queue ids of the newest probes are kept here.
 */
#include "events/probe_notes.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/policy/ticket.h"
#include "core/store/outbox/store_probe.h"

enum {
	IDS = 32, /* newest probes */
	ID_MAX = 40,
};

struct probe_notes {
	struct db *db;
	struct {
		char queue_id[ID_MAX];
		char ticket[SECRET_TICKET_SIZE];
	} ids[IDS];
	size_t next;
	struct postfix_notes news;
	int64_t stored_us; /* when news were last stored */
	bool fresh;        /* news changed since then */
};

struct probe_notes *probe_notes_new(struct db *db)
{
	struct probe_notes *notes = mem_new(struct probe_notes);

	notes->db = db;
	(void)store_postfix_notes_get(db, &notes->news, NULL);
	return notes;
}

void probe_notes_free(struct probe_notes *notes)
{
	free(notes);
}

/* Reads a ticket's address. Most lines fail the length check, which is cheap. */
static bool read_ticket(struct span text, char ticket_r[static SECRET_TICKET_SIZE])
{
	char address[SECRET_TICKET_SIZE + sizeof(TICKET_DOMAIN) + 2];

	if (text.data == NULL || text.len < SECRET_TICKET_SIZE || text.len >= sizeof(address))
		return false;
	memcpy(address, text.data, text.len);
	address[text.len] = '\0';
	return ticket_read(address, ticket_r) == TICKET_READ;
}

static int on_stopped(struct probe_notes *notes, const struct log_line *line, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	char ticket[SECRET_TICKET_SIZE], *end;

	if (!read_ticket(line->to, ticket))
		return 0;
	text = mem_printf("%s%.*s", line->kind == LOG_DISCARDED ? "discard: " : "",
		(int)line->text.len, line->text.data);
	/* Removes the rest, which names the ticket, but keeps the code of a rule. */
	end = strstr(text, "; from=<");
	if (end) {
		char *code = strstr(end, ">: ");

		memmove(end, code ? code + 1 : "", strlen(code ? code + 1 : "") + 1);
	}
	str_utf8_mend(text);
	return store_probe_refused(notes->db, ticket, text, err);
}

int probe_notes_line(
	struct probe_notes *notes, const struct log_line *line, int64_t now_us, struct err *err)
{
	char ticket[SECRET_TICKET_SIZE];
	int result = 0;

	switch (line->kind) {
	case LOG_MESSAGE_ID:
		if (!read_ticket(line->text, ticket) || line->id.len >= ID_MAX)
			break;
		snprintf(notes->ids[notes->next].queue_id, ID_MAX, "%.*s", (int)line->id.len,
			line->id.data);
		memcpy(notes->ids[notes->next].ticket, ticket, sizeof(ticket));
		notes->next = (notes->next + 1) % IDS;
		result = store_probe_logged(notes->db, ticket, now_us, err);
		break;
	case LOG_ACTIVE:
		notes->news.taken_us = now_us;
		notes->fresh = true;
		for (size_t i = 0; i < IDS; i++)
			if (notes->ids[i].queue_id[0] && span_is(line->id, notes->ids[i].queue_id))
				return store_probe_taken(
					notes->db, notes->ids[i].ticket, now_us, err);
		break;
	case LOG_REFUSED:
	case LOG_DISCARDED:
		result = on_stopped(notes, line, err);
		break;
	case LOG_RELOADED:
		notes->news.reloaded_us = now_us;
		notes->fresh = true;
		notes->stored_us = 0;
		break;
	default:
		break;
	}
	return result < 0 ? -1 : 0;
}

int probe_notes_settle(struct probe_notes *notes, int64_t now_us, struct err *err)
{
	if (!notes->fresh || (now_us - notes->stored_us < SECOND_US && now_us > notes->stored_us))
		return 0;
	if (store_postfix_notes_set(notes->db, &notes->news, err) < 0)
		return -1;
	notes->stored_us = now_us;
	notes->fresh = false;
	return 0;
}
