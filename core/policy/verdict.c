/*
 * verdict: decides what the milter does with a message.
 *
 * Rows are tried from the top. The first that matches decides:
 *
 * store  origin   ticket     besides             action   reason
 * ------ -------- ---------- ------------------- -------- -------------------
 * any    any      any        not submitted       refuse   ticket_from_network
 * failed here     none       unclaimed           pass     not_claimed
 * failed any      any        else                tempfail store_failed
 * ok     any      any        too many fields     refuse   too_many_fields
 * ok     a key    none       key not valid       refuse   login_invalid
 * ok     a key    none       From not one        refuse   login_from
 * ok     a key    none       too many recipients refuse   login_recipients
 * ok     a key    none       send_rules.h        refuse   sender_not_own ...
 * ok     a key    none       another claim       refuse   other_domain
 * ok     a key    none       bad field           refuse   login_field
 * ok     a key    none       no room             tempfail login_no_room
 * ok     a key    none       Idempotency-Key of
 *                            another message     refuse   repeat_other
 * ok     a key    none       repeat, arrived     discard  repeat_arrived
 * ok     a key    none       rate limited        tempfail login_rate
 * ok     a key    none       paused              tempfail login_paused
 * ok     a key    none       repeat, unknown yet tempfail repeat_open
 * ok     a key    none       else                record   key_login
 * ok     external none                           pass     external
 * ok     here     none       no claim            pass     not_claimed
 * ok     here     none       claim: shared       pass     shared
 * ok     here     none       claim: exempt       pass     exempt
 * ok     here     none       claim: learn        learn    as exclusive
 * ok     here     none       claim: exclusive
 *                            and unclear         refuse   from_unclear
 * ok     here     none       else                refuse   no_ticket
 * ok     here     unknown    any                 refuse   ticket_unknown
 * ok     here     known      not alone           refuse   ticket_mismatch
 * ok     here     ours       came another way    refuse   ticket_other_way
 * ok     here     refused    any                 refuse   ticket_refused
 * ok     here     superseded any                 discard  ticket_superseded
 * ok     here     spent      any                 discard  ticket_spent
 * ok     here     lost       any                 refuse   ticket_lost
 * ok     here     of a probe came another way    refuse   ticket_other_way
 * ok     here     of a probe other nonce         refuse   ticket_mismatch
 * ok     here     of a probe else                probe    ticket_probe
 * ok     here     ours       other sender, From,
 *                            Message-ID, nonce   refuse   ticket_mismatch
 * ok     here     ours       another claim       refuse   other_domain
 * ok     here     ours       key not valid       refuse   key_invalid
 * ok     here     ours       domain not owned    refuse   domain_not_owned
 * ok     here     ours       domain not active   refuse   domain_inactive
 * ok     here     sent       presented again     tempfail ticket_open
 * ok     here     ours       else                record   ticket_valid
 *
 * The tickets' domain has no other addresses, so a wrong ticket is refused whatever the message
 * claims: there is nobody to deliver it to. Tickets come only by the ways that httpd submits
 * by. Other mail that carries one is refused without asking the store.
 *
 * While the store is away, mail of registered domains waits. Other mail need not wait as long as
 * the milter's copy of the registered domains is young enough (known_domains.h). A key's login
 * waits, because its message has to be recorded.
 *
 * External mail without a ticket passes whatever it claims: a company's other servers may send
 * as its domain to a user here. Its facts need no query, so it passes even while the store is
 * unavailable.
 *
 * A message whose client has logged in with an API key is judged by the rules of the HTTP API,
 * with the same texts: From, the envelope and fields like Sender must use domains that the key
 * may send as, whatever their policy. A display name may not claim another registered domain,
 * as with a ticket.
 *
 * No honest message has too many fields. Checking one would cost more than it is worth.
 *
 * A ticket of ours decides alone, whatever the policy of its domain: by the ticket the message
 * claims the staged domain, even if that domain was removed since. Staged and sent are treated
 * alike, because Postfix presents a message again if the answer was lost. A refused message
 * stays refused, because the waiting client was told so.
 *
 * A ticket is superseded if its email was submitted again because it was unknown if the first
 * message had reached Postfix. If that message arrives after all, it must neither be delivered
 * nor bounce, because the second one replaces it.
 *
 * A ticket is spent if Postfix certainly has its message. A second message with it is delivered
 * to nobody, whoever submits it. A ticket that was only recorded remains valid, because
 * cleanup(8) may have died after the record. With sendmail(1) its message waits in the maildrop
 * for some seconds first: pickup(8) may have died behind a complete queue file, and then the log
 * proves within that time that the ticket is spent.
 *
 * A ticket is lost if Postfix has replaced it by another recipient, with a table or a filter
 * that matches all addresses. The message is recognized by the id of its email, and refused
 * whatever the policy of its domain.
 */
#include "core/policy/verdict.h"

#include <assert.h>
#include <stddef.h>

#include "core/base/str.h"

static const struct {
	const char *name;
	const char *text;
} reasons[REASONS] = {
	[REASON_NONE] = {"none", "No decision was made."},
	[REASON_NOT_CLAIMED] = {"not_claimed", "The message uses no registered domain."},
	[REASON_EXTERNAL] = {"external", "The message does not originate here."},
	[REASON_SHARED] = {"shared", "Everybody here may send as the domain of the message."},
	[REASON_EXEMPT] = {"exempt", "The sender may use the domain without an API key."},
	[REASON_TICKET_VALID] = {"ticket_valid", "The message was submitted with a valid key."},
	[REASON_STORE_FAILED] = {"store_failed",
		"The sending rules cannot be checked now, try again later."},
	[REASON_NO_TICKET] = {"no_ticket", "Mail from this domain must be sent with an API key."},
	[REASON_FROM_UNCLEAR] = {"from_unclear",
		"The sender can be read in several ways, and in one of them it is of this domain."},
	[REASON_TICKET_UNKNOWN] = {"ticket_unknown",
		"The message is for a ticket that was never given out."},
	[REASON_TICKET_FROM_NETWORK] = {"ticket_from_network",
		"Nobody but the programs of this host may use tickets."},
	[REASON_TICKET_MISMATCH] = {"ticket_mismatch",
		"The message is not the one that its ticket was given to."},
	[REASON_TICKET_REFUSED] = {"ticket_refused",
		"The message of this ticket was refused before."},
	[REASON_TICKET_SUPERSEDED] = {"ticket_superseded",
		"The message was submitted again, in place of this one."},
	[REASON_TICKET_SPENT] = {"ticket_spent", "Postfix has the message of this ticket already."},
	[REASON_TICKET_OPEN] = {"ticket_open",
		"Postfix may have the message of this ticket already, try again later."},
	[REASON_TICKET_OTHER_WAY] = {"ticket_other_way",
		"The message did not come the way that its ticket was given out for."},
	[REASON_TICKET_LOST] = {"ticket_lost",
		"A setting of Postfix has given the message another recipient in the place of its "
		"ticket."},
	[REASON_TICKET_PROBE] = {"ticket_probe", "The message shows that the milter is asked."},
	[REASON_OTHER_DOMAIN] = {"other_domain",
		"The message also names a sender of a domain that its API key is not for."},
	[REASON_KEY_INVALID] = {"key_invalid",
		"The API key of this message may not send it any more."},
	[REASON_DOMAIN_NOT_OWNED] = {"domain_not_owned",
		"The domain of the sender no longer belongs to the company of the API key."},
	[REASON_DOMAIN_INACTIVE] = {"domain_inactive",
		"The domain of the sender is not active for sending."},
	[REASON_TOO_MANY_FIELDS] = {"too_many_fields",
		"The message has more header fields that name its sender than can be checked."},
	[REASON_KEY_LOGIN] = {"key_login", "The client has logged in with a valid key."},
	[REASON_LOGIN_INVALID] = {"login_invalid", "API key is invalid."},
	[REASON_LOGIN_FROM] = {"login_from",
		"The field From has to be one mailbox that all programs read alike."},
	[REASON_LOGIN_RECIPIENTS] = {"login_recipients",
		"The message has more recipients than an email may have."},
	[REASON_SENDER_NOT_OWN] = {"sender_not_own",
		"The domain of the sender is not verified. Please, add and verify your domain."},
	[REASON_KEY_NO_SCOPE] = {"key_no_scope", "This API key is not allowed to send emails."},
	[REASON_KEY_RESTRICTED] = {"key_restricted",
		"This API key is not authorized to send emails from this domain."},
	[REASON_SENDER_INACTIVE] = {"sender_inactive",
		"The domain of the sender is not active for sending."},
	[REASON_LOGIN_FIELD] = {"login_field", "A header field of the message is not valid."},
	[REASON_LOGIN_NO_ROOM] = {"login_no_room",
		"There is no room for the message now, try again later."},
	[REASON_LOGIN_RATE] = {"login_rate",
		"Too many messages from this company, try again later."},
	[REASON_LOGIN_PAUSED] = {"login_paused",
		"Sending is paused for this company, domain or API key, try again later."},
	[REASON_REPEAT_OTHER] = {"repeat_other",
		"Same idempotency key used with a different message."},
	[REASON_REPEAT_OPEN] = {"repeat_open",
		"Same idempotency key used while the original message is still in progress, try "
		"again later."},
	[REASON_REPEAT_ARRIVED] = {"repeat_arrived",
		"The message with this idempotency key is on its way already."},
};

static const char *const actions[VERDICT_ACTIONS] = {
	[VERDICT_PASS] = "pass",
	[VERDICT_RECORD] = "record",
	[VERDICT_REFUSE] = "refuse",
	[VERDICT_TEMPFAIL] = "tempfail",
	[VERDICT_DISCARD] = "discard",
	[VERDICT_LEARN] = "learn",
	[VERDICT_PROBE] = "probe",
};

/* What did not match. Postfix shows a milter the message as it has rewritten it. */
enum mismatch { MISMATCH_RECIPIENTS, MISMATCH_SENDER, MISMATCH_FROM, MISMATCH_ID, MISMATCHES };
static const char *const mismatches[MISMATCHES] = {
	[MISMATCH_RECIPIENTS] =
		"The message has other recipients than the ones it was submitted for: a setting of "
		"Postfix has changed them.",
	[MISMATCH_SENDER] =
		"The message has another envelope sender than the one it was submitted with: a "
		"setting of Postfix has changed it.",
	[MISMATCH_FROM] =
		"The field From is not the one that the message was submitted with: Postfix reads "
		"it in another way, or a setting of it has changed it.",
	[MISMATCH_ID] =
		"The field Message-ID is not the one that the message was submitted with: Postfix "
		"reads it in another way, or a setting of it has changed it.",
};

const char *verdict_text(enum verdict_reason reason, const struct verdict_facts *facts)
{
	if (reason != REASON_TICKET_MISMATCH || !facts->trace_matches)
		return verdict_reason_text(reason);
	if (!facts->ticket_alone)
		return mismatches[MISMATCH_RECIPIENTS];
	if (!facts->sender_matches)
		return mismatches[MISMATCH_SENDER];
	return mismatches[facts->from_matches ? MISMATCH_ID : MISMATCH_FROM];
}

static struct verdict without_ticket(const struct verdict_facts *facts)
{
	enum verdict_reason reason = facts->from_unclear ? REASON_FROM_UNCLEAR : REASON_NO_TICKET;

	switch (facts->claim) {
	case CLAIM_NONE:
		return (struct verdict){VERDICT_PASS, REASON_NOT_CLAIMED};
	case CLAIM_SHARED:
		return (struct verdict){VERDICT_PASS, REASON_SHARED};
	case CLAIM_EXEMPT:
		return (struct verdict){VERDICT_PASS, REASON_EXEMPT};
	case CLAIM_LEARN:
		return (struct verdict){VERDICT_LEARN, reason};
	case CLAIM_EXCLUSIVE:
	case CLAIMS:
		break;
	}
	return (struct verdict){VERDICT_REFUSE, reason};
}

static struct verdict refused_for(enum verdict_reason reason)
{
	return (struct verdict){VERDICT_REFUSE, reason};
}

static struct verdict with_key(const struct verdict_facts *facts)
{
	static const enum verdict_reason reasons_of[] = {
		[RULES_ALLOWED] = REASON_KEY_LOGIN,
		[RULES_NOT_OWN] = REASON_SENDER_NOT_OWN,
		[RULES_NO_SCOPE] = REASON_KEY_NO_SCOPE,
		[RULES_INACTIVE] = REASON_SENDER_INACTIVE,
		[RULES_KEY_RESTRICTED] = REASON_KEY_RESTRICTED,
	};

	if (!facts->key_valid)
		return refused_for(REASON_LOGIN_INVALID);
	if (!facts->from_one)
		return refused_for(REASON_LOGIN_FROM);
	if (facts->too_many_recipients)
		return refused_for(REASON_LOGIN_RECIPIENTS);
	if (facts->sender != RULES_ALLOWED)
		return refused_for(reasons_of[facts->sender]);
	if (facts->other_claim)
		return refused_for(REASON_OTHER_DOMAIN);
	if (facts->bad_field)
		return refused_for(REASON_LOGIN_FIELD);
	if (facts->no_room)
		return (struct verdict){VERDICT_TEMPFAIL, REASON_LOGIN_NO_ROOM};
	if (facts->repeat == REPEAT_OTHER)
		return refused_for(REASON_REPEAT_OTHER);
	if (facts->repeat == REPEAT_ARRIVED)
		return (struct verdict){VERDICT_DISCARD, REASON_REPEAT_ARRIVED};
	if (facts->rate_limited)
		return (struct verdict){VERDICT_TEMPFAIL, REASON_LOGIN_RATE};
	if (facts->paused)
		return (struct verdict){VERDICT_TEMPFAIL, REASON_LOGIN_PAUSED};
	if (facts->repeat == REPEAT_OPEN)
		return (struct verdict){VERDICT_TEMPFAIL, REASON_REPEAT_OPEN};
	return (struct verdict){VERDICT_RECORD, REASON_KEY_LOGIN};
}

struct verdict verdict_decide(const struct verdict_facts *facts)
{
	bool has_ticket = facts->ticket != TICKET_NONE;

	if (has_ticket && !facts->ticket_submitted)
		return refused_for(REASON_TICKET_FROM_NETWORK);
	if (facts->store_failed && facts->unclaimed && !has_ticket && !facts->key_login)
		return (struct verdict){VERDICT_PASS, REASON_NOT_CLAIMED};
	if (facts->store_failed)
		return (struct verdict){VERDICT_TEMPFAIL, REASON_STORE_FAILED};
	if (facts->too_many_fields)
		return refused_for(REASON_TOO_MANY_FIELDS);
	if (!has_ticket && facts->key_login)
		return with_key(facts);
	if (!has_ticket && facts->origin == ORIGIN_EXTERNAL)
		return (struct verdict){VERDICT_PASS, REASON_EXTERNAL};
	if (has_ticket && facts->ticket != TICKET_UNKNOWN && facts->ticket != TICKET_LOST &&
		!facts->ticket_alone)
		return refused_for(REASON_TICKET_MISMATCH);
	switch (facts->ticket) {
	case TICKET_NONE:
		return without_ticket(facts);
	case TICKET_UNKNOWN:
		return refused_for(REASON_TICKET_UNKNOWN);
	case TICKET_STAGED:
	case TICKET_SENT:
	case TICKET_REFUSED:
		if (facts->other_way)
			return refused_for(REASON_TICKET_OTHER_WAY);
		if (facts->ticket == TICKET_REFUSED)
			return refused_for(REASON_TICKET_REFUSED);
		if (!facts->sender_matches || !facts->content_matches)
			return refused_for(REASON_TICKET_MISMATCH);
		if (facts->other_claim)
			return refused_for(REASON_OTHER_DOMAIN);
		if (!facts->key_valid)
			return refused_for(REASON_KEY_INVALID);
		if (!facts->domain_owned)
			return refused_for(REASON_DOMAIN_NOT_OWNED);
		if (!facts->domain_active)
			return refused_for(REASON_DOMAIN_INACTIVE);
		if (facts->ticket == TICKET_SENT && facts->presented_again)
			return (struct verdict){VERDICT_TEMPFAIL, REASON_TICKET_OPEN};
		return (struct verdict){VERDICT_RECORD, REASON_TICKET_VALID};
	case TICKET_SUPERSEDED:
		return (struct verdict){VERDICT_DISCARD, REASON_TICKET_SUPERSEDED};
	case TICKET_SPENT:
		return (struct verdict){VERDICT_DISCARD, REASON_TICKET_SPENT};
	case TICKET_LOST:
		return refused_for(REASON_TICKET_LOST);
	case TICKET_PROBE:
		if (facts->other_way)
			return refused_for(REASON_TICKET_OTHER_WAY);
		if (!facts->nonce_matches)
			return refused_for(REASON_TICKET_MISMATCH);
		return (struct verdict){VERDICT_PROBE, REASON_TICKET_PROBE};
	}
	/* Not reached. If it were, mail must wait rather than pass unchecked. */
	return (struct verdict){VERDICT_TEMPFAIL, REASON_NONE};
}

const char *verdict_reason_name(enum verdict_reason reason)
{
	assert(reason < REASONS);
	return reasons[reason].name;
}

const char *verdict_reason_text(enum verdict_reason reason)
{
	assert(reason < REASONS);
	return reasons[reason].text;
}

const char *verdict_reason_words(const char *name)
{
	for (size_t i = 0; i < REASONS; i++)
		if (str_eq(reasons[i].name, name))
			return reasons[i].text;
	return name;
}

bool verdict_text_is_message(const char *text)
{
	for (size_t i = 0; i < MISMATCHES; i++)
		if (str_eq(mismatches[i], text))
			return true;
	return str_eq(reasons[REASON_TICKET_LOST].text, text) ||
	       str_eq(reasons[REASON_TOO_MANY_FIELDS].text, text);
}

const char *verdict_action_name(enum verdict_action action)
{
	assert(action < VERDICT_ACTIONS);
	return actions[action];
}

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
 * An SMTP client gets a reply and keeps the message. With sendmail(1) nobody waits: Postfix
 * bounces a rejected message to the envelope sender. That address may be forged, or have no
 * mailbox, like many noreply@ addresses. The bounce would reach a stranger or nobody, and the
 * message would be lost. So it is held, where an admin finds it. Our own email is discarded,
 * because a client of httpd waits and gets the answer. This excludes an email recorded as sent:
 * it must not vanish if Postfix presents it again after the rules have changed.
 */

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

/*
 * Only httpd, Postfix or root can submit the ticket together with the id and nonce of an email
 * that waits for its decision: nobody else learns the nonce, and the ticket is valid on one way
 * only. So even if the message was changed on its way, it is the email, and the email is
 * refused. A ticket alone is not enough: `mailq` shows the tickets of waiting emails to all
 * users of the host, who must not be able to have an email refused. A message that has lost its
 * ticket is identified by id and nonce.
 */
bool stop_is_own(const struct verdict_facts *facts, enum verdict_reason reason)
{
	bool matches = facts->ticket_alone && facts->sender_matches && facts->content_matches;

	if (facts->ticket == TICKET_SENT)
		return false;
	switch (reason) {
	case REASON_TICKET_LOST:
		return true;
	case REASON_TOO_MANY_FIELDS:
	case REASON_TICKET_MISMATCH:
		return facts->trace_matches;
	case REASON_OTHER_DOMAIN:
	case REASON_KEY_INVALID:
	case REASON_DOMAIN_NOT_OWNED:
	case REASON_DOMAIN_INACTIVE:
	case REASON_TICKET_REFUSED:
		return matches || facts->trace_matches;
	default:
		return false;
	}
}
