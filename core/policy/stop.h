/*
 * stop: how a message that the rules refuse is stopped.
 */
#ifndef POSTERN_POLICY_STOP_H
#define POSTERN_POLICY_STOP_H

#include <stdbool.h>

#include "core/policy/verdict.h"

/* In the order of the setting milter.refuse_local. */
enum stop_way {
	STOP_REJECT, /* over SMTP a reply, else a bounce */
	STOP_HOLD,   /* into Postfix's hold queue */
	STOP_DISCARD,
};

struct stop_facts {
	enum mail_origin origin;
	bool own; /* the email of its ticket, submitted by httpd, whose
		   * client gets the answer */
	bool sender_mailbox;     /* the envelope sender surely has one here */
	enum stop_way local_way; /* what the admin wants for sendmail(1) */
};

/* How a refused message is stopped: with a reply where somebody reads it (an
 * SMTP client, a sender who has a mailbox here), never with a bounce to a
 * stranger or to nobody. */
enum stop_way stop_decide(const struct stop_facts *facts);

/* Whether a message that was refused for this reason is surely the email of
 * its ticket, and no other message that carries it. */
bool stop_is_own(const struct verdict_facts *facts, enum verdict_reason reason);

#endif
