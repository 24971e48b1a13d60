/*
 * session: what Postfix has sent about one connection and its current message.
 *
 * Callbacks write it, facts.c reads it. Only what a decision needs is kept, up to the limits
 * below. A message with more sender fields counts as having too many fields. The other limits
 * are noted separately, or what exceeds them is left out.
 */
#ifndef POSTERN_MILTER_SESSION_H
#define POSTERN_MILTER_SESSION_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/address/addr_header.h"
#include "core/base/buf.h"
#include "core/base/cidr.h"
#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/base/strv.h"
#include "core/policy/ticket.h"
#include "core/policy/verdict.h"

/* Returns the origin of mail from a client without a login. peer is the client's address from
 * the milter protocol; NULL if it has no Internet address. */
enum mail_origin origin_of(const struct sockaddr *peer, const struct cidr_list *internal_hosts);

enum { ORIGIN_CLIENT_SIZE = INET6_ADDRSTRLEN };

/* Writes the client's address as text. False if there is none, as for sendmail(1). */
bool origin_client(const struct sockaddr *peer, char client[static ORIGIN_CLIENT_SIZE]);

/* The name for logs. */
const char *origin_name(enum mail_origin origin);

/* The milter_macro_daemon_name of the SMTP service that accepts API keys as passwords. A login
 * on any other service is not taken for a key. */
#define SESSION_KEY_SERVICE "postern-smtp-auth"

enum {
	SESSION_SENDER_FIELDS = ADDR_SENDER_FIELDS,
	/* For all fields of a kind together. Postfix shows a milter 60,000 bytes of a field and
	 * delivers more; the hidden rest could name another sender. */
	SESSION_SENDER_BYTES = ADDR_SENDER_BYTES,
	SESSION_TRACE_FIELDS = 100,
	SESSION_MESSAGE_IDS = 8, /* each no longer than a line (RFC 5322 2.1.1) */
	SESSION_MESSAGE_ID_BYTES = 998,
	/* For messages that came with a key's login. */
	SESSION_RECIPIENTS = 1000,
	SESSION_LIST_BYTES = 128 * 1024, /* the most of To, and of Cc, that is kept */
	SESSION_SUBJECT_BYTES = 8 * 1024,
	SESSION_OWN_FIELDS = 100, /* the most fields of one kind that are meant for Postern */
	SESSION_OWN_BYTES = 64 * 1024,
};

/* Fields by which a key's client passes us options. They are removed from the message. */
enum session_own {
	OWN_IDEMPOTENCY,
	OWN_RESEND_IDEMPOTENCY,
	OWN_TAG,
	OWN_NAMED_TAG,
	OWN_VARIABLES,
	OWN_MAILGUN, /* other fields X-Mailgun-*: their names, since their values do not matter */
	OWN_FIELDS
};
extern const char *const session_own_names[OWN_FIELDS];

/* Memory for the copies of messages, shared by all sessions. A single message may exceed it if
 * no other copy is held. */
struct session_room {
	atomic_int_least64_t held;
	int64_t max;
};

/* Header fields of one kind, as they came. */
struct session_fields {
	struct strv values;
	size_t bytes;
	bool overflow; /* more or longer fields came than are kept */
};

struct session_message {
	char *sender;                    /* envelope sender without <>; "" is the null sender */
	char *resolved;                  /* the sender as Postfix resolves it; NULL if unknown */
	char *login;                     /* the SASL login name; NULL if none */
	char *queue_id;                  /* NULL until the end of the message */
	bool for_ticket;                 /* a recipient is in the domain of tickets */
	bool for_others;                 /* a recipient is not the ticket */
	char ticket[SECRET_TICKET_SIZE]; /* the first ticket; "" if none */
	struct strv message_ids;         /* trimmed; kept with a ticket or a key's login */
	struct session_fields froms;
	struct session_fields others; /* Sender, Resent-From, Resent-Sender */
	size_t traces;                /* number of fields with an email id, at most
				       * SESSION_TRACE_FIELDS + 1 */
	char trace[ID_SIZE];          /* value of the first; "" if it has no id */
	size_t nonces;                /* number of fields with a nonce, with the same limit */
	char nonce[SECRET_TICKET_SIZE];
	bool key_login;               /* the login is the id of an API key; recipients, to,
				       * cc, reply_to, subject, own and copy are kept only
				       * with it */
	struct strv recipients;       /* the envelope recipients */
	bool too_many_recipients;     /* more came than are kept */
	bool asks_for_reports;        /* RET, ENVID or NOTIFY was given (RFC 3461): reports go
				       * to the message's sender */
	struct session_fields to, cc; /* what exceeds the limits is left out */
	struct session_fields reply_to;
	char *subject;        /* NULL if none */
	bool has_message_id;  /* also true for one that was too long to keep */
	bool has_unsubscribe; /* the message has List-Unsubscribe itself */
	struct session_fields own[OWN_FIELDS];
	const char *unsupported; /* a field that asks for what is not done over SMTP; NULL */
	struct buf copy;         /* the message without own fields, with LF line ends */
	int64_t copy_held;       /* how many bytes of the shared room the copy takes */
	bool copy_has_body;      /* the header has ended */
	bool copy_ends_cr;       /* the last byte received was a CR, which is not in the copy yet */
	bool no_room;            /* there was no memory for the copy, so none is kept */
};

struct milter_session {
	enum mail_origin origin;   /* the origin if there is no login */
	char *client;              /* its address as text; NULL if none */
	bool submits;              /* httpd may submit this way; not with a login */
	struct session_room *room; /* not owned; NULL: unlimited */
	bool expected;             /* the committer expects the record of the message */
	struct session_message message;
};

/* Copies client. by_tcp: httpd submits by SMTP over TCP. */
struct milter_session *session_new(enum mail_origin origin, const char *client, bool by_tcp);
void session_free(struct milter_session *session);
DEFINE_CLEANUP(milter_session, session_free)

/* Starts a message and forgets the one before. sender is the argument of MAIL FROM, with or
 * without <>. login is NULL or "" if there is none. */
void session_begin(struct milter_session *session, const char *sender, const char *login);

/* Sets the service that the message came by, its {daemon_name}. On our own service the login is
 * the id of a key. NULL if unknown. */
void session_service(struct milter_session *session, const char *name);

/* Sets the envelope sender as Postfix resolves it; NULL if it does not say. Postfix turns an
 * SMTP client's `a%example.com` into `a@example.com`, and appends its own domain to `a`. */
void session_resolved(struct milter_session *session, const char *address);

/* The parameters of MAIL or RCPT (RFC 5321 4.1.1.11), ended by NULL. */
void session_parameters(struct milter_session *session, char *const *parameters);

/* Adds a recipient of the envelope, with or without <>. resolved is what Postfix understands, in
 * lower case, or NULL. It is used only where another spelling of a mailbox was given, such as
 * quotes or a source route (RFC 5321 4.1.1.3). */
void session_recipient(struct milter_session *session, const char *given, const char *resolved);

/* Adds a header field. The value may be folded. */
void session_header(struct milter_session *session, const char *name, const char *value);

/* Adds a chunk of the body. Called once more with len 0 at its end, also if there is no body.
 * False if no more is needed, as for all messages without a key's login. */
bool session_body(struct milter_session *session, const void *data, size_t len);

/* Sets the queue id; NULL counts as "". Early in a message Postfix may not have one. */
void session_queue_id(struct milter_session *session, const char *queue_id);

/* Forgets the current message. */
void session_reset(struct milter_session *session);

/* The origin of the current message; ORIGIN_LOGIN if the client has logged in. */
enum mail_origin session_origin(const struct milter_session *session);

#endif
