/*
 * op_refusal: what the rules refused, and what they would have refused under another policy.
 */
#include "core/ops/op_refusal.h"

#include <stdlib.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/policy/verdict.h"
#include "core/store/email/store_email.h"
#include "core/store/host/store_refusal.h"

enum { LIMIT = 100, LIMIT_MAX = 1000 };

#define INPUT sizeof(struct op_refusal)

static const struct op_field list_fields[] = {
	{OP_FIELD(op_refusal, company_id, OP_ID)},
	{OP_FIELD(op_refusal, domain, OP_TEXT)},
	{OP_FIELD(op_refusal, learnt, OP_FLAG)},
	{OP_FIELD(op_refusal, limit, OP_NUMBER), .max = LIMIT_MAX},
	{OP_FIELD(op_refusal, after, OP_TEXT)},
	{0},
};
static const struct op_field all_fields[] = {
	{OP_FIELD(op_refusal, company_id, OP_ID), .removed = true},
	{OP_FIELD(op_refusal, domain, OP_TEXT)},
	{0},
};

/* A row of the lists. Missing texts are NULL. */
struct refused {
	char *outcome;
	char *reason;
	char *reason_text;
	char *domain;
	char *origin;
	char *client;
	char *login;
	char *sender;
	char *from;
	char *queue_id; /* queue id of the latest message */
	char *host;
	int64_t count;
	int64_t first_us;
	int64_t last_us;
	char *email_id;
};

static const struct row_field fields[] = {
	ROW_FIELD(refused, outcome, ROW_TEXT),
	ROW_FIELD(refused, reason, ROW_TEXT),
	ROW_FIELD(refused, reason_text, ROW_TEXT),
	ROW_FIELD(refused, domain, ROW_TEXT),
	ROW_FIELD(refused, origin, ROW_TEXT),
	ROW_FIELD(refused, client, ROW_TEXT),
	ROW_FIELD(refused, login, ROW_TEXT),
	ROW_FIELD(refused, sender, ROW_TEXT),
	ROW_FIELD(refused, from, ROW_TEXT),
	ROW_FIELD(refused, queue_id, ROW_TEXT),
	ROW_FIELD(refused, host, ROW_TEXT),
	ROW_FIELD(refused, count, ROW_INT64),
	ROW_FIELD(refused, first_us, ROW_TIME),
	ROW_FIELD(refused, last_us, ROW_TIME),
	ROW_FIELD(refused, email_id, ROW_TEXT),
};
static const struct row_type all_type = {
	.name = "refusal", .size = sizeof(struct refused), .fields = fields, ARRAY_SIZE(fields)};
/* The row of a list that has no email_id. */
static const struct row_type list_type = {.name = "refusal",
	.size = sizeof(struct refused),
	.fields = fields,
	ARRAY_SIZE(fields) - 1,
	.whole = &all_type};

/* Takes the text; NULL for "". */
static char *take_given(char **text)
{
	char *given = TAKE_PTR(*text);

	if (given && *given)
		return given;
	free(given);
	return NULL;
}

static struct refused take_refusal(struct refusal *refusal)
{
	char *words = mem_strdup(verdict_reason_words(refusal->reason));

	return (struct refused){
		.outcome = mem_strdup(store_refusal_outcome_name(refusal->outcome)),
		.reason = TAKE_PTR(refusal->reason),
		.reason_text = words,
		.domain = take_given(&refusal->domain),
		.origin = take_given(&refusal->origin),
		.client = take_given(&refusal->client),
		.login = take_given(&refusal->login),
		.sender = TAKE_PTR(refusal->sender),
		.from = take_given(&refusal->from),
		.queue_id = take_given(&refusal->queue_id),
		.host = take_given(&refusal->host),
		.count = refusal->count,
		.first_us = refusal->first_us,
		.last_us = refusal->last_us,
	};
}

/* A refused email is shown like other mail that was refused once. */
static struct refused take_email(struct email *email)
{
	return (struct refused){
		.outcome = mem_strdup("refused"),
		.reason = mem_strdup(email->refusal),
		.reason_text = TAKE_PTR(email->refusal),
		.domain = TAKE_PTR(email->domain),
		.sender = TAKE_PTR(email->sender),
		.from = TAKE_PTR(email->from),
		.queue_id = TAKE_PTR(email->queue_id),
		.host = take_given(&email->host),
		.count = 1,
		.first_us = email->decided_us,
		.last_us = email->decided_us,
		.email_id = mem_strdup(email->id),
	};
}

/* Reads the cursor: the time and the number of the last row of a page. */
static int read_refusal_cursor(
	const struct op *op, const char *text, struct refusal_scope *scope, struct err *err)
{
	size_t len = text ? strcspn(text, ".") : 0;
	_cleanup_free_ char *time = text ? mem_dup(text, len) : NULL;

	if (text == NULL ||
		(text[len] == '.' && str_int(time, 1, INT64_MAX, &scope->behind_us) == 0 &&
			str_int(text + len + 1, 1, INT64_MAX, &scope->behind_seq) == 0))
		return 0;
	return op_refuse(op, err, "after", "parameter must be the `next` of a page of this list");
}

static int list_refusals(struct op *op, const void *arg, struct err *err)
{
	const struct op_refusal *input = arg;
	size_t limit = input->limit ? (size_t)input->limit : LIMIT, n;
	struct refusal_scope scope = {
		.company_id = op_company_of(op, input->company_id),
		.learnt_only = input->learnt == OP_YES,
	};
	_cleanup_free_ char *domain = NULL;
	struct refusal_list found;
	struct refused *rows;
	json_t *next;

	if (input->domain && addr_domain_normalize(input->domain, &domain, err) < 0)
		return -1;
	scope.domain = domain;
	if (read_refusal_cursor(op, input->after, &scope, err) < 0 ||
		store_refusal_list(op->db, &scope, (int)limit + 1, &found, err) < 0)
		return -1;
	n = found.n < limit ? found.n : limit;
	next = json_null();
	if (n < found.n)
		next = json_sprintf("%lld.%lld", (long long)found.items[n - 1].last_us,
			(long long)found.items[n - 1].seq);
	json_object_set_new(op_more(op), "next", next);
	rows = mem_alloc(n + 1, sizeof(*rows));
	for (size_t i = 0; i < n; i++)
		rows[i] = take_refusal(&found.items[i]);
	op_give_page(op, &list_type, rows, n, &(struct page_end){.more = n < found.n});
	store_refusal_list_free(&found);
	return 1;
}

static int list_all(struct op *op, const void *arg, struct err *err)
{
	const struct op_refusal *input = arg;
	const char *company_id = op_company_of(op, input->company_id);
	size_t limit = (size_t)op->page.limit, n = 0;
	_cleanup_free_ char *domain = NULL;
	struct refusal_list refusals;
	struct email_list emails;
	struct refused *rows;

	if (input->domain && addr_domain_normalize(input->domain, &domain, err) < 0)
		return -1;
	if (store_email_list_refused(op->db,
		    &(struct email_scope){.company_id = company_id, .domain = domain}, (int)limit,
		    &emails, err) < 0)
		return -1;
	if (store_refusal_list(op->db,
		    &(struct refusal_scope){.company_id = company_id, .domain = domain}, (int)limit,
		    &refusals, err) < 0) {
		store_email_list_free(&emails);
		return -1;
	}
	rows = mem_alloc(emails.n + refusals.n + 1, sizeof(*rows));
	for (size_t e = 0, r = 0; n < limit && (e < emails.n || r < refusals.n); n++) {
		bool is_email = r == refusals.n ||
				(e < emails.n &&
					emails.items[e].decided_us >= refusals.items[r].last_us);

		rows[n] = is_email ? take_email(&emails.items[e++])
				   : take_refusal(&refusals.items[r++]);
	}
	op_give_page(op, &all_type, rows, n, &(struct page_end){0});
	store_email_list_free(&emails);
	store_refusal_list_free(&refusals);
	return 1;
}

const struct operation op_refusal_list = {
	list_fields, INPUT, .list = OP_WHOLE, .run = list_refusals};
const struct operation op_refusal_list_all = {all_fields, INPUT, .list = OP_WHOLE, .run = list_all};
