/*
 * store_email: the record of each email.
 *
 * httpd stages a row before it submits the message; the milter records it as
 * sent, or refuses it. doc/ARCHITECTURE.md has all states and steps. The sent
 * folder is the rows in the state sent. An email keeps the names of its
 * company, key and domain when those are removed.
 */
#ifndef POSTERN_STORE_STORE_EMAIL_H
#define POSTERN_STORE_STORE_EMAIL_H

#include "core/base/id.h"
#include "core/base/secret.h"
#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/store/row.h"
#include "core/store/store_email_recipient.h"

enum email_state { EMAIL_STAGED, EMAIL_SENT, EMAIL_REFUSED };

/* By which way the message comes into Postfix with the ticket. */
enum email_way {
	EMAIL_WAY_ANY,
	EMAIL_WAY_SENDMAIL,
	EMAIL_WAY_SMTP,
	EMAIL_WAY_SPENT, /* none any more: Postfix has said that it has it */
	EMAIL_WAY_AUTH,  /* by the client itself, over SMTP with its key: no ticket counts */
};

struct email {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char key_id[ID_SIZE];
	char ticket[SECRET_TICKET_SIZE];
	char nonce[SECRET_TICKET_SIZE]; /* in its message as it is submitted; "": none is */
	int64_t seq;                    /* of the row; the store assigns it */
	char *domain;                   /* of the header From, A-labels */
	char *sender;                   /* envelope sender, address only */
	char *from;                     /* `Name <address>` or the bare address, UTF-8 */
	struct recipients recipients;   /* at least one, in the order of kinds */
	struct strv reply_to;           /* each as `from` */
	char *subject;                  /* "" when not given; the same for text and html */
	char *html;
	char *text;
	char *tags;       /* JSON: [{"name","value"}]; NULL stands for [] */
	char *variables;  /* JSON: an object; NULL stands for {} */
	char *message_id; /* with angle brackets */
	int64_t created_us;
	enum email_state state;
	int64_t decided_us; /* sent or refused; 0 while staged */
	char *queue_id;     /* Postfix's; NULL until it was decided once */
	char *last_event;   /* NULL while staged */
	char *refusal;      /* why, for people; NULL unless refused */
	enum email_way way;
	bool answered;        /* its client knows the id, also when it is refused */
	int64_t scheduled_us; /* when it is to go out; 0: at once */
};

/* Stores a new row in the state staged, and what it is found by; members that a
 * decision sets are ignored. Joins an open transaction, which must be undone
 * when this fails; without one it uses its own. ERR_INVALID for a mailbox that
 * is empty or has a line break, ERR_EXISTS for an id or a ticket that is
 * already stored. */
int store_email_stage(struct db *db, const struct email *email, struct err *err);
/* Removes the row of a ticket after Postfix has refused the message for good, even if
 * the milter had let it pass: 1, or 0 when the milter has refused it or the email has
 * another ticket now, or -1. */
int store_email_retract(struct db *db, const char *ticket, struct err *err);

/* Gives a row the ticket and the way of email, because it is unknown whether its
 * message reached Postfix or was lost there. From now on a message with the old
 * ticket is superseded. The state in email is the one that the row must have, staged
 * or sent; it is staged then. In the caller's transaction, which must be undone when
 * this fails. 1, 0 when there is no such row in that state, or -1. */
int store_email_supersede(struct db *db, const struct email *email, struct err *err);

/* Gives a staged email a new ticket, because its message is submitted again from
 * Postfix's queue, by sendmail(1). From now on a message with another ticket of
 * the email is superseded. In the caller's transaction, which must be undone
 * when this fails. 1, 0 when the email is not staged (any more), or -1. */
int store_email_reissue(struct db *db, const char *id, const char *ticket, struct err *err);

/* All that a verdict needs to know about a ticket. One statement reads it, so
 * that it is consistent; the recipients never change, another reads them. */
struct email_ticket {
	char ticket[SECRET_TICKET_SIZE];
	char id[ID_SIZE];
	char nonce[SECRET_TICKET_SIZE];
	char company_id[ID_SIZE];
	char key_id[ID_SIZE];
	int64_t seq;
	char *domain;
	char *sender;
	char *from;
	char *message_id;
	char *return_path; /* of the domain, see struct domain */
	bool unsubscribe;
	struct strv recipients; /* addresses of the envelope, but for who was suppressed when
				 * it was recorded; of a staged one at least one */
	enum email_state state;
	enum email_way way;
	bool superseded; /* the email has another ticket now: only id is set
			  * besides */
	/* Postfix has the message: it has said so, or its log has told of the
	 * message after cleanup(8) had done with it. That the milter has recorded
	 * it does not say so, nor that it was not found in the queue. */
	bool spent;
	bool key_valid;     /* exists, not revoked, scope sending, not
			     * restricted to another domain */
	bool domain_owned;  /* still registered to the same company */
	bool domain_active; /* and it is active; false when it is not owned */
};
/* 1 found, 0 no such ticket, -1 cannot tell. Clear it only when found. */
int store_email_ticket(
	struct db *db, const char *ticket, struct email_ticket *ticket_r, struct err *err);
/* The same of the email with this id, if it is staged. */
int store_email_ticket_staged(
	struct db *db, const char *id, struct email_ticket *ticket_r, struct err *err);
void store_email_ticket_clear(struct email_ticket *ticket);

/* The milter's decisions. A repeated one with the same ticket keeps what the
 * first one wrote: Postfix may present a message twice. A sent email never
 * becomes refused, nor a refused one sent: then the verdict has to be made
 * again. The last event becomes `sent` or `failed`. 1 done, also when there was
 * nothing left to do; 0 no such ticket, or refused when it is to be sent; -1
 * cannot tell. */
int store_email_record(
	struct db *db, const char *ticket, const char *queue_id, int64_t now_us, struct err *err);
int store_email_refuse(struct db *db, const char *ticket, const char *queue_id, const char *refusal,
	int64_t now_us, struct err *err);

/* Finds the email of a ticket, the one it has or one that it had: 1, 0, -1. */
int store_email_find_ticket(
	struct db *db, const char *ticket, char id[static ID_SIZE], struct err *err);

/* The state of an email: 1, 0 no such email, -1. The caller frees the refusal,
 * which is NULL unless refused. */
int store_email_outcome(struct db *db, const char *id, enum email_state *state_r, char **refusal_r,
	struct err *err);

/* Whether Postfix has kept the message of an email that its client has submitted itself. The
 * record does not say so: cleanup(8) may die behind it, and the client is told. The log does. */
enum email_arrival {
	EMAIL_ARRIVED,
	EMAIL_ARRIVAL_OPEN, /* nothing was heard of it yet */
	EMAIL_ARRIVAL_LOST, /* Postfix refused it; or neither queue nor log knew it, for long */
};
/* 1, 0 no such email, -1. */
int store_email_arrival(
	struct db *db, const char *id, enum email_arrival *arrival_r, struct err *err);

/* Whether its client has submitted it itself: 1, 0, -1. */
int store_email_is_auth(struct db *db, int64_t seq, struct err *err);

/* The client is told the id, before the milter has decided. 1, 0, -1. */
int store_email_answered(struct db *db, const char *id, struct err *err);

/* Which emails may be read. */
struct email_scope {
	const char *company_id; /* NULL: every company (admins) */
	const char *domain;     /* NULL: every domain */
	/* Those that were sent, and of the others those whose clients were told
	 * their ids before it was known what becomes of them. */
	bool sent_only;
};
/* One email with its content: 1, 0 or -1. Clear with store_email_clear(). */
int store_email_get(struct db *db, const char *id, const struct email_scope *scope,
	struct email *email_r, struct err *err);
void store_email_clear(struct email *email);
/* Its seq alone; with message_id only if that is its Message-ID. */
int store_email_seq(struct db *db, const char *id, const char *message_id,
	const struct email_scope *scope, int64_t *seq_r, struct err *err);

struct email_list {
	struct email *items;
	size_t n;
};
/* The refused emails, the last refused first, limit at most, without html and
 * text. */
int store_email_list_refused(struct db *db, const struct email_scope *scope, int limit,
	struct email_list *list_r, struct err *err);
/* What a text names an email by, as it looks. */
enum email_name {
	EMAIL_NAME_ID,
	EMAIL_NAME_MESSAGE_ID, /* with angle brackets or without */
	EMAIL_NAME_QUEUE_ID,   /* Postfix's, of any message that carried it */
};
enum email_name store_email_name_of(const char *text);
/* The newest limit ones that the text names: one, but where clients have chosen
 * the same Message-ID, or Postfix has used a queue id again. */
int store_email_named(struct db *db, const struct email_scope *scope, const char *text, int limit,
	struct email_list *list_r, struct err *err);
/* The id of the newest one with the Message-ID, in angle brackets: 1, 0 none, -1. */
int store_email_by_message_id(struct db *db, const struct email_scope *scope,
	const char *message_id, char id[static ID_SIZE], struct err *err);
/* A page of the scope, which must name a company. *more_r: whether there are
 * more emails behind the page, or in front of it for a page `before`. 1, 0 when
 * the cursor is no email of the scope, -1. */
int store_email_page(struct db *db, const struct email_scope *scope, const struct page *page,
	struct email_list *list_r, bool *more_r, struct err *err);
void store_email_list_free(struct email_list *list);

/* Which emails a search finds: those that fit all that is given. */
/* What emails are searched by: refused by the milter or stopped, which admins may ask for;
 * then what store_email_last_event() gives, in the end those that an index has. */
enum { EMAIL_STATUS_SHOWN = 2, EMAIL_STATUS_TROUBLE = 6, EMAIL_STATUSES = 12 };
extern const char *const store_email_statuses[EMAIL_STATUSES];

struct email_filter {
	const char *to;      /* address of a recipient, also of cc and bcc; any
			      * letter case */
	const char *from;    /* address of the sender, likewise */
	const char *subject; /* a part of it; letter case of ASCII is the same */
	const char *text;    /* words, see store_text_index_words(), each of them a
			      * part of the subject, the sender, a recipient or
			      * the Message-ID, in any letter case */
	/* What became of it for a recipient, for the one of `to` when that is given; NULL: any. */
	const enum delivery_status *recipient;
	const char *key_id;
	const char *status; /* of store_email_statuses */
	const char *tag;    /* of the form API; of the JSON API `name` or
			     * `name:value` */
	int64_t since_us;   /* created then or later; 0: not given */
	int64_t until_us;   /* created before */
	int64_t now_us;     /* with status, which may go by it */
};

/* How many emails a search looks at for a page, in the order in which they were
 * staged; and how many when an index leads to them one by one. Of a text, or of a part
 * of the subject, store_text_index.h says how far it looks. */
enum { EMAIL_SEARCH_MAX = 20000, EMAIL_SEARCH_LED_MAX = 5000 };

struct email_found {
	struct email_list list; /* newest first, without html and text */
	bool more;              /* as store_email_page() has it */
	/* "", or: that many emails were looked at before the page was
	 * full, or before any was found. The search goes on with a page behind
	 * this email (`after`, or `before` for a page before). */
	char next[ID_SIZE];
	int64_t percent;   /* with next: how much of the scope is looked at now */
	int64_t looked_us; /* when the last email that was looked at was created */
};
/* A page of the emails of the scope that fit the filter. The cursor may be any
 * email of the scope. An email whose time is over ten minutes off those of its
 * neighbours, since the clock was set back, may be missed by since and until.
 * 1, and the caller frees the list; 0 when the cursor is no email of the scope;
 * -1. */
int store_email_search(struct db *db, const struct email_scope *scope,
	const struct email_filter *filter, const struct page *page, struct email_found *found_r,
	struct err *err);

/* How many emails are not at their end, by where they are, and how many
 * messages are held. 0 or -1. */
struct email_queue {
	int64_t staged;   /* the milter has not decided */
	int64_t queued;   /* Postfix has it, and nothing was heard of it */
	int64_t deferred; /* Postfix tries again */
	int64_t held;
};
int store_email_queue(struct db *db, struct email_queue *queue_r, struct err *err);

/* How many emails of a company, or of all, wait: for the milter's decision, and
 * were staged, and due, before a time; or for another attempt; or were staged, or
 * due, after a time and lost. Of each it counts EMAIL_WAITING_MAX at most. 0 or -1. */
enum { EMAIL_WAITING_MAX = 1000, EMAIL_LATE_S = 30 /* longer than it should take */ };
struct email_waiting {
	int64_t staged;
	int64_t delayed;
	int64_t lost; /* that never came to the milter, and are not in Postfix */
};
int store_email_waiting(struct db *db, const char *company_id, int64_t staged_before_us,
	int64_t lost_after_us, struct email_waiting *waiting_r, struct err *err);

/* How far it is, as everybody is told: `scheduled` or `queued` while it is staged, then its
 * last event. */
const char *store_email_last_event(const struct email *email, int64_t now_us);
/* The same as admins are told: after `scheduled` and `queued` it is `sent`, `canceled`,
 * `refused` by the milter, `stopped` by Postfix before the milter was asked, or `failed`,
 * when it was not handed to Postfix. */
const char *store_email_state_shown(const struct email *email, int64_t now_us);

/* How its client has handed it over, for people and programs: `http` or `smtp`. */
const char *store_email_via(const struct email *email);

/* For the files of the store: the companies with emails that the milter has not
 * decided about; the columns of email and email_content, and the
 * words of the column state. */
#define STORE_STAGED_OWNERS ROW_OWNERS("email", "state = 'staged' AND queue_id IS NULL")
extern const struct row_type store_email_type;
extern const struct row_words store_email_states;
extern const struct row_words store_email_ways;

/* The latest time at which one of the newest emails was staged: 1, 0 when there
 * is none, -1. */
int store_email_newest(struct db *db, int64_t *created_us_r, struct err *err);

#endif
