/*
 * store_email_recipient: the rows of the table email_recipient.
 */
#include "core/store/delivery/store_email_recipient.h"

#include <string.h>

#include "core/base/str.h"
#include "core/store/row.h"

static const char *const kinds[RECIPIENT_KINDS] = {
	[RECIPIENT_TO] = "to",
	[RECIPIENT_CC] = "cc",
	[RECIPIENT_BCC] = "bcc",
};
static const struct row_words kind_words = {kinds, RECIPIENT_KINDS, false};

static const struct row_field recipient_fields[] = {
	ROW_FIELD(recipient, n, ROW_INT64),
	ROW_WORD(recipient, kind, ROW_ENUM, "kind", &kind_words),
	ROW_FIELD(recipient, address, ROW_TEXT),
	ROW_FIELD(recipient, mailbox, ROW_TEXT),
	ROW_FIELD(recipient, enveloped, ROW_BOOL),
	ROW_WORD(recipient, status, ROW_ENUM, "status", &delivery_status_words),
	ROW_FIELD(recipient, attempts, ROW_INT64),
	ROW_FIELD(recipient, changed_us, ROW_INT64),
	ROW_FIELD(recipient, relay, ROW_TEXT),
	ROW_FIELD(recipient, dsn, ROW_TEXT),
	ROW_FIELD(recipient, text, ROW_TEXT),
};
const struct row_type store_recipient_type = ROW_TYPE(recipient, recipient_fields);

/* Ignores letter case (Unicode): Postfix delivers such a message once. */
static bool has_address(const struct recipients *recipients, const char *address, unsigned folded)
{
	for (size_t i = 0; i < recipients->n; i++) {
		const struct recipient *one = &recipients->items[i];

		if (one->enveloped && one->folded == folded && str_eq_folded(one->address, address))
			return true;
	}
	return false;
}

void recipients_add(struct recipients *recipients, enum recipient_kind kind, char *address,
	char *mailbox, bool wanted)
{
	unsigned folded = str_hash_folded(address);
	bool enveloped = wanted && !has_address(recipients, address, folded);

	recipients->items = mem_append(
		recipients->items, recipients->n, sizeof(*recipients->items));
	recipients->items[recipients->n] = (struct recipient){
		.n = (int64_t)recipients->n,
		.kind = kind,
		.address = address,
		.mailbox = mailbox,
		.enveloped = enveloped,
		.folded = folded,
	};
	recipients->n++;
}

const char *recipient_kind_name(enum recipient_kind kind)
{
	return kinds[kind];
}

const char *recipient_text(const struct recipient *recipient)
{
	return recipient->mailbox ? recipient->mailbox : recipient->address;
}

void recipients_free(struct recipients *recipients)
{
	row_list_free(&store_recipient_type, recipients->items, recipients->n);
	*recipients = (struct recipients){0};
}

static const char sql_read[] =
	"SELECT n, kind, address, mailbox, state IS NOT NULL AS enveloped,"
	" coalesce(state, 'queued') AS status, attempts, changed_us, relay, dsn, text"
	" FROM email_recipient"
	" WHERE email = $email AND (state IS NOT NULL OR $enveloped = 0)"
	" ORDER BY n";
#define READ_PARAMS(seq, enveloped)                                                                \
	DB_PARAMS(DB_INT("$email", seq), DB_INT("$enveloped", enveloped))

void store_recipients_read_ahead(struct db *db, int64_t seq, bool enveloped)
{
	db_read_ahead(db, sql_read, READ_PARAMS(seq, enveloped));
}

int store_recipients_read(struct db *db, int64_t seq, bool enveloped,
	struct recipients *recipients_r, struct err *err)
{
	return row_list(db,
		ROW_LIST(.sql = sql_read, .params = READ_PARAMS(seq, enveloped),
			.type = &store_recipient_type, ROW_INTO(recipients_r)),
		err);
}

static bool is_line(const char *text)
{
	return !str_empty(text) && strchr(text, '\n') == NULL;
}

static int check_recipients(const struct recipients *recipients, struct err *err)
{
	bool any = false;

	for (size_t i = 0; i < recipients->n; i++) {
		const struct recipient *one = &recipients->items[i];

		if (!is_line(one->address) || !is_line(recipient_text(one)))
			return err_set(err, ERR_INVALID,
				"%s: a mailbox is empty or has a line break", kinds[one->kind]);
		any |= one->enveloped;
	}
	return any ? 0 : err_set(err, ERR_INVALID, "an email needs a recipient");
}

int store_recipients_insert(struct db *db, int64_t seq, const char *company_id,
	const struct recipients *recipients, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO email_recipient (email, n, kind, address, mailbox, state,"
		"   company_id)"
		" VALUES ($email, $n, $kind, $address, $mailbox,"
		"   CASE WHEN $enveloped <> 0 THEN 'queued' END, $company)";
	const struct db_param *params = DB_PARAMS(
		DB_INT("$email", seq), DB_TEXT("$company", company_id));

	if (check_recipients(recipients, err) < 0)
		return -1;
	for (size_t i = 0; i < recipients->n; i++)
		if (row_post(db, sql_insert, params, &store_recipient_type, &recipients->items[i],
			    err) < 0)
			return -1;
	return 0;
}

static const struct row_field open_fields[] = {
	ROW_FIELD(open_recipient, email, ROW_INT64),
	ROW_FIELD(open_recipient, n, ROW_INT64),
	ROW_FIELD(open_recipient, decided_us, ROW_INT64),
	ROW_WORD(open_recipient, status, ROW_ENUM, "state", &delivery_status_words),
	ROW_FIELD(open_recipient, queue_id, ROW_TEXT),
	ROW_FIELD(open_recipient, address, ROW_TEXT),
	ROW_FIELD(open_recipient, seen, ROW_INT64),
};
static const struct row_type open_type = ROW_TYPE(open_recipient, open_fields);

int store_open_recipients(struct db *db, int64_t from_us, int64_t to_us, int limit,
	struct open_recipients *open_r, struct err *err)
{
	static const char sql_open[] =
		"SELECT e.seq AS email, r.n, e.decided_us, r.state, e.queue_id, r.address,"
		" EXISTS (SELECT 1"
		"   FROM queue_message h"
		"   WHERE h.email = e.seq) AS seen"
		" FROM email e"
		" CROSS JOIN email_recipient r ON r.email = e.seq"
		" WHERE e.last_event IN ('sent', 'delivery_delayed')"
		" AND e.closed = 0"
		" AND e.decided_us >= $from"
		" AND e.decided_us < $to"
		" AND e.state = 'sent'"
		" AND e.host IN ('', $this_host)"
		" AND r.state IN ('queued', 'deferred', 'handed_on')"
		" ORDER BY e.decided_us, e.last_event, e.seq, r.n"
		" LIMIT $limit";

	return row_list(db,
		ROW_LIST(.sql = sql_open,
			.params = DB_PARAMS(DB_INT("$from", from_us), DB_INT("$to", to_us),
				DB_INT("$limit", limit)),
			.type = &open_type, ROW_INTO(open_r)),
		err);
}

int store_staged_recipients(struct db *db, int64_t before_us, int limit,
	struct open_recipients *open_r, struct err *err)
{
	static const char sql_staged[] = STORE_STAGED_OWNERS
		"SELECT e.seq AS email, r.n, e.created_us AS decided_us, r.state,"
		" e.ticket AS queue_id, r.address, 1 AS seen"
		" FROM owner"
		" CROSS JOIN email e ON e.company_id = owner.id"
		" CROSS JOIN email_recipient r ON r.email = e.seq"
		" WHERE e.state = 'staged'"
		" AND e.queue_id IS NULL"
		" AND e.last_event IS NULL"
		" AND max(e.created_us, e.scheduled_us) < $before"
		" AND e.host IN ('', $this_host)"
		" AND NOT EXISTS (SELECT 1"
		"   FROM outbox o"
		"   WHERE o.email = e.seq)"
		" AND r.state = 'queued'"
		" LIMIT $limit";

	return row_list(db,
		ROW_LIST(.sql = sql_staged,
			.params = DB_PARAMS(DB_INT("$before", before_us), DB_INT("$limit", limit)),
			.type = &open_type, ROW_INTO(open_r)),
		err);
}

void store_open_recipients_free(struct open_recipients *open)
{
	row_list_free(&open_type, open->items, open->n);
	*open = (struct open_recipients){0};
}
