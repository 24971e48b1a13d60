/*
 * op_suppression: the suppressed addresses of a company.
 *
 * A key that is restricted to a domain sees the entries that apply to it, and adds entries of this
 * domain only. Of the entries for all domains it may remove those that bounces and complaints made,
 * not those that an admin added.
 */
#include "core/ops/op_suppression.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/store_audit.h"
#include "core/store/company/store_domain.h"
#include "core/store/company/store_suppression.h"

enum { CLEAR_STEP = 200, IMPORT_STEP = 100, TEXT_MAX = 1000, CODE_MAX = 64, TAGS_MAX = 4096 };

#define WHOSE_FIELDS                                                                               \
	{OP_FIELD(op_suppression, company_id, OP_ID), .operators = true},                          \
	{                                                                                          \
		OP_FIELD(op_suppression, domain, OP_TEXT)                                          \
	}
#define WHAT_FIELDS                                                                                \
	{OP_FIELD(op_suppression, address, OP_TEXT), .required = true},                            \
		{OP_FIELD(op_suppression, reason, OP_TEXT)},                                       \
	{                                                                                          \
		OP_FIELD(op_suppression, text, OP_TEXT)                                            \
	}
static const struct op_field item_fields[] = {WHAT_FIELDS, {0}};
static const struct op_field removed_fields[] = {
	{OP_FIELD(op_suppression, address, OP_TEXT)}, {OP_FIELD(op_suppression, id, OP_ID)}, {0}};
static const struct op_field add_fields[] = {WHOSE_FIELDS, WHAT_FIELDS, {0}};
static const struct op_field add_all_fields[] = {WHOSE_FIELDS,
	{OP_FIELD(op_suppression, suppressions, OP_ITEMS), .required = true,
		.max = OP_SUPPRESSIONS_MAX, .fields = item_fields,
		.size = sizeof(struct op_suppression)},
	{0}};
static const struct op_field remove_all_fields[] = {WHOSE_FIELDS,
	{OP_FIELD(op_suppression, suppressions, OP_ITEMS), .required = true,
		.max = OP_SUPPRESSIONS_MAX, .fields = removed_fields,
		.size = sizeof(struct op_suppression)},
	{0}};
static const struct op_field list_fields[] = {{OP_FIELD(op_suppression, company_id, OP_ID)},
	{OP_FIELD(op_suppression, domain, OP_TEXT)},
	{OP_FIELD(op_suppression, origin, OP_TEXT), .command = true},
	{OP_FIELD(op_suppression, reason, OP_TEXT)}, {OP_FIELD(op_suppression, address, OP_TEXT)},
	{0}};
static const struct op_field remove_fields[] = {
	WHOSE_FIELDS, {OP_FIELD(op_suppression, reason, OP_TEXT)}, {0}};
static const struct op_field clear_fields[] = {
	WHOSE_FIELDS, {OP_FIELD(op_suppression, reason, OP_TEXT), .required = true}, {0}};

/* Reads the reason of the input; SUPPRESSION_REASONS for none. Returns 0 or -1. */
static int read_reason(const struct op *op, const struct op_suppression *input,
	enum suppression_reason *reason_r, struct err *err)
{
	size_t reason = row_word(&store_suppression_reasons, input->reason);

	if (input->reason && reason == SUPPRESSION_REASONS)
		return op_refuse(op, err, "reason",
			"is one of bounce, complaint, unsubscribe, manual, not \"%s\"",
			input->reason);
	*reason_r = (enum suppression_reason)reason;
	return 0;
}

/* Reads the company and the domain; the domain is a new string, NULL for all. Returns 0 or -1. */
static int read_scope(const struct op *op, const struct op_suppression *input, bool required,
	struct suppression_scope *scope_r, char **domain_r, struct err *err)
{
	const char *given = op->domain ? op->domain : input ? input->domain : NULL;
	const char *company_id = op_company_of(op, input ? input->company_id : NULL);
	struct domain domain;
	int found;

	*scope_r = (struct suppression_scope){.company_id = company_id};
	*domain_r = NULL;
	if (str_empty(given) && required && company_id == NULL)
		return op_refuse(
			op, err, op->actor == OP_COMMAND ? "company" : "company_id", "is missing");
	if (str_empty(given))
		return 0;
	if (addr_domain_normalize(given, domain_r, err) < 0)
		return -1;
	scope_r->domain = *domain_r;
	/* Entries outlive their domain, and can still be seen and removed. */
	if (company_id && !required)
		return 0;
	found = company_id ? store_domain_find_own(op->db, company_id, *domain_r, &domain, err)
			   : store_domain_find_of(op->db, NULL, *domain_r, &domain, err);
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no domain %s", *domain_r);
	if (found < 0)
		return -1;
	store_domain_clear(&domain);
	return company_id ? 0
			  : op_refuse(op, err, op->actor == OP_COMMAND ? "company" : "company_id",
				    "is missing");
}

/* Reads the bare address; the caller frees it. Returns 0 or -1. */
static int read_entry_address(
	const struct op *op, const char *given, char **address_r, struct err *err)
{
	_cleanup_addr_ struct addr addr = {0};
	_cleanup_free_ char *trimmed = str_trim(given ? given : "", given ? strlen(given) : 0);
	struct err why = ERR_INIT;

	if (addr_parse(trimmed, &addr, &why) < 0)
		return op->actor == OP_COMMAND
			       ? err_set(err, ERR_INVALID, "ADDRESS is no address: %s", why.text)
			       : op_refuse(op, err, "address", "is no address: %s", why.text);
	*address_r = addr_spec(&addr);
	return 0;
}

/* Adds one audit entry for the change of a list, of n addresses. 0 or -1. */
static int write_down(const struct op *op, const char *action, const char *company_id,
	const struct suppression *one, size_t n, struct err *err)
{
	_cleanup_free_ char *name = n == 1 ? mem_strdup(one->address)
					   : mem_printf("%zu addresses", n);
	const char *reason = one ? store_suppression_reason_name(one->reason) : "";

	if (n == 0)
		return 0;
	return store_audit_add(op->db,
		&(struct audit_action){.company_id = company_id,
			.action = action,
			.object_id = one ? one->id : company_id,
			.object_name = name,
			.after = json_pack(
				"{s:s, s:I}", "reason", reason, "addresses", (json_int_t)n)},
		err);
}

/* Checks an entry to add; the address is a new string. Returns 0 or -1. */
static int read_entry(const struct op *op, const struct op_suppression *input,
	enum suppression_reason *reason_r, char **address_r, struct err *err)
{
	if (read_reason(op, input, reason_r, err) < 0)
		return -1;
	if (input->text && strlen(input->text) > TEXT_MAX)
		return op_refuse(op, err, "text", "has more than %d bytes", TEXT_MAX);
	if (input->code && strlen(input->code) > CODE_MAX)
		return op_refuse(op, err, "code", "has more than %d bytes", CODE_MAX);
	if (input->tags && strlen(input->tags) > TAGS_MAX)
		return op_refuse(op, err, "tags", "have more than %d bytes", TAGS_MAX);
	return read_entry_address(op, input->address, address_r, err);
}

/* Returns 1 if it is new, 0 if not, -1 on error. */
static int add_entry(struct op *op, const struct suppression_scope *scope,
	const struct op_suppression *input, struct suppression *suppression_r, struct err *err)
{
	_cleanup_free_ char *address = NULL;
	struct suppression item = {.domain = (char *)scope->domain,
		.code = (char *)input->code,
		.text = (char *)input->text,
		.tags = (char *)input->tags,
		.created_us = input->created_us > 0 && input->created_us <= op->now_us
				      ? input->created_us
				      : op->now_us};
	int found = 0;

	if (read_entry(op, input, &item.reason, &address, err) < 0)
		return -1;
	if (item.reason == SUPPRESSION_REASONS) {
		struct suppression_scope just = *scope;

		item.reason = SUPPRESSION_MANUAL;
		if (!input->renews)
			found = store_suppression_find(
				op->db, &just, address, SUPPRESSION_REASONS, suppression_r, err);
		/* An entry of one domain does not stand for all of them. */
		if (found > 0 && *suppression_r->domain &&
			!(scope->domain && str_eq(scope->domain, suppression_r->domain))) {
			store_suppression_clear(suppression_r);
			found = 0;
		}
		if (found != 0)
			return found < 0 ? -1 : 0;
	}
	memcpy(item.company_id, scope->company_id, ID_SIZE);
	item.address = address;
	return store_suppression_put(op->db, &item, input->renews, suppression_r, err);
}

static int add_suppression(struct op *op, const void *arg, struct err *err)
{
	const struct op_suppression *input = arg;
	_cleanup_free_ char *domain = NULL;
	struct suppression_scope scope;
	struct suppression suppression;
	int added;

	if (read_scope(op, input, true, &scope, &domain, err) < 0)
		return -1;
	added = add_entry(op, &scope, input, &suppression, err);
	if (added < 0)
		return -1;
	op_give(op, &store_suppression_type, &suppression);
	if (added > 0 &&
		(write_down(op, "suppression.add", scope.company_id, &suppression, 1, err) < 0 ||
			op_check_limit(op, LIMIT_SUPPRESSIONS, scope.company_id, err) < 0))
		return -1;
	return 1;
}

/* Begins an answer of up to `total` entries. */
static void give_none(struct op *op, size_t total)
{
	static const struct page_end end = {0};

	op_give_page(op, &store_suppression_type, mem_alloc(total + 1, sizeof(struct suppression)),
		0, &end);
}

static bool is_among(const struct suppression *all, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(all[i].id, id))
			return true;
	return false;
}

/* Checks all entries before the first one is stored. Returns 0 or -1. */
static int check_all(
	const struct op *op, const struct op_suppression *items, size_t total, struct err *err)
{
	for (size_t i = 0; i < total; i++) {
		_cleanup_free_ char *address = NULL;
		enum suppression_reason reason;

		if (read_entry(op, &items[i], &reason, &address, err) < 0) {
			err_prefix(err, "suppressions[%zu]", i);
			return -1;
		}
	}
	return 0;
}

/* True if the company might exceed its limit with so many entries more. */
static bool is_near_limit(const struct op *op, const char *company_id, size_t more)
{
	return op->actor != OP_COMMAND &&
	       store_limit_check(op->db, LIMIT_SUPPRESSIONS, company_id,
		       op->conf->limits.suppressions - (int64_t)more, NULL) < 0;
}

/* In steps, so that no other write waits for all of them. Near the limit in one step, so that all
 * or nothing is added. Requests that run at the same time may exceed the limit together. */
static int add_all(struct op *op, const void *arg, struct err *err)
{
	const struct op_suppression *input = arg, *items = input->suppressions.items;
	size_t total = input->suppressions.n, i = (size_t)op->mark, end = i + IMPORT_STEP;
	struct rows *rows = &op->result.rows;
	json_int_t fresh = json_integer_value(json_object_get(op_more(op), "added"));
	_cleanup_free_ char *domain = NULL;
	struct suppression_scope scope;
	struct suppression *all;
	bool whole;

	if (i == 0)
		give_none(op, total);
	all = rows->items;
	if (read_scope(op, input, true, &scope, &domain, err) < 0 ||
		(i == 0 && check_all(op, items, total, err) < 0))
		return -1;
	whole = i == 0 && is_near_limit(op, scope.company_id, total);
	for (; i < total && (whole || i < end); i++) {
		int added = add_entry(op, &scope, &items[i], &all[rows->n], err);

		if (added < 0)
			return -1;
		fresh += added > 0;
		if (added == 0 && is_among(all, rows->n, all[rows->n].id))
			store_suppression_clear(&all[rows->n]);
		else
			rows->n++;
		if (whole && op_check_limit(op, LIMIT_SUPPRESSIONS, scope.company_id, err) < 0)
			return -1;
	}
	json_object_set_new(op_more(op), "added", json_integer(fresh));
	op->mark = (int64_t)i;
	if (i < total)
		return STORE_MORE;
	if (fresh > 0 && write_down(op, "suppression.add", scope.company_id, &all[0], (size_t)fresh,
				 err) < 0)
		return -1;
	return 1;
}

/* Finds an entry by id or address, with the reason. Returns 1, 0 if there is none, -1 on error. */
static int find_one(struct op *op, const struct suppression_scope *scope, const char *what,
	enum suppression_reason reason, struct suppression *suppression_r, struct err *err)
{
	int found;

	if (what && strchr(what, '@') && scope->company_id)
		return store_suppression_find(op->db, scope, what, reason, suppression_r, err);
	if (what && strchr(what, '@'))
		return op_refuse(
			op, err, op->actor == OP_COMMAND ? "company" : "company_id", "is missing");
	found = what ? store_suppression_get(op->db, scope, what, suppression_r, err) : 0;
	if (found > 0 && reason != SUPPRESSION_REASONS && suppression_r->reason != reason) {
		store_suppression_clear(suppression_r);
		found = 0;
	}
	return found;
}

static int get_suppression(struct op *op, const void *arg, struct err *err)
{
	_cleanup_free_ char *domain = NULL;
	struct suppression_scope scope;
	struct suppression suppression;
	int found;

	if (read_scope(op, arg, false, &scope, &domain, err) < 0)
		return -1;
	found = find_one(op, &scope, op->object, SUPPRESSION_REASONS, &suppression, err);
	if (found > 0)
		op_give(op, &store_suppression_type, &suppression);
	return found;
}

/* A filter that no index serves: pages are read and filtered. */
struct narrowed {
	const char *domain;             /* NULL: any */
	enum suppression_reason reason; /* SUPPRESSION_REASONS: any */
};

static bool is_narrowed(const void *item, const void *arg)
{
	const struct suppression *suppression = item;
	const struct narrowed *narrowed = arg;

	return (narrowed->domain == NULL || str_eq(suppression->domain, narrowed->domain)) &&
	       (narrowed->reason == SUPPRESSION_REASONS || suppression->reason == narrowed->reason);
}

static int list_for_user(struct op *op, const struct op_suppression *input, struct err *err)
{
	_cleanup_free_ char *domain = NULL, *address = NULL;
	struct narrowed narrowed = {.reason = SUPPRESSION_REASONS};
	struct suppression_list list = {0};
	struct suppression_scope scope;
	struct page_end end = {0};
	const char *origin = NULL;
	struct page page = op->page;
	int found;

	scope = (struct suppression_scope){.company_id = op_company_of(op, input->company_id)};
	if (read_reason(op, input, &narrowed.reason, err) < 0 ||
		(!str_empty(input->domain) &&
			addr_domain_normalize(input->domain, &domain, err) < 0))
		return -1;
	scope.domain = domain;
	if (input->address) {
		size_t n = 0;

		if (read_entry_address(op, input->address, &address, err) < 0 ||
			store_suppression_entries(op->db, &scope, address, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.n; i++)
			if (narrowed.reason == SUPPRESSION_REASONS ||
				list.items[i].reason == narrowed.reason)
				list.items[n++] = list.items[i];
			else
				store_suppression_clear(&list.items[i]);
		op_give_page(op, &store_suppression_type, list.items, n, &end);
		return 1;
	}
	if (scope.company_id == NULL) {
		narrowed.domain = scope.domain;
		scope.domain = NULL;
	} else if (input->reason) {
		origin = narrowed.reason == SUPPRESSION_UNSUBSCRIBE ? "manual" : input->reason;
		/* In the index both have the same origin. */
		if (!str_eq(origin, "manual"))
			narrowed.reason = SUPPRESSION_REASONS;
	}
	if (narrowed.domain || narrowed.reason != SUPPRESSION_REASONS) {
		page.keeps = is_narrowed;
		page.arg = &narrowed;
	}
	found = store_suppression_page(op->db, &scope, origin, &page, &list, &end, err);
	if (found > 0)
		op_give_page(op, &store_suppression_type, list.items, list.n, &end);
	return found;
}

static int list(struct op *op, const void *arg, struct err *err)
{
	const struct op_suppression *input = arg;
	const char *origin = input ? input->origin : NULL;
	_cleanup_free_ char *domain = NULL, *address = NULL;
	struct suppression_list list = {0};
	struct suppression_scope scope;
	struct page_end end = {0};
	int found;

	if (op->actor == OP_USER)
		return list_for_user(op, input, err);
	if (read_scope(op, input, false, &scope, &domain, err) < 0)
		return -1;
	if (origin && !str_eq(origin, "bounce") && !str_eq(origin, "complaint") &&
		!str_eq(origin, "manual"))
		return op_refuse(op, err, "origin",
			"is one of bounce, complaint, manual, not \"%s\"", origin);
	if ((origin || scope.domain || (input && input->address)) && scope.company_id == NULL)
		return op_refuse(
			op, err, op->actor == OP_COMMAND ? "company" : "company_id", "is missing");
	if (input && input->address) {
		if (read_entry_address(op, input->address, &address, err) < 0)
			return -1;
		list.items = mem_new(struct suppression);
		found = store_suppression_find(
			op->db, &scope, address, SUPPRESSION_REASONS, list.items, err);
		list.n = found > 0;
		found = found < 0 ? -1 : 1;
	} else {
		found = store_suppression_page(op->db, &scope, origin, &op->page, &list, &end, err);
	}
	if (found != 0)
		op_give_page(op, &store_suppression_type, list.items, list.n, &end);
	return found;
}

/* Returns 0 or -1. */
static int check_removable(const struct op *op, const struct suppression *one, struct err *err)
{
	if (op->domain && *one->domain == '\0' && one->reason == SUPPRESSION_MANUAL)
		return err_set(err, ERR_DENIED,
			"%s is suppressed for all domains: a key of one domain may not change that",
			one->address);
	return 0;
}

/* Removes the entry that was found; if it was given by its address, all with that address. Returns
 * 1 or -1. */
static int remove_found(struct op *op, const struct suppression_scope *scope,
	const struct suppression *one, const char *what, enum suppression_reason reason,
	struct err *err)
{
	if (check_removable(op, one, err) < 0)
		return -1;
	if (strchr(what, '@') == NULL)
		return store_suppression_remove_id(op->db, one->id, err) < 0 ? -1 : 1;
	/* An entry that an admin added for all domains may exist besides it. */
	return store_suppression_remove(op->db, scope, what, reason, op->domain != NULL, err) < 0
		       ? -1
		       : 1;
}

static int remove_one(struct op *op, const void *arg, struct err *err)
{
	const struct op_suppression *input = arg;
	enum suppression_reason reason = SUPPRESSION_REASONS;
	_cleanup_free_ char *domain = NULL;
	struct suppression_scope scope;
	struct suppression one;
	int found;

	if (read_scope(op, input, false, &scope, &domain, err) < 0 ||
		(input && read_reason(op, input, &reason, err) < 0))
		return -1;
	found = find_one(op, &scope, op->object, reason, &one, err);
	if (found <= 0)
		return found;
	found = remove_found(op, &scope, &one, op->object, reason, err);
	if (found > 0)
		found = write_down(op, "suppression.remove", one.company_id, &one, 1, err) < 0 ? -1
											       : 1;
	op_give(op, &store_suppression_type, &one);
	json_object_set_new(op_more(op), "removed", json_true());
	return found;
}

/* Adds an audit entry for each company among the removed entries. 0 or -1. */
static int write_removed(
	const struct op *op, const struct suppression *all, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		size_t of_company = 0;
		bool first = true;

		for (size_t k = 0; k < i && first; k++)
			first = !str_eq(all[k].company_id, all[i].company_id);
		for (size_t k = i; k < n && first; k++)
			of_company += str_eq(all[k].company_id, all[i].company_id);
		if (first && write_down(op, "suppression.remove", all[i].company_id, &all[i],
				     of_company, err) < 0)
			return -1;
	}
	return 0;
}

/* In steps, like add_all(). A key of one domain may not remove every entry: then a walk over all of
 * them that checks this precedes the walk that removes. */
static int remove_all(struct op *op, const void *arg, struct err *err)
{
	const struct op_suppression *input = arg, *items = input->suppressions.items;
	size_t total = input->suppressions.n, checks = op->domain ? total : 0;
	size_t i = (size_t)op->mark, end = i + IMPORT_STEP;
	struct rows *rows = &op->result.rows;
	_cleanup_free_ char *domain = NULL;
	struct suppression_scope scope;
	struct suppression *all;

	if (i == 0)
		give_none(op, total);
	all = rows->items;
	if (read_scope(op, input, false, &scope, &domain, err) < 0)
		return -1;
	for (; i < checks + total && i < end; i++) {
		const struct op_suppression *item = &items[i % total];
		const char *what = item->address ? item->address : item->id;
		_cleanup_free_ char *trimmed = str_trim(what ? what : "", what ? strlen(what) : 0);
		struct suppression *one = &all[rows->n];
		int found = find_one(op, &scope, trimmed, SUPPRESSION_REASONS, one, err);

		if (found == 0)
			continue;
		if (found < 0)
			return -1;
		if (i >= checks)
			rows->n++;
		found = i < checks
				? check_removable(op, one, err)
				: remove_found(op, &scope, one, trimmed, SUPPRESSION_REASONS, err);
		if (i < checks)
			store_suppression_clear(one);
		if (found < 0)
			return -1;
	}
	op->mark = (int64_t)i;
	if (i < checks + total)
		return STORE_MORE;
	return write_removed(op, all, rows->n, err) < 0 ? -1 : 1;
}

static int clear_list(struct op *op, const void *arg, struct err *err)
{
	const struct op_suppression *input = arg;
	_cleanup_free_ char *domain = NULL;
	enum suppression_reason reason = SUPPRESSION_REASONS;
	struct suppression_scope scope;
	int removed;

	if (read_reason(op, input, &reason, err) < 0 ||
		read_scope(op, input, false, &scope, &domain, err) < 0)
		return -1;
	if (scope.company_id == NULL || scope.domain == NULL || reason == SUPPRESSION_REASONS)
		return op_refuse(op, err, "domain", "is missing");
	removed = store_suppression_clear_some(
		op->db, scope.company_id, scope.domain, reason, CLEAR_STEP, err);
	if (removed < 0)
		return -1;
	if (removed == CLEAR_STEP)
		return STORE_MORE;
	json_object_set_new(op_more(op), "removed", json_true());
	return store_audit_add(op->db,
		       &(struct audit_action){.company_id = scope.company_id,
			       .action = "suppression.clear",
			       .object_id = scope.company_id,
			       .object_name = scope.domain},
		       err) < 0
		       ? -1
		       : 1;
}

/* In steps. The first one writes the audit entry, with the number of rows that were given, since a
 * later one may reach the company's limit: what was added before that stays. */
static int import(struct op *op, const void *arg, struct err *err)
{
	const struct op_suppression *input = arg, *items = input->suppressions.items;
	size_t total = input->suppressions.n, i = (size_t)op->mark;
	json_int_t fresh = json_integer_value(json_object_get(op_more(op), "added"));
	_cleanup_free_ char *own = NULL;
	struct suppression_scope scope, whole;

	if (read_scope(op, input, true, &whole, &own, err) < 0)
		return -1;
	if (i == 0 && store_audit_add(op->db,
			      &(struct audit_action){.company_id = whole.company_id,
				      .action = "suppression.import",
				      .object_id = whole.company_id,
				      .object_name = whole.domain ? whole.domain : "all domains",
				      .after = json_pack("{s:I}", "rows", (json_int_t)total)},
			      err) < 0)
		return -1;
	for (; i < total && i < (size_t)op->mark + IMPORT_STEP; i++) {
		_cleanup_free_ char *domain = NULL;
		struct suppression one;
		int added;

		scope = whole;
		if (scope.domain == NULL && items[i].domain &&
			read_scope(op,
				&(struct op_suppression){
					.company_id = input->company_id, .domain = items[i].domain},
				true, &scope, &domain, err) < 0) {
			err_prefix(err, "row %zu", i + 1);
			return -1;
		}
		added = add_entry(op, &scope, &items[i], &one, err);
		if (added < 0) {
			err_prefix(err, "row %zu", i + 1);
			return -1;
		}
		fresh += added;
		store_suppression_clear(&one);
	}
	json_object_set_new(op_more(op), "added", json_integer(fresh));
	json_object_set_new(op_more(op), "rows", json_integer((json_int_t)total));
	if (op_check_limit(op, LIMIT_SUPPRESSIONS, whole.company_id, err) < 0)
		return -1;
	op->mark = (int64_t)i;
	return i < total ? STORE_MORE : 1;
}

/* The route has checked the domain. */
static int allow(struct op *op, const void *arg, struct err *err)
{
	const struct op_suppression *input = arg, *items = input->suppressions.items;
	const char *company_id = op_company_of(op, input->company_id);
	size_t total = input->suppressions.n, i = (size_t)op->mark;

	for (; i < total && i < (size_t)op->mark + IMPORT_STEP; i++) {
		const char *given = items[i].address ? items[i].address : "";
		_cleanup_free_ char *value = NULL;
		struct suppression_allowed allowed = {
			.reason = (char *)items[i].text, .created_us = op->now_us};

		if (items[i].text && strlen(items[i].text) > TEXT_MAX)
			return op_refuse(op, err, "reason", "has more than %d bytes", TEXT_MAX);
		if (strchr(given, '@')) {
			_cleanup_free_ char *address = NULL;

			if (read_entry_address(op, given, &address, err) < 0)
				return -1;
			value = addr_folded(address);
		} else if (addr_domain_normalize(given, &value, err) < 0) {
			return -1;
		}
		allowed.value = value;
		if (store_suppression_allow(op->db, company_id, input->domain, &allowed, err) < 0)
			return -1;
	}
	if (op_check_limit(op, LIMIT_SUPPRESSIONS, company_id, err) < 0)
		return -1;
	op->mark = (int64_t)i;
	if (i < total)
		return STORE_MORE;
	json_object_set_new(op_more(op), "added", json_integer((json_int_t)total));
	return 1;
}

static int disallow(struct op *op, const void *arg, struct err *err)
{
	const struct op_suppression *input = arg;
	const char *company_id = op_company_of(op, input->company_id);
	_cleanup_free_ char *value = op->object ? addr_folded(op->object) : NULL;
	int removed = store_suppression_disallow(
		op->db, company_id, input->domain, value, CLEAR_STEP, err);

	if (removed < 0)
		return -1;
	if (value)
		return removed > 0;
	return removed == CLEAR_STEP ? STORE_MORE : 1;
}

#define INPUT sizeof(struct op_suppression)

const struct operation op_suppression_add = {add_fields, INPUT, .run = add_suppression};
const struct operation op_suppression_add_all = {
	add_all_fields, INPUT, .list = OP_WHOLE, .run = add_all};
const struct operation op_suppression_get = {.by_address = true, .run = get_suppression};
const struct operation op_suppression_list = {list_fields, INPUT, .list = OP_SEARCH, .run = list};
const struct operation op_suppression_remove = {
	remove_fields, INPUT, .by_address = true, .run = remove_one};
const struct operation op_suppression_remove_all = {
	remove_all_fields, INPUT, .list = OP_WHOLE, .run = remove_all};
const struct operation op_suppression_clear = {clear_fields, INPUT, .run = clear_list};
const struct operation op_suppression_import = {add_all_fields, INPUT, .run = import};
const struct operation op_suppression_allow = {add_all_fields, INPUT, .run = allow};
const struct operation op_suppression_disallow = {clear_fields, INPUT, .run = disallow};
