/*
 * apply: the only place that changes a message and answers Postfix.
 *
 * Order: add the email's recipients and remove its ticket, change header fields and sender,
 * make the record durable, answer. A message is put on hold after its record. If the answer is
 * lost, Postfix presents the message again and the same record is made again. The reverse order
 * could lose the record.
 *
 * A message with a ticket is accepted only with the recipients of its email in place. If a step
 * before that fails, the answer is tempfail and Postfix undoes all changes.
 *
 *   apply_verdict
 *     act_sent      the email of a ticket: changes the message, then record_sent
 *     act_key_sent  a message by a key's login: changes it, then record_key_email
 *     act_refused   record_refused; holds the message if that is how it is stopped
 *     act_probe     notes that the probe has arrived
 *     reply_text    for a refusal, and when Postfix has to try again
 *     log_outcome
 *
 * Threads: any thread of libmilter.
 */
#include "milter/apply.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/str.h"
#include "core/policy/return_path.h"
#include "core/policy/verdict.h"
#include "core/store/host/store_held.h"
#include "core/store/email/store_message.h"
#include "core/store/outbox/store_probe.h"
#include "milter/key_email.h"
#include "milter/session.h"

/*
 * The record of a message.
 *
 * It is one job for the committer, so it costs at most one commit, shared with messages that end
 * at the same time. write_...() run on the libmilter thread that commits.
 */

struct record {
	const char *ticket; /* NULL: the message is not an email of ours */
	bool is_first;      /* the email was not recorded when the facts were read */
	const struct suppressed_list *suppressed;
	const char *refusal;
	bool noted; /* the note below is stored */
	struct refusal_note note;
	bool held; /* the message is in Postfix's hold queue; for `postern held` */
	enum probe_change changed;
};

static int write_sent(struct db *db, void *arg, struct err *err)
{
	const struct record *record = arg;
	int found = store_email_record(
		db, record->ticket, record->note.queue_id, record->note.now_us, err);

	if (found == 0)
		return err_set(
			err, ERR_NOT_FOUND, "the email of the ticket was removed or refused");
	if (found < 0)
		return -1;
	if (found == STORE_EMAIL_RECORDED && record->is_first)
		return err_set(
			err, ERR_TEMPORARY, "another message with the ticket was just recorded");
	return store_suppressed_record(
		db, record->ticket, record->suppressed, record->note.now_us, err);
}

/* If the email of the ticket is gone, nothing is left to refuse. */
static int write_refusal(struct db *db, void *arg, struct err *err)
{
	const struct record *record = arg;
	const struct refusal_note *note = &record->note;
	const struct held_note held = {
		.queue_id = note->queue_id,
		.reason = note->reason,
		.domain = note->domain,
		.from = note->from,
		.now_us = note->now_us,
	};

	if (record->ticket && store_email_refuse(db, record->ticket, note->queue_id,
				      record->refusal, note->now_us, err) < 0)
		return -1;
	if (record->noted && store_refusal_note(db, note, err) < 0)
		return -1;
	return record->held ? store_held_note(db, &held, err) : 0;
}

int record_sent(struct service *service, const struct milter_session *session,
	const struct facts *facts, struct err *err)
{
	struct record record = {
		.ticket = session->message.ticket,
		.is_first = facts->ticket.state == EMAIL_STAGED,
		.suppressed = &facts->suppressed,
		.note.queue_id = session->message.queue_id,
		.note.now_us = clock_now_us(service->clock),
	};

	return committer_run(service->committer, write_sent, &record, err);
}

/* Returns the mailbox if there is one readable From field, otherwise the text of the first.
 * NULL if there is none. The caller frees the string. */
static char *from_of(const struct session_message *message)
{
	_cleanup_addr_ struct addr addr = {0};
	char *line;

	if (message->froms.values.n == 0)
		return NULL;
	line = str_unfolded(message->froms.values.items[0]);
	if (message->froms.values.n > 1 || addr_parse(line, &addr, NULL) < 0)
		return line;
	free(line);
	return addr_spec(&addr);
}

int record_refused(struct service *service, const struct milter_session *session,
	const struct facts *facts, const struct record_refusal *refusal, struct err *err)
{
	const struct session_message *message = &session->message;
	_cleanup_free_ char *from = from_of(message);
	struct record record = {
		.ticket = refusal->own ? facts->ticket.ticket : NULL,
		.refusal = verdict_text(refusal->reason, &facts->verdict),
		.noted = !refusal->own,
		.note =
			{
				.outcome = refusal->outcome,
				.reason = verdict_reason_name(refusal->reason),
				.domain = facts->domain,
				.origin = origin_name(session_origin(session)),
				.client = session->client,
				.login = message->login,
				.sender = message->sender,
				.from = from,
				.queue_id = message->queue_id,
				.now_us = clock_now_us(service->clock),
				.keep = service_refusals_kept(service),
			},
		.held = refusal->outcome == REFUSAL_HELD,
	};

	return committer_run(service->committer, write_refusal, &record, err);
}

static int write_probe(struct db *db, void *arg, struct err *err)
{
	const struct record *record = arg;

	return store_probe_see(db, record->ticket, record->note.queue_id, record->changed,
		       record->note.now_us, err) < 0
		       ? -1
		       : 0;
}

void record_probe_sender(struct service *service, const struct milter_session *session)
{
	char ticket[SECRET_TICKET_SIZE];
	struct err err = ERR_INIT;
	struct record record = {
		.ticket = ticket,
		.note.queue_id = "",
		.note.now_us = clock_now_us(service->clock),
	};
	bool is_new = false;
	struct probe probe;
	struct db *db;
	int found;

	if (session->origin == ORIGIN_EXTERNAL ||
		ticket_read(session->message.sender, ticket) != TICKET_READ)
		return;
	found = db_pool_take(service->readers, &db, &err);
	if (found == 0) {
		found = store_probe_get(db, ticket, &probe, &err);
		db_pool_give(service->readers, db, found >= 0);
	}
	/* Probes that test a particular way do not count: their messages show the ticket to users
	 * of this host. */
	if (found > 0) {
		is_new = probe.way == EMAIL_WAY_ANY && probe.seen_us == 0;
		store_probe_clear(&probe);
	}
	if (found < 0 ||
		(is_new && committer_run(service->committer, write_probe, &record, &err) < 0))
		log_warn(service->log, "probe_not_noted", "error", err.text);
}

/* A key's last use is stored at most once a minute. */
enum { KEY_USE_US = 60 * 1000 * 1000 };

/* The record of a message that came with a key's login. */
struct key_record {
	struct email *email;
	const struct buf *message;
	const struct facts *facts;
	const char *queue_id;
	struct suppressed_list *suppressed_r;
};

/* If the first message of a repeated request was lost, the Idempotency-Key now names the new
 * email. */
static int write_idempotency(struct db *db, const struct key_record *record, struct err *err)
{
	const struct facts *facts = record->facts;
	struct idempotency kept = {.created_us = record->email->created_us, .settled = true};
	int result;

	memcpy(kept.payload, facts->payload, sizeof(kept.payload));
	strv_add(&kept.results, record->email->id);
	result = facts->earlier_lost ? store_idempotency_settle(db, &facts->idempotency, &kept, err)
				     : store_idempotency_add(db, &facts->idempotency, &kept, err);
	strv_free(&kept.results);
	return result < 0 ? -1 : 0;
}

/* Stores in one transaction: the email and its recipients, that it is sent, which recipients
 * are suppressed, its message, its Idempotency-Key, and the use of its key. */
static int write_key_email(struct db *db, void *arg, struct err *err)
{
	const struct key_record *record = arg;
	const struct key_login *login = &record->facts->login;
	struct email *email = record->email;
	int64_t size = (int64_t)record->message->len, now_us = email->created_us;

	store_suppressed_free(record->suppressed_r);
	if (store_email_add_sent(db, email, record->queue_id, err) < 0 ||
		(login->suppresses && store_suppressed_read(db, email->seq, email->company_id,
					      email->domain, record->suppressed_r, err) < 0) ||
		store_suppressed_record(db, email->ticket, record->suppressed_r, now_us, err) < 0 ||
		store_message_keep(db, email, record->message, err) < 0 ||
		store_message_left(db, email->seq, size, now_us, err) < 0 ||
		(record->facts->has_idempotency && write_idempotency(db, record, err) < 0))
		return -1;
	if (now_us - login->last_used_us < KEY_USE_US)
		return 0;
	return store_key_touch(db, email->key_id, now_us, err);
}

static int record_key_email(struct service *service, struct key_record *record, struct err *err)
{
	const struct buf *message = record->message;
	const char *id = record->email->id;

	if (!service_has_room(service, message->len))
		return err_set(err, ERR_TEMPORARY,
			"the disk of the store is nearly full (outbox.min_free)");
	if ((service->is_shared ? store_message_write_chunks(service->committer, id, message, err)
				: store_message_write(service->database, id, message, err)) < 0)
		return -1;
	if (committer_run(service->committer, write_key_email, record, err) < 0) {
		store_message_discard(service->database, id);
		return -1;
	}
	return 0;
}

/*
 * Changes of the message.
 */

/* A message at its end, with the facts about it. */
struct eom {
	SMFICTX *ctx;
	struct service *service;
	const struct milter_session *session;
	const struct facts *facts;
};

static int add_field(const struct eom *eom, const char *field, const char *value, struct err *err)
{
	_cleanup_free_ char *name = mem_strdup(field), *text = mem_strdup(value);

	return smfi_addheader(eom->ctx, name, text) == MI_SUCCESS
		       ? 0
		       : err_set(err, ERR_INTERNAL, "cannot add %s", field);
}

/* Removes the n fields of this name, last first, because removing a field renumbers those
 * after it. */
static int remove_fields(const struct eom *eom, const char *field, size_t n, struct err *err)
{
	_cleanup_free_ char *name = mem_strdup(field);

	for (size_t i = n; i > 0; i--)
		if (smfi_chgheader(eom->ctx, name, (int)i, NULL) != MI_SUCCESS)
			return err_set(err, ERR_INTERNAL, "cannot remove %s", field);
	return 0;
}

static int change_recipient(const struct eom *eom, int (*change)(SMFICTX *ctx, char *address),
	const char *address, struct err *err)
{
	_cleanup_free_ char *path = mem_printf("<%s>", address);

	return change(eom->ctx, path) == MI_SUCCESS
		       ? 0
		       : err_set(err, ERR_INTERNAL, "cannot change the recipients");
}

/* Replaces the ticket by the recipients of the email, without suppressed ones. Refuses an empty
 * address: Postfix would take it for the end of the list. */
static int put_recipients(const struct eom *eom, struct err *err)
{
	const struct strv *recipients = &eom->facts->ticket.recipients;
	const struct suppressed_list *suppressed = &eom->facts->suppressed;
	_cleanup_free_ char *ticket = ticket_address(eom->session->message.ticket);

	if (recipients->n == 0)
		return err_set(err, ERR_INTERNAL, "the email has no recipient");
	for (size_t i = 0; i < recipients->n; i++) {
		const char *address = recipients->items[i];
		size_t k = 0;

		if (str_empty(address))
			return err_set(err, ERR_INTERNAL, "a recipient of the email is empty");
		while (k < suppressed->n && !str_eq(suppressed->items[k].address, address))
			k++;
		if (k == suppressed->n && change_recipient(eom, smfi_addrcpt, address, err) < 0)
			return -1;
	}
	return change_recipient(eom, smfi_delrcpt, ticket, err);
}

/* Removes the nonce. X-Postern-Email-Id names the email, or goes too (milter.trace_header). */
static int put_trace(const struct eom *eom, const char *email_id, struct err *err)
{
	const struct session_message *message = &eom->session->message;
	bool wanted = service_trace_header(eom->service);

	if (remove_fields(eom, TICKET_NONCE_FIELD, message->nonces, err) < 0)
		return -1;
	if (wanted && message->traces == 1 && eom->facts->verdict.trace_matches)
		return 0;
	if (remove_fields(eom, TICKET_TRACE_FIELD, message->traces, err) < 0)
		return -1;
	return wanted ? add_field(eom, TICKET_TRACE_FIELD, email_id, err) : 0;
}

/* How bounces and unsubscribe requests of an email come back. */
struct returns {
	const char *id, *nonce;  /* id and nonce of the email, for its return tokens */
	const char *return_path; /* the domain that bounces go to; NULL: they go to the sender */
	bool unsubscribe;        /* the domain adds a way to unsubscribe */
	size_t recipients;
};

/* Adds List-Unsubscribe (RFC 2369), and List-Unsubscribe-Post for one click (RFC 8058) where
 * the URL is https. A message to several recipients gets none: all of them see the same field,
 * so it could not tell who unsubscribes. A field of the message itself stays. */
static int put_unsubscribe(const struct eom *eom, const struct returns *returns, struct err *err)
{
	const char *url = eom->service->url;
	_cleanup_buf_ struct buf value = BUF_INIT;
	char token[RETURN_TOKEN_SIZE];

	if (returns->recipients != 1 || eom->session->message.has_unsubscribe ||
		!return_token_make(RETURN_UNSUBSCRIBE, returns->id, returns->nonce, token))
		return 0;
	if (!str_empty(url))
		buf_printf(&value, "<%s" UNSUBSCRIBE_PATH "%s>", url, token);
	if (returns->return_path) {
		_cleanup_free_ char *address = return_address(
			RETURN_UNSUBSCRIBE, token, returns->return_path);

		buf_printf(&value, "%s<mailto:%s?subject=unsubscribe>", value.len ? ",\n\t" : "",
			address);
	}
	if (value.len == 0)
		return 0;
	if (add_field(eom, "List-Unsubscribe", buf_str(&value), err) < 0)
		return -1;
	return str_starts(url, "https:")
		       ? add_field(eom, "List-Unsubscribe-Post", "List-Unsubscribe=One-Click", err)
		       : 0;
}

/* Sets the envelope sender to an address of the return path that names the email. RET=HDRS asks
 * for reports without the body. */
static int put_return_path(const struct eom *eom, const struct returns *returns, struct err *err)
{
	_cleanup_free_ char *address = NULL, *path = NULL, *options = NULL;
	char token[RETURN_TOKEN_SIZE];

	if (!return_token_make(RETURN_BOUNCE, returns->id, returns->nonce, token))
		return 0;
	address = return_address(RETURN_BOUNCE, token, returns->return_path);
	path = mem_printf("<%s>", address);
	options = mem_printf("RET=HDRS ENVID=%s", returns->id);
	return smfi_chgfrom(eom->ctx, path, options) == MI_SUCCESS
		       ? 0
		       : err_set(err, ERR_INTERNAL, "cannot change the sender");
}

/*
 * Actions, one for each kind of verdict.
 */

/* The answers to Postfix. */
enum ending { END_ACCEPT, END_REJECT, END_HOLD, END_DISCARD, END_TEMPFAIL };

/* What is to be done, and the result. */
struct outcome {
	struct verdict verdict;
	bool own; /* the refused message is the email of its ticket */
	enum ending ending;
	const char *reason; /* for the log */
	const char *text;   /* for people */
	struct err err;     /* our own failure, if any */
	char id[ID_SIZE];   /* the email made for a login, or the earlier email of a repeat;
			     * else "" */
};

/* The email of a ticket. If all recipients are suppressed, the message is discarded. */
static int act_sent(const struct eom *eom, struct outcome *outcome)
{
	const struct facts *facts = eom->facts;
	const struct returns returns = {
		.id = facts->ticket.id,
		.nonce = facts->ticket.nonce,
		.return_path = facts->ticket.return_path,
		.unsubscribe = facts->ticket.unsubscribe,
		.recipients = facts->ticket.recipients.n,
	};

	if (facts->suppressed.n > 0 && facts->suppressed.n == facts->ticket.recipients.n)
		outcome->ending = END_DISCARD;
	else if (put_recipients(eom, &outcome->err) < 0 ||
		 put_trace(eom, facts->ticket.id, &outcome->err) < 0 ||
		 (returns.unsubscribe && put_unsubscribe(eom, &returns, &outcome->err) < 0) ||
		 (returns.return_path && put_return_path(eom, &returns, &outcome->err) < 0))
		return -1;
	return record_sent(eom->service, eom->session, facts, &outcome->err);
}

/* Removes the fields that are meant for Postern, and adds what the domain is set to add. The
 * envelope sender stays if it is null, or if the client asked for delivery reports (RFC 3461),
 * which go to its own sender. */
static int change_key_message(const struct eom *eom, const struct email *email, struct err *err)
{
	const struct session_message *message = &eom->session->message;
	const struct returns returns = {
		.id = email->id,
		.nonce = email->nonce,
		.return_path = eom->facts->login.return_path,
		.unsubscribe = eom->facts->login.unsubscribe,
		.recipients = email->recipients.n,
	};

	if (put_trace(eom, email->id, err) < 0)
		return -1;
	for (size_t i = 0; i < OWN_MAILGUN; i++)
		if (remove_fields(eom, session_own_names[i], message->own[i].values.n, err) < 0)
			return -1;
	for (size_t i = 0; i < message->own[OWN_MAILGUN].values.n; i++)
		if (remove_fields(eom, message->own[OWN_MAILGUN].values.items[i], 1, err) < 0)
			return -1;
	if ((!message->has_message_id &&
		    add_field(eom, "Message-ID", email->message_id, err) < 0) ||
		(returns.unsubscribe && put_unsubscribe(eom, &returns, err) < 0))
		return -1;
	if (returns.return_path == NULL || str_empty(message->sender) || message->asks_for_reports)
		return 0;
	return put_return_path(eom, &returns, err);
}

/* A message that came with a key's login: it becomes an email. Its envelope has the recipients
 * already; suppressed ones are removed once the record tells which. */
static int act_key_sent(const struct eom *eom, struct outcome *outcome)
{
	struct suppressed_list suppressed = {0};
	struct email email;
	struct key_record record = {
		.email = &email,
		.message = &eom->session->message.copy,
		.facts = eom->facts,
		.queue_id = eom->session->message.queue_id,
		.suppressed_r = &suppressed,
	};
	int result;

	key_email_make(eom->session, eom->facts, clock_now_us(eom->service->clock), &email);
	memcpy(outcome->id, email.id, ID_SIZE);
	result = change_key_message(eom, &email, &outcome->err);
	if (result == 0)
		result = record_key_email(eom->service, &record, &outcome->err);
	if (suppressed.n > 0 && suppressed.n == email.recipients.n)
		outcome->ending = END_DISCARD;
	for (size_t i = 0; i < suppressed.n && result == 0 && outcome->ending != END_DISCARD; i++)
		result = change_recipient(
			eom, smfi_delrcpt, suppressed.items[i].address, &outcome->err);
	store_suppressed_free(&suppressed);
	store_email_clear(&email);
	return result;
}

/* Records that the milter was asked about the message of a probe. With probe_through the message is
 * accepted without recipients and nonce, so milters after ours see its end too. Postfix then
 * removes its queue file at once. */
static int act_probe(const struct eom *eom, struct outcome *outcome)
{
	const struct session_message *message = &eom->session->message;
	_cleanup_free_ char *ticket = ticket_address(message->ticket);
	struct record record = {
		.ticket = message->ticket,
		.changed = eom->facts->probe_changed,
		.note.queue_id = message->queue_id,
		.note.now_us = clock_now_us(eom->service->clock),
	};

	if (committer_run(eom->service->committer, write_probe, &record, &outcome->err) < 0)
		return -1;
	if (!eom->facts->probe_through) {
		outcome->ending = END_DISCARD;
		return 0;
	}
	outcome->ending = END_ACCEPT;
	if (remove_fields(eom, TICKET_NONCE_FIELD, message->nonces, &outcome->err) < 0)
		return -1;
	return change_recipient(eom, smfi_delrcpt, ticket, &outcome->err);
}

static int note_refusal(const struct eom *eom, struct outcome *outcome, enum refusal_outcome as)
{
	const struct record_refusal refusal = {
		.reason = outcome->verdict.reason,
		.outcome = as,
		.own = outcome->own,
	};

	return record_refused(eom->service, eom->session, eom->facts, &refusal, &outcome->err);
}

static int act_refused(const struct eom *eom, struct outcome *outcome)
{
	static const struct {
		enum ending ending;
		enum refusal_outcome outcome;
	} ways[] = {
		[STOP_REJECT] = {END_REJECT, REFUSAL_REJECTED},
		[STOP_HOLD] = {END_HOLD, REFUSAL_HELD},
		[STOP_DISCARD] = {END_DISCARD, REFUSAL_DISCARDED},
	};
	const struct stop_facts stop = {
		.origin = eom->facts->verdict.origin,
		.own = stop_is_own(&eom->facts->verdict, outcome->verdict.reason),
		.sender_mailbox = service_has_mailbox(eom->service, eom->session->message.sender),
		.local_way = service_refuse_local(eom->service),
	};
	enum stop_way way = stop_decide(&stop);
	_cleanup_free_ char *reason = mem_strdup(outcome->text);

	outcome->own = stop.own;
	outcome->ending = ways[way].ending;
	if (note_refusal(eom, outcome, ways[way].outcome) < 0)
		return -1;
	return way != STOP_HOLD || smfi_quarantine(eom->ctx, reason) == MI_SUCCESS
		       ? 0
		       : err_set(&outcome->err, ERR_INTERNAL, "cannot have the message held");
}

static int act(const struct eom *eom, struct outcome *outcome)
{
	switch (outcome->verdict.action) {
	case VERDICT_RECORD:
		return eom->facts->verdict.key_login ? act_key_sent(eom, outcome)
						     : act_sent(eom, outcome);
	case VERDICT_PASS:
		return 0;
	case VERDICT_LEARN:
		return note_refusal(eom, outcome, REFUSAL_LEARNT);
	case VERDICT_REFUSE:
		return act_refused(eom, outcome);
	case VERDICT_TEMPFAIL:
		outcome->ending = END_TEMPFAIL;
		return 0;
	case VERDICT_DISCARD:
		memcpy(outcome->id, eom->facts->earlier, ID_SIZE);
		outcome->ending = END_DISCARD;
		return 0;
	case VERDICT_PROBE:
		return act_probe(eom, outcome);
	case VERDICT_ACTIONS:
		break;
	}
	return err_set(&outcome->err, ERR_INTERNAL, "unknown action");
}

/*
 * The answer.
 */

static const struct answer {
	const char *name; /* for the log */
	sfsistat result;
	char code[4];   /* RFC 5321 4.2; "": Postfix's default reply */
	char status[6]; /* RFC 3463 */
} answers[] = {
	[END_ACCEPT] = {"accepted", SMFIS_ACCEPT, "", ""},
	[END_REJECT] = {"rejected", SMFIS_REJECT, "550", "5.7.1"},
	[END_HOLD] = {"held", SMFIS_ACCEPT, "", ""},
	[END_DISCARD] = {"discarded", SMFIS_DISCARD, "", ""},
	[END_TEMPFAIL] = {"put_off", SMFIS_TEMPFAIL, "451", "4.7.1"},
};

static const enum log_level levels[] = {
	[VERDICT_PASS] = LOG_LEVEL_INFO,
	[VERDICT_RECORD] = LOG_LEVEL_INFO,
	[VERDICT_REFUSE] = LOG_LEVEL_WARN,
	[VERDICT_TEMPFAIL] = LOG_LEVEL_ERROR,
	[VERDICT_DISCARD] = LOG_LEVEL_WARN,
	[VERDICT_LEARN] = LOG_LEVEL_INFO,
	[VERDICT_PROBE] = LOG_LEVEL_INFO,
};

/* A login with a key gets the same sentences as over HTTP. Others get the text after their domain,
 * unless the domain has a character with a meaning in an SMTP reply. */
static char *reply_text(const struct outcome *outcome, const struct facts *facts)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
	const struct verdict_facts *verdict = &facts->verdict;
	const char *domain = facts->domain;

	if (verdict->key_login && outcome->ending == END_REJECT && facts->key_found &&
		verdict->from_one && verdict->sender != RULES_ALLOWED)
		return send_rules_text(verdict->sender, domain);
	if (verdict->key_login && outcome->verdict.reason == REASON_LOGIN_FIELD)
		return mem_strdup(facts->field_err.text);
	if (verdict->key_login || domain == NULL || domain[strspn(domain, plain)] != '\0')
		return mem_strdup(outcome->text);
	return mem_printf("%s: %s", domain, outcome->text);
}

/* Outcomes that a company can cause as often as it likes are logged as info. */
static enum log_level level_of(const struct verdict *verdict)
{
	switch (verdict->reason) {
	case REASON_LOGIN_RATE:
	case REASON_LOGIN_PAUSED:
	case REASON_REPEAT_OPEN:
	case REASON_REPEAT_ARRIVED:
		return LOG_LEVEL_INFO;
	default:
		return levels[verdict->action];
	}
}

static void log_outcome(const struct eom *eom, const struct outcome *outcome)
{
	const struct milter_session *session = eom->session;
	const struct facts *facts = eom->facts;
	const char *email = facts->ticket_found ? facts->ticket.id : NULL;
	const char *key = facts->ticket_found ? facts->ticket.key_id : NULL;

	log_event(eom->service->log, level_of(&outcome->verdict), "verdict", "queue_id",
		session->message.queue_id, "email", outcome->id[0] ? outcome->id : email, "key",
		facts->key_found ? facts->login.key_id : key, "domain", facts->domain, "sender",
		session->message.sender, "origin", origin_name(session_origin(session)), "client",
		session->client, "login", session->message.login, "action",
		verdict_action_name(outcome->verdict.action), "outcome",
		answers[outcome->ending].name, "reason", outcome->reason, "error",
		outcome->err.code == ERR_NONE ? NULL : outcome->err.text, NULL);
}

/* A step has failed: the message comes again. ERR_EXISTS: another message with the same
 * Idempotency-Key was stored at the same moment. */
static void put_off(struct outcome *outcome)
{
	enum verdict_reason reason = outcome->err.code == ERR_EXISTS ? REASON_REPEAT_OPEN
								     : REASON_STORE_FAILED;

	outcome->verdict = (struct verdict){VERDICT_TEMPFAIL, reason};
	outcome->ending = END_TEMPFAIL;
	outcome->reason = "record_failed";
	outcome->text = "The message cannot be recorded now, try again later.";
	if (reason == REASON_REPEAT_OPEN) {
		outcome->reason = verdict_reason_name(reason);
		outcome->text = verdict_reason_text(reason);
	}
}

sfsistat apply_verdict(SMFICTX *ctx, struct service *service, const struct milter_session *session,
	const struct facts *facts)
{
	const struct eom eom = {ctx, service, session, facts};
	const struct verdict verdict = verdict_decide(&facts->verdict);
	struct outcome outcome = {
		.verdict = verdict,
		.reason = verdict_reason_name(verdict.reason),
		.text = verdict_text(verdict.reason, &facts->verdict),
		.err = facts->err,
	};
	struct answer answer;

	if (act(&eom, &outcome) < 0)
		put_off(&outcome);
	counts_add(&service->counts, outcome.verdict);
	answer = answers[outcome.ending];
	if (answer.code[0]) {
		_cleanup_free_ char *text = reply_text(&outcome, facts);

		smfi_setreply(ctx, answer.code, answer.status, text);
	}
	log_outcome(&eom, &outcome);
	return answer.result;
}
