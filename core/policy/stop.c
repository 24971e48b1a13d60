/*
 * stop: how a message that the rules refuse is stopped.
 *
 *   origin       besides                         way
 *   -----------  ------------------------------  -------
 *   not local    any                             reject
 *   local        our own email                   discard
 *   local        wanted: reject, no mailbox      hold
 *   local        else                            as wanted
 *
 * An SMTP client is told in the reply, and what becomes of the message is its
 * matter. Mail from sendmail(1) has nobody waiting: Postfix bounces what is
 * rejected to the envelope sender. That may be forged, or be no mailbox, as
 * noreply@ often is: such a bounce would go to a stranger, or to nobody, and
 * the message would be lost. So it is held, where an admin finds it. Our own
 * email has a client of httpd waiting for it, who gets
 * the answer; but not one that is on record as sent, which must not vanish when
 * Postfix presents it again and the rules have changed meanwhile.
 *
 * Pure: no state, no I/O. Threads: any.
 */
#include "core/policy/stop.h"

enum stop_way stop_decide(const struct stop_facts *facts)
{
	if (facts->origin != ORIGIN_LOCAL)
		return STOP_REJECT;
	if (facts->own)
		return STOP_DISCARD;
	if (facts->local_way == STOP_REJECT && !facts->sender_mailbox)
		return STOP_HOLD;
	return facts->local_way;
}

bool stop_is_own(const struct verdict_facts *facts, enum verdict_reason reason)
{
	switch (reason) {
	case REASON_OTHER_DOMAIN:
	case REASON_KEY_INVALID:
	case REASON_DOMAIN_NOT_OWNED:
	case REASON_DOMAIN_INACTIVE:
	case REASON_TICKET_REFUSED:
		return facts->ticket != TICKET_SENT && facts->ticket_alone &&
		       facts->sender_matches && facts->from_matches;
	default:
		return false;
	}
}
