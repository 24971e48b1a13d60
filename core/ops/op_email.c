/*
 * op_email: operations on an email.
 *
 * Sending again: resend_check() reads the kept message, edits it for the new email and, if it is
 * large, writes its file, all before the transaction; resend_run() checks the rules and stages the
 * email. A failure in between leaves a file without a row, which is swept.
 */
#include "core/ops/op_email.h"

#include <inttypes.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/compose/mime_edit.h"
#include "core/conf/conf.h"
#include "core/db/db_file.h"
#include "core/policy/send_rules.h"
#include "core/policy/ticket.h"
#include "core/store/store_audit.h"
#include "core/store/company/store_domain.h"
#include "core/store/email/store_email.h"
#include "core/store/company/store_key.h"
#include "core/store/email/store_message.h"
#include "core/store/outbox/store_outbox.h"

static struct email_scope scope_of(const struct op *op)
{
	return (struct email_scope){.company_id = op->company_id,
		.domain = op->domain,
		.sent_only = op->actor == OP_KEY};
}

/* Returns 1 if the actor sees such an email, 0 if not, -1 on error. */
static int find_seen_email(const struct op *op, struct err *err)
{
	const struct email_scope scope = scope_of(op);
	int64_t seq;

	return store_email_seq(op->db, op->id, NULL, &scope, &seq, err);
}

static int give_email_id(struct op *op, const char *id)
{
	json_t *more = op_more(op);

	json_object_set_new(more, "object", json_string("email"));
	json_object_set_new(more, "id", json_string(id));
	return 1;
}

static int schedule_email(struct op *op, const void *arg, struct err *err)
{
	const struct op_email *input = arg;
	int found = find_seen_email(op, err);

	if (found <= 0)
		return found;
	found = store_outbox_schedule(op->db, op->id, input->scheduled_us, op->now_us, err);
	if (found == 0)
		return err_set(err, ERR_INVALID,
			"the email is not scheduled, or its time has come already");
	return found < 0 ? -1 : give_email_id(op, op->id);
}

/* Takes the reference of after. */
static int add_audit_entry(
	struct op *op, const char *company_id, const char *action, json_t *after, struct err *err)
{
	return store_audit_add(op->db,
		&(struct audit_action){.company_id = company_id,
			.action = action,
			.object_id = op->id,
			.object_name = op->id,
			.after = after},
		err);
}

static int cancel_email(struct op *op, const void *arg, struct err *err)
{
	int found = find_seen_email(op, err);

	(void)arg;
	if (found <= 0)
		return found;
	found = store_outbox_cancel(op->db, op->id, NULL, op->now_us, err);
	if (found == 0)
		return err_set(err, ERR_INVALID,
			"the email cannot be canceled any more: it does not wait");
	if (found < 0)
		return -1;
	/* A cancel by a key of the company gets no audit entry. */
	if (op->actor != OP_KEY && add_audit_entry(op, op->company_id, "email.cancel",
					   json_pack("{s:s}", "last_event", "canceled"), err) < 0)
		return -1;
	return give_email_id(op, op->id);
}

/*
 * Sending again.
 */

/* The new email. */
struct resend {
	struct email row;
	struct buf message;
	const char *database;
	bool staged; /* the row for the message's file exists */
};

static void resend_free(void *data)
{
	struct resend *resend = data;

	if (!resend->staged && *resend->row.id)
		store_message_discard(resend->database, resend->row.id);
	store_email_clear(&resend->row);
	buf_free(&resend->message);
	free(resend);
}

/* Checked before the message is read, and again in the transaction, with the same error texts. */
static int check_rules(
	struct op *op, const struct email *email, const char *key_id, struct err *err)
{
	struct send_facts facts = {.from_domain = email->domain, .status = DOMAIN_NOT_OWN};
	enum send_decision decision;
	struct domain domain;
	struct key key = {0};
	int found = store_domain_find_own(op->db, email->company_id, email->domain, &domain, err);

	if (found > 0) {
		facts.status = domain.active ? DOMAIN_ACTIVE : DOMAIN_INACTIVE;
		store_domain_clear(&domain);
	}
	if (found >= 0)
		found = store_key_get(op->db, email->company_id, key_id, &key, err);
	if (found < 0)
		return -1;
	facts.key_may_send = found > 0 && (key.scopes & KEY_SENDING);
	facts.key_domain = key.domain;
	decision = send_rules_check(&facts);
	store_key_clear(&key);
	switch (decision) {
	case RULES_ALLOWED:
		return 0;
	case RULES_NOT_OWN:
		return err_set(err, ERR_INVALID,
			"the domain %s is not one of the email's company any more", email->domain);
	case RULES_INACTIVE:
		return err_set(
			err, ERR_INVALID, "the domain %s is not active for sending", email->domain);
	case RULES_NO_SCOPE:
	case RULES_KEY_RESTRICTED:
		break;
	}
	return err_set(err, ERR_INVALID,
		"the key %s may not send as %s (any more): another one of the company is named "
		"with %s",
		key_id, email->domain, op->actor == OP_COMMAND ? "--key" : "`key_id`");
}

/* The outbox limits that httpd applies to a new email. */
static int check_room(struct op *op, const struct email *email, int64_t size, struct err *err)
{
	int64_t all, own, more_all = 0, more_own = 0, room = INT64_MAX;
	struct statvfs disk;

	if (op->outbox_bytes) {
		op->outbox_bytes(op->outbox, email->company_id, &more_all, &more_own);
		if (store_outbox_joined_bytes(op->db, email->company_id, &all, &own, err) < 0)
			return -1;
	} else if (store_outbox_bytes(op->db, email->company_id, &all, &own, err) < 0) {
		return -1;
	}
	if (db_file_volume_of(op->conf->store.database, &disk) == 0)
		room = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize - op->conf->outbox.min_free;
	switch (store_outbox_room(
		size, own + more_own, all + more_all, op->conf->outbox.max_bytes, room)) {
	case OUTBOX_FULL:
		return err_set(err, ERR_TEMPORARY, "the outbox is full (outbox.max_bytes)");
	case OUTBOX_DISK_FULL:
		return err_set(err, ERR_TEMPORARY,
			"the disk of the store is nearly full (outbox.min_free)");
	case OUTBOX_SHARE_FULL:
		return err_set(err, ERR_SHARE, OUTBOX_SHARE_WORDS);
	case OUTBOX_ROOM:
		break;
	}
	return 0;
}

/* An email that still waits in the outbox is sent anyway, so it is not sent again. Returns 0 or
 * -1. */
static int check_left_outbox(struct op *op, const struct email *email, struct err *err)
{
	int waits = email->state == EMAIL_STAGED ? store_outbox_has(op->db, email->id, err) : 0;

	if (waits > 0)
		return err_set(
			err, ERR_INVALID, "the email waits in the outbox, and goes out by itself");
	return waits;
}

/* Selects the recipients of the new email, each in the form of the header if the header names
 * it. */
static int choose_recipients(const struct op *op, const struct email *email, const char *to,
	struct email *row, struct err *err)
{
	enum { RECIPIENTS_MAX = 1000 };
	_cleanup_addr_list_ struct addr_list list = {0};
	int64_t max = op->conf->http.max_recipients ? op->conf->http.max_recipients
						    : RECIPIENTS_MAX;

	if (to && addr_list_parse(to, &list, err) < 0)
		return op_refuse(op, err, "to", "is no list of addresses: %s", err->text);
	if (to && (list.n == 0 || (int64_t)list.n > max))
		return op_refuse(op, err, "to", "names 1 to %" PRId64 " addresses", max);
	for (size_t i = 0; i < list.n; i++)
		if (str_eq(list.items[i].domain, TICKET_DOMAIN) ||
			list.items[i].local[strspn(list.items[i].local, "\"")] == '-')
			return op_refuse(op, err, "to",
				"names %s@%s: not to postern.invalid, nor to a local part that begins with a hyphen",
				list.items[i].local, list.items[i].domain);
	for (size_t i = 0; i < email->recipients.n; i++) {
		const struct recipient *one = &email->recipients.items[i];
		_cleanup_addr_ struct addr addr = {0};
		bool wanted = one->enveloped;

		if (to)
			wanted = addr_parse(one->address, &addr, NULL) == 0 &&
				 addr_list_has(&list, &addr);
		if (wanted || one->kind != RECIPIENT_BCC)
			recipients_add(&row->recipients, one->kind, mem_strdup(one->address),
				one->mailbox ? mem_strdup(one->mailbox) : NULL, wanted);
	}
	/* An address in the header is already listed. */
	for (size_t i = 0; i < list.n; i++) {
		char *spec = addr_spec(&list.items[i]);
		bool named = false;

		for (size_t k = 0; k < row->recipients.n; k++)
			named |= row->recipients.items[k].enveloped &&
				 str_eq(row->recipients.items[k].address, spec);
		if (named)
			free(spec);
		else
			recipients_add(&row->recipients, RECIPIENT_BCC, spec, NULL, true);
	}
	for (size_t i = 0; i < row->recipients.n; i++)
		if (row->recipients.items[i].enveloped)
			return 0;
	return err_set(err, ERR_INVALID, "the email has no recipients any more");
}

/* Builds the message of the new email. */
static int make_message(
	const struct op *op, const struct email *email, struct resend *resend, struct err *err)
{
	_cleanup_buf_ struct buf kept = BUF_INIT;
	int64_t max = op->conf->http.max_message_bytes;
	size_t skip;
	int found = store_message_read(op->db, op->conf->store.database, email->id, &kept, err);

	if (found == 0)
		return err_set(err, ERR_INVALID,
			"the message of this email is not kept any more (retention.messages)");
	if (found < 0)
		return -1;
	skip = ticket_fields_len(kept.data, kept.len);
	buf_printf(&resend->message, TICKET_TRACE_FIELD ": %s\n" TICKET_NONCE_FIELD ": %s\n",
		resend->row.id, resend->row.nonce);
	if (mime_edit(kept.data + skip, kept.len - skip,
		    &(const struct mime_edit){
			    .message_id = resend->row.message_id,
			    .date_us = op->now_us,
			    .old_date_us = email->created_us,
		    },
		    &resend->message, err) < 0)
		return -1;
	if ((int64_t)resend->message.len > max)
		return err_set(err, ERR_INVALID, "the message has %zu bytes, and may have %" PRId64,
			resend->message.len, max);
	return 0;
}

static int prepare_resend(struct op *op, const struct op_resend *input, const struct email *email,
	struct resend *resend, struct err *err)
{
	const char *key_id = input->key_id ? input->key_id : email->key_id;
	struct email *row = &resend->row;
	char id[ID_SIZE];
	int64_t size;
	int found = store_message_size(op->db, email->id, &size, err);

	if (input->key_id && id_parse(input->key_id, id))
		key_id = id;
	if (found == 0)
		return err_set(err, ERR_INVALID,
			"the message of this email is not kept any more (retention.messages)");
	if (found < 0 || check_left_outbox(op, email, err) < 0 ||
		check_rules(op, email, key_id, err) < 0 || check_room(op, email, size, err) < 0)
		return -1;
	/* Content and sender are those of the original email. */
	id_new(row->id);
	memcpy(row->company_id, email->company_id, ID_SIZE);
	memcpy(row->key_id, key_id, ID_SIZE);
	secret_ticket(row->ticket);
	secret_ticket(row->nonce);
	row->domain = mem_strdup(email->domain);
	row->sender = mem_strdup(email->sender);
	row->from = mem_strdup(email->from);
	strv_add_all(&row->reply_to, &email->reply_to);
	row->subject = mem_strdup(email->subject);
	row->html = mem_strdup(email->html);
	row->text = mem_strdup(email->text);
	row->tags = mem_strdup(email->tags);
	row->variables = mem_strdup(email->variables);
	row->created_us = op->now_us;
	row->answered = true;
	row->way = op->conf->submission.method == SUBMISSION_SMTP ? EMAIL_WAY_SMTP
								  : EMAIL_WAY_SENDMAIL;
	/* A Message-ID made from the id is ours. */
	row->message_id = strncmp(email->message_id + 1, email->id, ID_SIZE - 1) == 0
				  ? mem_printf("<%s@%s>", row->id, email->domain)
				  : mem_strdup(email->message_id);
	if (choose_recipients(op, email, input->to, row, err) < 0 ||
		make_message(op, email, resend, err) < 0)
		return -1;
	if (*db_host(op->db))
		return 0; /* store_message_keep() writes it */
	return store_message_write(resend->database, row->id, &resend->message, err);
}

static int resend_check(struct op *op, const void *input, struct err *err)
{
	const struct email_scope scope = scope_of(op);
	struct resend *resend;
	struct email email;
	int result = store_email_get(op->db, op->id, &scope, &email, err);

	/* Nothing is prepared; run() reports that it does not exist. */
	if (result <= 0)
		return result;
	resend = mem_new(struct resend);
	resend->database = op->conf->store.database;
	result = prepare_resend(op, input, &email, resend, err);
	store_email_clear(&email);
	if (result < 0)
		resend_free(resend);
	else
		op->ready = (struct op_ready){resend, resend_free};
	return result;
}

static int resend_run(struct op *op, const void *input, struct err *err)
{
	const struct email_scope scope = scope_of(op);
	struct resend *resend = op->ready.data;
	_cleanup_free_ char *canceled = NULL;
	json_t *to = NULL;
	struct email *row;
	struct email email;
	int result = resend ? store_email_get(op->db, op->id, &scope, &email, err) : 0;

	(void)input;
	if (result <= 0)
		return result;
	row = &resend->row;
	canceled = mem_printf("It was sent again as %s.", row->id);
	if (check_left_outbox(op, &email, err) < 0 || check_rules(op, row, row->key_id, err) < 0 ||
		store_email_stage(op->db, row, err) < 0 ||
		store_message_keep(op->db, row, &resend->message, err) < 0 ||
		store_outbox_join(op->db, row->seq, (int64_t)resend->message.len, op->now_us, err) <
			0 ||
		/* An email that never reached the milter is canceled by its successor. */
		(email.state == EMAIL_STAGED &&
			store_outbox_cancel(op->db, email.id, canceled, op->now_us, err) < 0))
		result = -1;
	store_email_clear(&email);
	if (result < 0)
		return -1;
	to = json_array();
	for (size_t i = 0; i < row->recipients.n; i++)
		if (row->recipients.items[i].enveloped)
			json_array_append_new(to, json_string(row->recipients.items[i].address));
	if (add_audit_entry(op, row->company_id, "email.resend",
		    json_pack("{s:s, s:o}", "id", row->id, "to", to), err) < 0)
		return -1;
	resend->staged = true;
	return give_email_id(op, row->id);
}

static const struct op_field resend_fields[] = {
	{OP_FIELD(op_resend, to, OP_LIST)}, {OP_FIELD(op_resend, key_id, OP_ID)}, {0}};

const struct operation op_email_schedule = {NULL, sizeof(struct op_email), .run = schedule_email};
const struct operation op_email_cancel = {.run = cancel_email};
const struct operation op_email_resend = {
	resend_fields, sizeof(struct op_resend), .check = resend_check, .run = resend_run};
