/*
 * store_email: the record of each email.
 *
 * httpd stages a row before it submits the message; the milter records the email as sent, or
 * refuses it. doc/ARCHITECTURE.md has all states and transitions. The sent folder consists of the
 * rows in the state sent. An email keeps the names of its company, key and domain after those are
 * removed.
 */
#ifndef POSTERN_STORE_STORE_EMAIL_H
#define POSTERN_STORE_STORE_EMAIL_H

#include "core/base/id.h"
#include "core/base/secret.h"
#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/store/row.h"
#include "core/store/delivery/store_email_recipient.h"
#include "core/store/company/store_key.h"

enum email_state { EMAIL_STAGED, EMAIL_SENT, EMAIL_REFUSED };

/* The way by which the message with the ticket enters Postfix. */
enum email_way {
	EMAIL_WAY_ANY,
	EMAIL_WAY_SENDMAIL,
	EMAIL_WAY_SMTP,
	EMAIL_WAY_SPENT, /* none any more: Postfix has confirmed the message */
	EMAIL_WAY_AUTH,  /* submitted by the client over SMTP with its key: no ticket counts */
};

struct email {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char key_id[ID_SIZE];
	char ticket[SECRET_TICKET_SIZE];
	char nonce[SECRET_TICKET_SIZE]; /* in the submitted message; "": not used */
	int64_t seq;                    /* row number, assigned by the store */
	char *domain;                   /* of the header From, in A-labels */
	char *sender;                   /* envelope sender, address only */
	char *from;                     /* `Name <address>` or the bare address, UTF-8 */
	struct recipients recipients;   /* at least one, ordered by kind */
	struct strv reply_to;           /* each in the form of `from` */
	char *subject;                  /* "" if not given; also for text and html */
	char *html;
	char *text;
	char *tags;       /* JSON: [{"name","value"}]; NULL stands for [] */
	char *variables;  /* JSON: an object; NULL stands for {} */
	char *message_id; /* with angle brackets */
	int64_t created_us;
	enum email_state state;
	int64_t decided_us; /* sent or refused; 0 while staged */
	char *queue_id;     /* Postfix's; NULL before the first decision */
	char *host;         /* whose Postfix that is; "" or NULL: there is one host */
	char *last_event;   /* NULL while staged */
	char *refusal;      /* the reason, for people; NULL unless refused */
	enum email_way way;
	bool answered;        /* the client knows the id, even if the email is refused */
	int64_t scheduled_us; /* when it is to be sent; 0: at once */
};

/* Stores a new row in the state staged, with its recipients, content and tags; members that a
 * decision sets are ignored. Sets email->seq. Joins an open transaction, which must be rolled back
 * if this fails; otherwise uses its own. ERR_INVALID for a mailbox that is empty or has a line
 * break, ERR_EXISTS for an id or a ticket that is already stored. */
int store_email_stage(struct db *db, struct email *email, struct err *err);
/* The same for an email that nobody has staged, because Postfix has its message already: the row is
 * sent, decided at created_us. In the caller's transaction, which must be rolled back if this
 * fails. */
int store_email_add_sent(struct db *db, struct email *email, const char *queue_id, struct err *err);
/* Removes the row of a ticket after Postfix has permanently refused the message, even if the milter
 * had accepted it. Returns 1; 0 if the milter has refused it or the email has another ticket now;
 * -1 on error. */
int store_email_retract(struct db *db, const char *ticket, struct err *err);

/* Gives an email another ticket. From now on a message with the old one is superseded: the milter
 * discards it. In the caller's transaction, which must be rolled back if this fails. Returns 0 or
 * -1. */
int store_email_replace_ticket(struct db *db, const char *id, const char *ticket, struct err *err);

/* Gives a row the ticket and way of `email`, because it is unknown if its message reached Postfix
 * or was lost. From now on a message with the old ticket is superseded. email->state is the state
 * that the row must have, staged or sent; afterwards it is staged. In the caller's transaction,
 * which must be rolled back if this fails. Returns 1, 0 if no such row has that state, -1 on
 * error. */
int store_email_supersede(struct db *db, const struct email *email, struct err *err);

/* Gives a staged email a new ticket, because its message is submitted again from Postfix's queue by
 * sendmail(1). From now on a message with another ticket of the email is superseded. In the
 * caller's transaction, which must be rolled back if this fails. Returns 1, 0 if the email is not
 * staged (any more), -1 on error. */
int store_email_reissue(struct db *db, const char *id, const char *ticket, struct err *err);

/* Everything that a verdict needs to know about a ticket. One statement reads it, so it is
 * consistent. */
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
	/* Addresses of the envelope, without those suppressed when it was recorded; at least one
	 * if it is staged. */
	struct strv recipients;
	enum email_state state;
	enum email_way way;
	bool superseded; /* the email has another ticket now: only id is set besides */
	/* Postfix has the message: it confirmed it, or its log mentions the message after
	 * cleanup(8) had finished. The milter's record alone does not prove this, nor does a queue
	 * listing without the message. */
	bool spent;
	/* Exists, is not revoked, has the scope sending and is not restricted to another domain. */
	bool key_valid;
	bool domain_owned;  /* still registered to the same company */
	bool domain_active; /* owned and active */
	bool elsewhere;     /* another host submits the email: the ticket does not count here */
	bool suppresses;    /* the company has a list of suppressed addresses */
};
/* Returns 1, 0 if there is no such ticket, -1 on error. The caller clears *ticket_r, only after
 * 1. */
int store_email_ticket(
	struct db *db, const char *ticket, struct email_ticket *ticket_r, struct err *err);
/* Finds the ticket of the email with this id, if it is staged, without the recipients. */
int store_email_ticket_staged(
	struct db *db, const char *id, struct email_ticket *ticket_r, struct err *err);
void store_email_ticket_clear(struct email_ticket *ticket);

/* The milter's decisions. Postfix may present a message twice: a repeated decision with the same
 * ticket keeps the first one's values, except that a message of which the log knows nothing
 * gives way to the next one, whose queue id and time are kept. A sent email never becomes refused,
 * nor a refused one sent: then the verdict must be made again. last_event becomes `sent` or
 * `failed`. Return 1, also if nothing was left to do, but store_email_record() then returns
 * STORE_EMAIL_RECORDED; 0 if there is no such ticket, or the opposite was decided already; -1 on
 * error. A refusal that comes after the client was told the id is an event, too; then the caller
 * has a transaction. */
enum { STORE_EMAIL_RECORDED = 2 };
int store_email_record(
	struct db *db, const char *ticket, const char *queue_id, int64_t now_us, struct err *err);
int store_email_refuse(struct db *db, const char *ticket, const char *queue_id, const char *refusal,
	int64_t now_us, struct err *err);

/* Finds the email of a current or superseded ticket. Returns 1, 0 if there is none, -1 on error. */
int store_email_find_ticket(
	struct db *db, const char *ticket, char id[static ID_SIZE], struct err *err);

/* Reads the state of an email. Returns 1, 0 if there is no such email, -1 on error. The caller
 * frees the refusal, which is NULL unless refused. */
int store_email_outcome(struct db *db, const char *id, enum email_state *state_r, char **refusal_r,
	struct err *err);

/* The result of a message that the client submitted itself: if Postfix kept it. The milter's record
 * does not prove that: cleanup(8) may fail afterwards, and the client is told so. The log proves
 * it. */
enum email_arrival {
	EMAIL_ARRIVED,
	EMAIL_ARRIVAL_OPEN, /* no report yet */
	EMAIL_ARRIVAL_LOST, /* Postfix refused it; or it was in neither queue nor log for long */
};
/* Returns 1, 0 if there is no such email, -1 on error. */
int store_email_arrival(
	struct db *db, const char *id, enum email_arrival *arrival_r, struct err *err);

/* Returns 1 if the client submitted it itself over SMTP, 0 if not, -1 on error. */
int store_email_is_auth(struct db *db, int64_t seq, struct err *err);

/* Notes that the client was told the id before the milter decided; or that it will be: if the
 * milter has refused the email meanwhile, the refusal becomes an event. Returns 1, 0 if there is no
 * such email, -1 on error. */
int store_email_answered(struct db *db, const char *id, struct err *err);

/* Sets `answered` of an email that was staged without it, by its seq and id. Returns 1, 0 if there
 * is no such email (any more), -1 on error. */
int store_email_publish(struct db *db, const struct email *email, struct err *err);

/* Removes emails that a crash left between being staged and added to the outbox: staged, not
 * answered, of this host, and among the newest. Only while nobody stages emails at this host.
 * Returns how many, or -1. */
int store_email_remove_unfinished(struct db *db, struct err *err);

/* The emails that the caller may read. */
struct email_scope {
	const char *company_id; /* NULL: all companies (admins) */
	const char *domain;     /* NULL: all domains */
	/* Only sent emails, and those whose clients were told the id before the result was
	 * known. */
	bool sent_only;
};
/* Reads one email with its content. Returns 1, 0 if there is none, -1 on error. The caller clears
 * it with store_email_clear(). */
int store_email_get(struct db *db, const char *id, const struct email_scope *scope,
	struct email *email_r, struct err *err);
/* The valid key with a hash, and the email that its holder asks for, with the scope of the key: a
 * sent email of its company, and of its domain if it has one. One statement reads both, so the call
 * can be announced (db_read_ahead()). */
struct email_ask_with_key {
	const uint8_t *hash; /* of the key */
	const char *id;
	/* An email with more characters of content, or more recipients, may not be found; nor one
	 * whose first recipient was purged. */
	int64_t longest, recipients;
};
struct email_with_key {
	struct key key;
	bool found; /* the email */
	struct email email;
};
/* Returns 1, 0 if there is no such key, -1 on error. The caller clears the key, and the email if
 * there is one. */
int store_email_with_key(struct db *db, const struct email_ask_with_key *ask,
	struct email_with_key *got_r, struct err *err);
void store_email_with_key_ahead(struct db *db, const struct email_ask_with_key *ask);
void store_email_clear(struct email *email);
/* Reads only its seq; with message_id only if the email has that Message-ID. */
int store_email_seq(struct db *db, const char *id, const char *message_id,
	const struct email_scope *scope, int64_t *seq_r, struct err *err);
/* Returns 1 if the email is there and its company was not removed, 0 if not, -1 on error. */
int store_email_has_company(struct db *db, const char *id, struct err *err);

struct email_list {
	struct email *items;
	size_t n;
};
/* Lists refused emails, the last refused first, up to limit, without html and text. */
int store_email_list_refused(struct db *db, const struct email_scope *scope, int limit,
	struct email_list *list_r, struct err *err);
/* How a text refers to an email, by its form. */
enum email_name {
	EMAIL_NAME_ID,
	EMAIL_NAME_MESSAGE_ID, /* with or without angle brackets */
	EMAIL_NAME_QUEUE_ID,   /* Postfix's, of any message that carried the email */
};
enum email_name store_email_name_of(const char *text);
/* Lists the newest emails that the text refers to, up to limit. There can be several if clients
 * chose the same Message-ID or Postfix reused a queue id. */
int store_email_named(struct db *db, const struct email_scope *scope, const char *text, int limit,
	struct email_list *list_r, struct err *err);
/* Finds the id of the newest email with the Message-ID, given with angle brackets. Returns 1, 0 if
 * there is none, -1 on error. */
int store_email_by_message_id(struct db *db, const struct email_scope *scope,
	const char *message_id, char id[static ID_SIZE], struct err *err);
/* Reads a page of the scope, which must name a company. *more_r is true if there are more emails
 * after the page, or, for a page `before`, in front of it. Returns 1, 0 if the cursor is not in the
 * scope, -1 on error. */
int store_email_page(struct db *db, const struct email_scope *scope, const struct page *page,
	struct email_list *list_r, bool *more_r, struct err *err);
void store_email_list_free(struct email_list *list);

/* The statuses to search by: the first two, refused and stopped, are for admins; the others are
 * values of store_email_last_event(), and those from EMAIL_STATUS_TROUBLE on have an index. */
enum { EMAIL_STATUS_SHOWN = 2, EMAIL_STATUS_TROUBLE = 6, EMAIL_STATUSES = 12 };
extern const char *const store_email_statuses[EMAIL_STATUSES];

struct email_filter {
	const char *to;      /* address of a recipient, including Cc and Bcc; ignores letter case */
	const char *from;    /* address of the sender; ignores letter case */
	const char *subject; /* a part of the subject; ignores ASCII case */
	/* Words, see store_text_index_words(); each must occur in the subject, the sender, a
	 * recipient or the Message-ID; ignores letter case. */
	const char *text;
	/* The delivery status of any recipient, or of the one in `to` if given; NULL: any
	 * status. */
	const enum delivery_status *recipient;
	const char *key_id;
	const char *status; /* one of store_email_statuses */
	const char *tag;    /* a tag of the form API; `name` or `name:value` for the JSON API */
	int64_t since_us;   /* created then or later; 0: not given */
	int64_t until_us;   /* created before */
	int64_t now_us;     /* the present time, needed with status */
};

/* How many emails a search looks at for a page when it walks them in staging order, and when an
 * index leads to candidates one by one. For searches of text or subject see store_text_index.h. */
enum { EMAIL_SEARCH_MAX = 20000, EMAIL_SEARCH_LED_MAX = 5000 };

struct email_found {
	struct email_list list; /* newest first, without html and text */
	bool more;              /* as in store_email_page() */
	/* "", or the email at which the search stopped at the limit before the page was full, or
	 * before anything was found. It continues with a page `after` this email, or `before` it
	 * for a page before. */
	char next[ID_SIZE];
	int64_t percent;   /* with next: the part of the scope searched so far */
	int64_t looked_us; /* creation time of the last email looked at */
};
/* Reads a page of emails of the scope that match all of the filter. The cursor may be any email of
 * the scope. since and until may miss an email whose time differs by over ten minutes from its
 * neighbours, because the clock was set back. Returns 1, and the caller frees the list; 0 if the
 * cursor is not in the scope; -1 on error. */
int store_email_search(struct db *db, const struct email_scope *scope,
	const struct email_filter *filter, const struct page *page, struct email_found *found_r,
	struct err *err);

/* Counts the unfinished emails by state, and the held messages. Returns 0 or -1. */
struct email_queue {
	int64_t staged;   /* the milter has not decided yet */
	int64_t queued;   /* Postfix has it, without a report yet */
	int64_t deferred; /* Postfix tries again */
	int64_t held;
};
int store_email_queue(struct db *db, struct email_queue *queue_r, struct err *err);

/* Counts waiting emails of a company, or of all, each count up to EMAIL_WAITING_MAX. staged: staged
 * and due before staged_before_us, and the milter has not decided. delayed: deferred by Postfix.
 * lost: staged or due after lost_after_us, and lost. Returns 0 or -1. */
enum { EMAIL_WAITING_MAX = 1000, EMAIL_LATE_S = 30 /* longer than it should take */ };
struct email_waiting {
	int64_t staged;
	int64_t delayed;
	int64_t lost; /* never reached the milter, and are not in Postfix */
};
int store_email_waiting(struct db *db, const char *company_id, int64_t staged_before_us,
	int64_t lost_after_us, struct email_waiting *waiting_r, struct err *err);

/* Returns the public state: `scheduled` or `queued` while it is staged, then its last event. */
const char *store_email_last_event(const struct email *email, int64_t now_us);
/* Returns the state for admins: `scheduled` or `queued`, then `sent`, `canceled`, `refused` (by the
 * milter), `stopped` (by Postfix before it asked the milter), or `failed` (never handed to
 * Postfix). */
const char *store_email_state_shown(const struct email *email, int64_t now_us);

/* Returns how the client submitted it: `http` or `smtp`. */
const char *store_email_via(const struct email *email);

/* For the files of the store: the columns of email and email_content, and the words of the columns
 * state and way. */
extern const struct row_type store_email_type;
extern const struct row_type store_email_columns_type; /* without its recipients */
extern const struct row_words store_email_states;
extern const struct row_words store_email_ways;

/* Reads the latest staging time among the newest emails. Returns 1, 0 if there are none, -1 on
 * error. */
int store_email_newest(struct db *db, int64_t *created_us_r, struct err *err);

#endif
