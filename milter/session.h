/*
 * session: what Postfix has told of one connection and of the message that is
 * on its way in it.
 *
 * Callbacks write it, facts reads it. Only what a decision needs is kept, and
 * of that only so much: beyond the limits below a message counts as having too
 * many fields, and no more is kept of it.
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

/* The origin of mail whose client has no login. peer is what the milter
 * protocol tells of the client, NULL when it has no Internet address. */
enum mail_origin origin_of(const struct sockaddr *peer, const struct cidr_list *internal_hosts);

enum { ORIGIN_CLIENT_SIZE = INET6_ADDRSTRLEN };

/* The address of the client as text; false when there is none, as for
 * sendmail(1). */
bool origin_client(const struct sockaddr *peer, char client[static ORIGIN_CLIENT_SIZE]);

/* A word for logs. */
const char *origin_name(enum mail_origin origin);

/* What the service with logins of ours has as milter_macro_daemon_name. A login that
 * came by another service is not looked at as a key. */
#define SESSION_KEY_SERVICE "postern-smtp-auth"

enum {
	SESSION_SENDER_FIELDS = ADDR_SENDER_FIELDS,
	/* Of all fields of a kind together. Postfix shows 60,000 bytes of each
	 * and delivers more: what is longer could hide a sender. */
	SESSION_SENDER_BYTES = ADDR_SENDER_BYTES,
	SESSION_TRACE_FIELDS = 100,
	SESSION_MESSAGE_IDS = 8, /* and no longer than a line, RFC 5322 2.1.1 */
	SESSION_MESSAGE_ID_BYTES = 998,
	/* Of a message that came with the login of a key. */
	SESSION_RECIPIENTS = 1000,
	SESSION_LIST_BYTES = 128 * 1024, /* of To and Cc, each */
	SESSION_SUBJECT_BYTES = 8 * 1024,
	SESSION_OWN_FIELDS = 100, /* of each kind that is for us */
	SESSION_OWN_BYTES = 64 * 1024,
};

/* The fields that the client of a key says something by to us, and that do not go out. */
enum session_own {
	OWN_IDEMPOTENCY,
	OWN_RESEND_IDEMPOTENCY,
	OWN_TAG,
	OWN_NAMED_TAG,
	OWN_VARIABLES,
	OWN_FIELDS
};
extern const char *const session_own_names[OWN_FIELDS];

/* What the copies of messages of all sessions take together. A message alone may take more. */
struct session_room {
	atomic_int_least64_t held;
	int64_t max;
};

/* Header fields of one kind, as they came. */
struct session_fields {
	struct strv values;
	size_t bytes;
	bool overflow; /* there were more of them, or longer ones */
};

struct session_message {
	char *sender;                    /* envelope sender without <>, "" the null sender */
	char *resolved;                  /* what Postfix makes of it; NULL when not known */
	char *login;                     /* as which the client has logged in; NULL: not */
	char *queue_id;                  /* Postfix's; NULL until its end */
	bool for_ticket;                 /* a recipient is of the domain of tickets */
	bool for_others;                 /* one is not the ticket */
	char ticket[SECRET_TICKET_SIZE]; /* the first one; "" for none */
	struct strv message_ids;         /* of a message with a ticket, trimmed */
	struct session_fields froms;
	struct session_fields others; /* Sender, Resent-From, Resent-Sender */
	size_t traces;                /* how many fields with the id of an email there are, or
				       * one too many */
	char trace[ID_SIZE];          /* the first one's; "" when it has none */
	size_t nonces;                /* the same of fields with a nonce */
	char nonce[SECRET_TICKET_SIZE];
	bool key_login;               /* the login is the id of a key, which the client has */
	struct strv recipients;       /* with key_login, as the next ones: of the envelope */
	bool too_many_recipients;     /* there are more */
	bool asks_for_reports;        /* of deliveries (RFC 3461), which go to its sender */
	struct session_fields to, cc; /* what is over is left out */
	struct session_fields reply_to;
	char *subject;        /* NULL: none */
	bool has_message_id;  /* also one that is not kept */
	bool has_unsubscribe; /* a way of its own to unsubscribe */
	struct session_fields own[OWN_FIELDS];
	struct buf copy;    /* the message, without those fields and with LF for line ends */
	int64_t copy_held;  /* of the room */
	bool copy_has_body; /* its header has ended */
	bool copy_ends_cr;  /* and the last byte was a CR, which is not in it yet */
	bool no_room;       /* for the copy, which is not kept then */
};

struct milter_session {
	enum mail_origin origin;   /* of clients without login */
	char *client;              /* its address as text; NULL without one */
	bool submits;              /* httpd submits this way, unless there is a login */
	struct session_room *room; /* not owned; NULL: without bounds */
	struct session_message message;
};

/* client is copied. by_tcp: httpd submits by SMTP over TCP. */
struct milter_session *session_new(enum mail_origin origin, const char *client, bool by_tcp);
void session_free(struct milter_session *session);
DEFINE_CLEANUP(milter_session, session_free)

/* A new message begins; whatever was known of one before is forgotten. sender
 * is the argument of MAIL FROM, with or without <>; login NULL or "" when there
 * is none. */
void session_begin(struct milter_session *session, const char *sender, const char *login);

/* By which service the message came, its {daemon_name}: a login by that of ours is the
 * id of a key. NULL when not known. */
void session_service(struct milter_session *session, const char *name);

/* The envelope sender as Postfix understands it, NULL when it does not tell:
 * of an SMTP client's `a%example.com` it makes `a@example.com`, and of `a` an
 * address with its own domain. */
void session_resolved(struct milter_session *session, const char *address);

/* The parameters of MAIL or of RCPT (RFC 5321 4.1.1.11); NULL ends them. */
void session_parameters(struct milter_session *session, char *const *parameters);

/* One recipient of the envelope, with or without <>. */
void session_recipient(struct milter_session *session, const char *address);

/* One header field; its value may still be folded. */
void session_header(struct milter_session *session, const char *name, const char *value);

/* More of the body; at its end, and when there is none, once with nothing. Of a message
 * without the login of a key nothing is kept: false, no more is needed. */
bool session_body(struct milter_session *session, const void *data, size_t len);

/* The queue id, "" for NULL: early in a message Postfix may not have one. */
void session_queue_id(struct milter_session *session, const char *queue_id);

/* Forgets the message. */
void session_reset(struct milter_session *session);

/* Where the message comes from, with the login in mind. */
enum mail_origin session_origin(const struct milter_session *session);

#endif
