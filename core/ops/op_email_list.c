/*
 * op_email_list: the list of emails, and the searches of it.
 */
#include "core/ops/op_email_list.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/report/delivery_report.h"
#include "core/report/email_render.h"
#include "core/store/email/store_email.h"
#include "core/store/email/store_text_index.h"

static const struct op_field fields[] = {
	{OP_FIELD(op_email_list, company_id, OP_ID), .admins = true, .removed = true},
	{OP_FIELD(op_email_list, domain, OP_TEXT), .admins = true},
	{OP_FIELD(op_email_list, key_id, OP_ID), .admins = true},
	{OP_FIELD(op_email_list, q, OP_WORDS), .admins = true},
	{OP_FIELD(op_email_list, to, OP_TEXT)},
	{OP_FIELD(op_email_list, from, OP_TEXT)},
	{OP_FIELD(op_email_list, subject, OP_WORDS)},
	{OP_FIELD(op_email_list, tag, OP_WORDS)},
	{OP_FIELD(op_email_list, status, OP_TEXT)},
	{OP_FIELD(op_email_list, recipient_status, OP_TEXT), .admins = true},
	{OP_FIELD(op_email_list, since, OP_TIME)},
	{OP_FIELD(op_email_list, until, OP_TIME)},
	{0},
};

/* An email of the result. */
struct listed_email {
	struct email email;
	bool for_admins;
	json_t *matched; /* for admins: null if the search was not for recipients */
};

static void clear_listed(void *item)
{
	struct listed_email *listed = item;

	store_email_clear(&listed->email);
	json_decref(listed->matched);
}

static json_t *show_listed(const void *item)
{
	const struct listed_email *listed = item;
	json_t *object = email_render_item(&listed->email);

	if (listed->for_admins) {
		email_render_for_admins(object, &listed->email);
		json_object_set(object, "matched", listed->matched);
	}
	return object;
}

static const struct row_type listed_type = {
	.name = "email",
	.size = sizeof(struct listed_email),
	.clear_rest = clear_listed,
	.shown = show_listed,
};

/* A search. It owns the texts. */
struct search {
	struct email_scope scope;
	struct email_filter filter;
	char *domain, *to, *from;
	const char *found_by; /* the form in which q refers to an email; NULL without q */
	struct email_found found;
};

static void clear_search(struct search *search)
{
	free(search->domain);
	free(search->to);
	free(search->from);
	store_email_list_free(&search->found.list);
}

static int read_address_filter(
	const struct op *op, const char *name, const char *text, char **address_r, struct err *err)
{
	_cleanup_addr_ struct addr addr = {0};

	if (text == NULL)
		return 0;
	if (addr_parse(text, &addr, NULL) < 0)
		return op_refuse(op, err, name, "must be an email address");
	*address_r = addr_spec(&addr);
	return 0;
}

static int check_text_filter(
	const struct op *op, const char *name, const char *text, struct err *err)
{
	if (text && (*text == '\0' || !str_utf8_valid(text, strlen(text))))
		return op_refuse(op, err, name, "must be text, and not be empty");
	return 0;
}

static int read_search(const struct op *op, const struct op_email_list *input,
	struct search *search, struct err *err)
{
	static const enum delivery_status recipient_statuses[] = {DELIVERY_QUEUED,
		DELIVERY_DEFERRED, DELIVERY_HANDED_ON, DELIVERY_DELIVERED, DELIVERY_BOUNCED,
		DELIVERY_EXPIRED, DELIVERY_DISCARDED, DELIVERY_REMOVED, DELIVERY_UNKNOWN,
		DELIVERY_COMPLAINED, DELIVERY_SUPPRESSED};
	size_t first = op->actor == OP_KEY ? EMAIL_STATUS_SHOWN : 0, i = first;
	_cleanup_buf_ struct buf words = BUF_INIT;

	if (check_text_filter(op, "subject", input->subject, err) < 0 ||
		check_text_filter(op, "tag", input->tag, err) < 0)
		return -1;
	for (; input->status && i < EMAIL_STATUSES; i++) {
		if (str_eq(input->status, store_email_statuses[i]))
			break;
		buf_printf(&words, "%s%s", i > first ? ", " : "", store_email_statuses[i]);
	}
	if (i == EMAIL_STATUSES)
		return op_refuse(op, err, op->actor == OP_COMMAND ? "state" : "status",
			"must be one of %s", buf_str(&words));
	for (i = 0; input->recipient_status && i < ARRAY_SIZE(recipient_statuses); i++)
		if (str_eq(input->recipient_status, delivery_status_name(recipient_statuses[i])))
			search->filter.recipient = &recipient_statuses[i];
	if (input->recipient_status && search->filter.recipient == NULL)
		return op_refuse(op, err, "recipient_status", "is no state of a recipient");
	if (read_address_filter(op, "to", input->to, &search->to, err) < 0 ||
		read_address_filter(op, "from", input->from, &search->from, err) < 0 ||
		(input->domain && addr_domain_normalize(input->domain, &search->domain, err) < 0))
		return -1;
	search->scope = (struct email_scope){
		.company_id = op_company_of(op, input->company_id),
		.domain = op->domain ? op->domain : search->domain,
		.sent_only = op->actor == OP_KEY,
	};
	search->filter.to = search->to;
	search->filter.from = search->from;
	search->filter.subject = input->subject;
	search->filter.key_id = input->key_id;
	search->filter.status = input->status;
	search->filter.tag = input->tag;
	search->filter.since_us = input->since;
	search->filter.until_us = input->until;
	search->filter.now_us = op->now_us;
	return 0;
}

/* An id, Message-ID or queue id hardly ever matches more than a page. An index finds the address
 * of a recipient, however old the email is. All else is words. */
static int search_typed(
	const struct op *op, const char *words, struct search *search, struct err *err)
{
	static const char *const names[] = {
		[EMAIL_NAME_ID] = "id",
		[EMAIL_NAME_MESSAGE_ID] = "message_id",
		[EMAIL_NAME_QUEUE_ID] = "queue_id",
	};
	struct email_filter *filter = &search->filter;
	struct email_found *found = &search->found;
	_cleanup_addr_ struct addr addr = {0};
	int result;

	search->found_by = names[store_email_name_of(words)];
	if (page_cursor(&op->page) == NULL && store_email_named(op->db, &search->scope, words,
						      op->page.limit, &found->list, err) < 0)
		return -1;
	if (found->list.n > 0)
		return 1;
	if (filter->to == NULL && addr_parse(words, &addr, NULL) == 0) {
		search->found_by = "to";
		filter->to = search->to = addr_spec(&addr);
		result = store_email_search(op->db, &search->scope, filter, &op->page, found, err);
		if (result != 1 || found->list.n > 0 || found->more)
			return result;
		filter->to = NULL;
	}
	search->found_by = "text";
	filter->text = words;
	return store_email_search(op->db, &search->scope, filter, &op->page, found, err);
}

/* Returns the one recipient whose address or name has all words, or NULL if there is none, or more
 * than one: of those, no state stands for the others. */
static const struct recipient *recipient_with_words(
	const struct recipients *all, const struct strv *words)
{
	const struct recipient *found = NULL;

	for (size_t i = 0; words->n > 0 && i < all->n; i++) {
		_cleanup_free_ char *text = str_folded(recipient_text(&all->items[i]));
		size_t word = 0;

		while (word < words->n && strstr(text, words->items[word]))
			word++;
		if (word < words->n || !all->items[i].enveloped)
			continue;
		if (found)
			return NULL;
		found = &all->items[i];
	}
	return found;
}

/* Returns the recipients that the search matched, each with its own status, since that of the email
 * says nothing of one recipient. words are those of the text that was searched for. */
static json_t *render_matched(
	const struct email *email, const struct email_filter *filter, const struct strv *words)
{
	const struct recipient *only = NULL;
	json_t *array;

	if (filter->to == NULL && filter->recipient == NULL) {
		only = recipient_with_words(&email->recipients, words);
		if (only == NULL)
			return json_null();
	}
	array = json_array();
	for (size_t i = 0; i < email->recipients.n; i++) {
		const struct recipient *one = &email->recipients.items[i];

		if (one->enveloped && (only == NULL || one == only) &&
			(filter->recipient == NULL || one->status == *filter->recipient) &&
			(filter->to == NULL || str_eq_nocase(one->address, filter->to)))
			json_array_append_new(array,
				json_pack("{s:s, s:s, s:s}", "address", one->address, "status",
					delivery_status_name(one->status), "status_text",
					delivery_report_status_words(one->status)));
	}
	return array;
}

static void give_emails(struct op *op, struct search *search)
{
	const struct email_found *found = &search->found;
	struct email_list *list = &search->found.list;
	struct listed_email *items = mem_alloc(list->n + 1, sizeof(*items));
	struct page_end end = {.more = found->more};
	_cleanup_strv_ struct strv words = STRV_INIT;

	if (search->filter.text)
		store_text_index_words(search->filter.text, &words);
	for (size_t i = 0; i < list->n; i++) {
		items[i].email = list->items[i];
		items[i].for_admins = op->actor != OP_KEY;
		items[i].matched = items[i].for_admins ? render_matched(&items[i].email,
								 &search->filter, &words)
						       : NULL;
	}
	memcpy(end.next, found->next, ID_SIZE);
	op_give_page(op, &listed_type, items, list->n, &end);
	free(list->items); /* the emails belong to the result now */
	*list = (struct email_list){0};
}

static int list_emails(struct op *op, const void *arg, struct err *err)
{
	const struct op_email_list *input = arg;
	__attribute__((cleanup(clear_search))) struct search search = {.domain = NULL};
	const struct email_filter *filter = &search.filter;
	struct email_found *emails = &search.found;
	int64_t unread = 0;
	int found;

	if (read_search(op, input, &search, err) < 0)
		return -1;
	if (!str_empty(input->q))
		found = search_typed(op, input->q, &search, err);
	/* The sent folder has an index for its pages. */
	else if (op->actor == OP_KEY && !filter->to && !filter->from && !filter->subject &&
		 !filter->status && !filter->tag && !filter->since_us && !filter->until_us)
		found = store_email_page(
			op->db, &search.scope, &op->page, &emails->list, &emails->more, err);
	else
		found = store_email_search(op->db, &search.scope, filter, &op->page, emails, err);
	if (found == 1 && op->actor == OP_USER &&
		store_text_index_missing(op->db, &unread, err) < 0)
		return -1;
	if (found != 1)
		return found;
	if (op->actor == OP_USER) {
		json_t *looked = json_null();

		if (search.found.next[0])
			looked = json_pack("{s:I, s:o}", "percent",
				(json_int_t)search.found.percent, "until",
				row_json_time(search.found.looked_us));
		json_object_update_new(op_more(op),
			json_pack("{s:s?, s:o, s:I}", "found_by", search.found_by, "looked", looked,
				"unread_percent", (json_int_t)unread));
	}
	give_emails(op, &search);
	return 1;
}

const struct operation op_email_list = {
	fields, sizeof(struct op_email_list), .list = OP_BACKWARDS, .run = list_emails};
