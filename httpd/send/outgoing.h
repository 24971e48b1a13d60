/*
 * outgoing: an email that a client wants sent, whichever dialect it spoke.
 *
 * Plain data; starts zeroed, freed with outgoing_clear().
 */
#ifndef POSTERN_HTTPD_OUTGOING_H
#define POSTERN_HTTPD_OUTGOING_H

#include <stdint.h>

#include "core/compose/mime_message.h"

struct outgoing {
	/* Without date; message_id only when the client chose one. */
	struct mime_message message;
	struct addr_list bcc; /* in the envelope only */
	/* A whole message that the client made itself. The fields of message
	 * are then what it says, and the envelope has these recipients. */
	struct buf finished;
	struct addr_list envelope;
	char *tags; /* JSON, see struct email; NULL: none */
	char *variables;
	bool text_made; /* text was made of html */
	bool test;      /* to be recorded, but delivered to nobody */
};

/* How much memory it holds, about: its files, or the finished message, and all
 * the rest. */
uint64_t outgoing_files_size(const struct outgoing *outgoing);
uint64_t outgoing_text_size(const struct outgoing *outgoing);

void outgoing_clear(struct outgoing *outgoing);
#define _cleanup_outgoing_ __attribute__((cleanup(outgoing_clear)))

#endif
