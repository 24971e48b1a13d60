/*
 * verdict: decides what the milter does with a message. Facts in, decision out.
 */
#ifndef POSTERN_POLICY_VERDICT_H
#define POSTERN_POLICY_VERDICT_H

#include <stdbool.h>

#include "core/policy/send_rules.h"

/* Where a message comes from. The rules apply to mail that originates here. */
enum mail_origin {
	ORIGIN_LOCAL,    /* sendmail(1), pickup */
	ORIGIN_INTERNAL, /* SMTP from an internal host */
	ORIGIN_LOGIN,    /* SMTP with SASL login */
	ORIGIN_EXTERNAL, /* SMTP from anywhere else */
};

enum ticket_state {
	TICKET_NONE,
	TICKET_UNKNOWN, /* it looks like a ticket but was never issued */
	TICKET_STAGED,  /* ours; the message was not decided yet */
	TICKET_SENT,    /* ours; already accepted (Postfix presents it again) */
	TICKET_REFUSED,
	TICKET_SUPERSEDED, /* ours; its email has a newer ticket */
	TICKET_SPENT,      /* ours; Postfix already has its message */
	TICKET_LOST,       /* no ticket, but the id of an email that waits for its decision */
	TICKET_PROBE,      /* ours; belongs to a probe, see store_probe */
};

/* The strictest rule of the registered domains that a message claims, from lax to strict. An
 * exemption counts only if no reader can mistake the From. */
enum domain_claim {
	CLAIM_NONE,      /* it claims no registered domain */
	CLAIM_SHARED,    /* everybody here may send as the domain */
	CLAIM_EXEMPT,    /* this sender may send as the domain */
	CLAIM_LEARN,     /* everybody may for now; what exclusive would refuse is recorded */
	CLAIM_EXCLUSIVE, /* only the company's keys may */
	CLAIMS
};

/* What is known about the Idempotency-Key of a message that came with a key's login. */
enum key_repeat {
	REPEAT_NONE,    /* no key, a new one, or the first message was lost on its way */
	REPEAT_OTHER,   /* another message has used it */
	REPEAT_OPEN,    /* the same message has used it; unknown yet if Postfix has that one */
	REPEAT_ARRIVED, /* the same message has used it, and Postfix has that one */
};

struct verdict_facts {
	bool store_failed; /* the facts below are not reliable, except for unclaimed */
	/* With store_failed: a copy of the registered domains is young enough to be trusted, and
	 * the message uses none of them. */
	bool unclaimed;
	enum mail_origin origin;
	bool too_many_fields; /* more fields with senders or ids, or more sender domains,
			       * than the milter checks */
	/* By the envelope or a header field; not that of a domain which the ticket is for. */
	enum domain_claim claim;
	bool from_unclear; /* readers can disagree about who sent it */
	enum ticket_state ticket;
	/* With a ticket: */
	bool ticket_submitted; /* it came by a way that httpd submits by */
	bool ticket_alone;     /* it is the only recipient */
	bool other_way;        /* but not by the way of its email */
	/* With TICKET_SENT: it came by sendmail(1), and Postfix presented it again for the first
	 * time a moment ago. */
	bool presented_again;
	/* With a ticket that is ours, compared with its email: */
	bool sender_matches;  /* the envelope sender is the staged one */
	bool from_matches;    /* there is one From field, with the staged mailbox */
	bool nonce_matches;   /* the message has the email's nonce */
	bool content_matches; /* From and nonce match, and so does the Message-ID */
	bool trace_matches;   /* the nonce matches, and the message begins with the email's id */
	bool other_claim;     /* it also claims another registered domain, which is not shared */
	bool key_valid;
	bool domain_owned;
	bool domain_active;
	/* The client has logged in with an API key, by the service for keys. */
	bool key_login;
	bool from_one;            /* with key_login: From is one mailbox for every reader */
	bool too_many_recipients; /* more than the milter records */
	bool bad_field;           /* a field that is addressed to us is invalid; see
				   * facts.field_err */
	bool no_room;             /* no memory for the copy of the message */
	bool rate_limited;        /* the company has reached its rate limit */
	bool paused;              /* sending is paused for its company, domain or key */
	enum key_repeat repeat;
	enum send_decision sender; /* for the first domain of From, Sender and envelope that
				    * the key may not send as now */
};

enum verdict_action {
	VERDICT_PASS,   /* accept unchanged: the rules do not apply */
	VERDICT_RECORD, /* record as sent, accept */
	VERDICT_REFUSE,
	VERDICT_TEMPFAIL, /* the decision is not possible now */
	VERDICT_DISCARD,  /* accept, deliver to nobody */
	VERDICT_LEARN,    /* accept, record what the rules would refuse */
	VERDICT_PROBE,    /* record that the milter was asked, deliver to nobody */
	VERDICT_ACTIONS
};

enum verdict_reason {
	REASON_NONE,
	REASON_NOT_CLAIMED,
	REASON_EXTERNAL,
	REASON_SHARED,
	REASON_EXEMPT,
	REASON_TICKET_VALID,
	REASON_STORE_FAILED,
	REASON_NO_TICKET,
	REASON_FROM_UNCLEAR, /* some readers see a registered domain */
	REASON_TICKET_UNKNOWN,
	REASON_TICKET_FROM_NETWORK,
	REASON_TICKET_MISMATCH, /* forgery: the ticket belongs to another message */
	REASON_TICKET_REFUSED,  /* its message was refused before */
	REASON_TICKET_SUPERSEDED,
	REASON_TICKET_SPENT,
	REASON_TICKET_OPEN, /* recorded, but unknown yet if Postfix has its message */
	REASON_TICKET_OTHER_WAY,
	REASON_TICKET_LOST,
	REASON_TICKET_PROBE,
	REASON_OTHER_DOMAIN, /* the ticket is for one domain, the message claims another one
			      * too */
	REASON_KEY_INVALID,
	REASON_DOMAIN_NOT_OWNED,
	REASON_DOMAIN_INACTIVE,
	REASON_TOO_MANY_FIELDS,
	REASON_KEY_LOGIN, /* this and the next: messages with a key's login */
	REASON_LOGIN_INVALID,
	REASON_LOGIN_FROM,
	REASON_LOGIN_RECIPIENTS,
	REASON_SENDER_NOT_OWN,
	REASON_KEY_NO_SCOPE,
	REASON_KEY_RESTRICTED,
	REASON_SENDER_INACTIVE,
	REASON_LOGIN_FIELD,
	REASON_LOGIN_NO_ROOM,
	REASON_LOGIN_RATE,
	REASON_LOGIN_PAUSED,
	REASON_REPEAT_OTHER,
	REASON_REPEAT_OPEN,
	REASON_REPEAT_ARRIVED,
	REASONS
};

struct verdict {
	enum verdict_action action;
	enum verdict_reason reason;
};

/* Decides about a message by its facts alone. All cases are in the table at the head of
 * verdict.c. */
struct verdict verdict_decide(const struct verdict_facts *facts);

/* The name for logs, such as `no_ticket`; the sentence for the SMTP reply.
 * verdict_reason_words() returns the sentence for a name, or the name itself if it is unknown. */
const char *verdict_reason_name(enum verdict_reason reason);
const char *verdict_reason_text(enum verdict_reason reason);
const char *verdict_reason_words(const char *name);
/* The sentence for a message with these facts; for a mismatch it says what did not match. */
const char *verdict_text(enum verdict_reason reason, const struct verdict_facts *facts);
/* True if the sentence is about the message as its author or Postfix made it. Otherwise it is
 * about the key or the domain. */
bool verdict_text_is_message(const char *text);
const char *verdict_action_name(enum verdict_action action);

/*
 * stop: how a message that the rules refuse is stopped.
 */

/* In the order of the values of milter.refuse_local. */
enum stop_way {
	STOP_REJECT, /* SMTP reply, or a bounce for sendmail(1) */
	STOP_HOLD,   /* into Postfix's hold queue */
	STOP_DISCARD,
};

struct stop_facts {
	enum mail_origin origin;
	bool own;                /* the message is the email of its ticket, submitted by
				  * httpd, whose client gets the answer */
	bool sender_mailbox;     /* the envelope sender certainly has a mailbox here */
	enum stop_way local_way; /* milter.refuse_local, for sendmail(1) */
};

/* Decides how a refused message is stopped: with a reply where somebody reads it (an SMTP
 * client, a sender with a mailbox here), never with a bounce to a stranger or to nobody. */
enum stop_way stop_decide(const struct stop_facts *facts);

/* True if a message refused for this reason is certainly the email of its ticket, and not
 * another message that carries the ticket. Then the email is refused, and the waiting client is
 * told why. */
bool stop_is_own(const struct verdict_facts *facts, enum verdict_reason reason);

#endif
