/*
 * verdict: what the milter does with a message. Facts in, decision out.
 */
#ifndef POSTERN_POLICY_VERDICT_H
#define POSTERN_POLICY_VERDICT_H

#include <stdbool.h>

#include "core/policy/send_rules.h"

/* Where a message comes from. The rules are for mail that originates here. */
enum mail_origin {
	ORIGIN_LOCAL,    /* sendmail(1), pickup */
	ORIGIN_INTERNAL, /* SMTP from an internal host */
	ORIGIN_LOGIN,    /* SMTP with SASL login */
	ORIGIN_EXTERNAL, /* SMTP from anywhere else */
};

enum ticket_state {
	TICKET_NONE,
	TICKET_UNKNOWN, /* what stands there was never given out */
	TICKET_STAGED,  /* ours; the message was not decided before */
	TICKET_SENT,    /* ours; seen before (Postfix presents it again) */
	TICKET_REFUSED,
	TICKET_SUPERSEDED, /* ours; its email has another ticket by now */
	TICKET_SPENT,      /* ours; Postfix has its message */
	TICKET_LOST,       /* none, in the message of an email that waits for
			    * its decision */
	TICKET_PROBE,      /* ours; of no email, see store_probe */
};

/* The strictest rule of the registered domains that a message claims, from lax
 * to strict. An exemption counts only when no reader can mistake the From. */
enum domain_claim {
	CLAIM_NONE,      /* it claims none */
	CLAIM_SHARED,    /* everybody may send as the domain */
	CLAIM_EXEMPT,    /* this sender may */
	CLAIM_LEARN,     /* everybody may for now, and it is recorded */
	CLAIM_EXCLUSIVE, /* the company's keys alone may */
	CLAIMS
};

/* What is known of the Idempotency-Key of a message that came with the login of a key. */
enum key_repeat {
	REPEAT_NONE,    /* it has none, or a new one; or the first message was lost on its way */
	REPEAT_OTHER,   /* another message had it */
	REPEAT_OPEN,    /* the same had it, and Postfix was not heard of it yet */
	REPEAT_ARRIVED, /* the same had it, and Postfix has that */
};

struct verdict_facts {
	bool store_failed; /* nothing below can be relied on */
	enum mail_origin origin;
	bool too_many_fields;    /* more From fields than anyone needs and than
				  * the milter keeps */
	enum domain_claim claim; /* by the envelope or a header */
	bool from_unclear;       /* receivers can differ in whom it is from */
	enum ticket_state ticket;
	/* Only with a ticket. */
	bool ticket_submitted; /* it came on a way of submission */
	bool ticket_alone;     /* it is the one recipient */
	bool other_way;        /* ... but not the one that the email went */
	/* Of the ticket's email; only with a ticket that is ours. */
	bool sender_matches;  /* envelope sender is the staged one */
	bool from_matches;    /* one From field, with just the staged mailbox */
	bool nonce_matches;   /* it has the nonce of the email */
	bool content_matches; /* all that, and the staged Message-ID */
	bool trace_matches;   /* the nonce, and the id of the email in front */
	bool other_claim;     /* it claims another registered domain besides,
			       * which is not shared */
	bool key_valid;
	bool domain_owned;
	bool domain_active;
	/* The client has logged in with an API key, by the service for that. */
	bool key_login;
	bool from_one;            /* with it: From is one mailbox for every reader */
	bool too_many_recipients; /* ... than are recorded */
	bool bad_field;           /* one that is for us cannot be read; the facts say which */
	bool no_room;             /* for what is kept of it */
	bool rate_limited;        /* its company has sent as much as it may for now */
	bool paused;              /* its company, domain or key is */
	enum key_repeat repeat;
	enum send_decision sender; /* of the first domain of From, Sender and envelope that
				    * the key, as it is now, may not send as */
};

enum verdict_action {
	VERDICT_PASS,   /* not our business; untouched */
	VERDICT_RECORD, /* record as sent, then accept */
	VERDICT_REFUSE,
	VERDICT_TEMPFAIL, /* cannot decide now */
	VERDICT_DISCARD,  /* accept, and deliver to nobody */
	VERDICT_LEARN,    /* pass, and note what the rules would refuse */
	VERDICT_PROBE,    /* note that we were asked, deliver to nobody */
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
	REASON_FROM_UNCLEAR, /* some reader sees a registered domain */
	REASON_TICKET_UNKNOWN,
	REASON_TICKET_FROM_NETWORK,
	REASON_TICKET_MISMATCH, /* forgery: a ticket on another message */
	REASON_TICKET_REFUSED,  /* its message was refused before */
	REASON_TICKET_SUPERSEDED,
	REASON_TICKET_SPENT,
	REASON_TICKET_OTHER_WAY,
	REASON_TICKET_LOST,
	REASON_TICKET_PROBE,
	REASON_OTHER_DOMAIN, /* the ticket is for one, but it claims two */
	REASON_KEY_INVALID,
	REASON_DOMAIN_NOT_OWNED,
	REASON_DOMAIN_INACTIVE,
	REASON_TOO_MANY_FIELDS,
	REASON_KEY_LOGIN, /* the next ones are of messages with the login of a key */
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

/* The action for a message with these facts, and why; the table at the head of
 * verdict.c has all cases. Depends on nothing else. */
struct verdict verdict_decide(const struct verdict_facts *facts);

/* A word for logs, as `no_ticket`, and a sentence for the SMTP reply; the
 * sentence for the word as well, which is the word itself when it is none. */
const char *verdict_reason_name(enum verdict_reason reason);
const char *verdict_reason_text(enum verdict_reason reason);
/* The sentence for a message with these facts: of a mismatch, what did not fit. */
const char *verdict_text(enum verdict_reason reason, const struct verdict_facts *facts);
const char *verdict_reason_words(const char *name);
/* Whether the sentence is about what was made of a message, by Postfix or by
 * whoever wrote it; else it is about the key, or the domain. */
bool verdict_text_is_message(const char *text);
const char *verdict_action_name(enum verdict_action action);

/*
 * stop: how a message that the rules refuse is stopped.
 */

/* In the order of the setting milter.refuse_local. */
enum stop_way {
	STOP_REJECT, /* over SMTP a reply, else a bounce */
	STOP_HOLD,   /* into Postfix's hold queue */
	STOP_DISCARD,
};

struct stop_facts {
	enum mail_origin origin;
	bool own;                /* the email of its ticket, submitted by httpd, whose
				  * client gets the answer */
	bool sender_mailbox;     /* the envelope sender surely has one here */
	enum stop_way local_way; /* what the admin wants for sendmail(1) */
};

/* How a refused message is stopped: with a reply where somebody reads it (an
 * SMTP client, a sender who has a mailbox here), never with a bounce to a
 * stranger or to nobody. */
enum stop_way stop_decide(const struct stop_facts *facts);

/* Whether a message that was refused for this reason is surely the email of
 * its ticket, and no other message that carries it: then the email is refused,
 * and the client that waits for it is told why. */
bool stop_is_own(const struct verdict_facts *facts, enum verdict_reason reason);

#endif
