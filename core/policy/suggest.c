/*
 * suggest: derives exemptions from recorded mail.
 */
#include "core/policy/suggest.h"

#include <stdlib.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/cidr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/host/store_refusal.h"

enum { REFUSALS_MAX = 10000, EXEMPTIONS_MAX = 10000 };

static const struct row_field fields[] = {
	ROW_FIELD(suggestion, domain, ROW_TEXT),
	ROW_WORD(suggestion, kind, ROW_ENUM, "kind", &store_exemption_kinds),
	ROW_FIELD(suggestion, value, ROW_TEXT),
	ROW_FIELD(suggestion, local, ROW_BOOL),
	ROW_FIELD(suggestion, count, ROW_INT64),
	ROW_FIELD(suggestion, last_us, ROW_TIME),
};
const struct row_type suggestion_type = ROW_TYPE(suggestion, fields);

/* True if the mail was submitted on this host, by the milter's rule. */
static bool is_local(const struct refusal *refusal)
{
	return str_eq(refusal->origin, "local") || cidr_is_loopback(refusal->client);
}

/* Returns the address in the form of an exemption if it is of the domain, otherwise NULL. The
 * caller frees it. */
static char *address_of(const struct domain *domain, const char *text)
{
	_cleanup_addr_ struct addr addr = {0};

	if (addr_parse(text, &addr, NULL) < 0 ||
		!str_within_domain(addr.domain, domain->name, domain->covers_subdomains))
		return NULL;
	return addr_spec(&addr);
}

static void count_refusal(struct suggest_list *list, const struct refusal *refusal,
	enum exemption_kind kind, const char *value)
{
	list->items = mem_append(list->items, list->n, sizeof(*list->items));
	list->items[list->n++] = (struct suggestion){
		.kind = kind,
		.value = mem_strdup(value),
		.local = kind == EXEMPT_SENDER && is_local(refusal),
		.count = refusal->count,
		.last_us = refusal->last_us,
	};
}

/* Adds the exemption that would let the refused mail pass: of its login, otherwise of its client,
 * otherwise of the addresses that it claims. */
static void add_suggestion(
	struct suggest_list *list, const struct domain *domain, const struct refusal *refusal)
{
	_cleanup_free_ char *sender = NULL, *from = NULL;

	/* Other reasons apply to all senders: no exemption would help. */
	if (!str_eq(refusal->reason, "no_ticket") && !str_eq(refusal->reason, "ticket_unknown")) {
		list->hopeless += refusal->count;
		return;
	}
	if (*refusal->login) {
		count_refusal(list, refusal, EXEMPT_LOGIN, refusal->login);
		return;
	}
	if (*refusal->client && !is_local(refusal)) {
		count_refusal(list, refusal, EXEMPT_CLIENT, refusal->client);
		return;
	}
	sender = address_of(domain, refusal->sender);
	from = address_of(domain, refusal->from);
	if ((sender == NULL && from == NULL) || *refusal->sender == '\0') {
		list->hopeless += refusal->count;
		return;
	}
	if (from)
		count_refusal(list, refusal, EXEMPT_SENDER, from);
	if (sender && (from == NULL || !str_eq(sender, from)))
		count_refusal(list, refusal, EXEMPT_SENDER, sender);
}

/* True if an exemption already lets the suggestion's mail pass. */
static bool is_exempt(const struct exemption_list *exemptions, const struct suggestion *suggestion)
{
	for (size_t i = 0; i < exemptions->n; i++) {
		const struct exemption *exemption = &exemptions->items[i];
		_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;

		if (exemption->kind != suggestion->kind || (exemption->local && !suggestion->local))
			continue;
		if (exemption->kind != EXEMPT_CLIENT && str_eq(exemption->value, suggestion->value))
			return true;
		if (exemption->kind == EXEMPT_CLIENT &&
			cidr_list_parse(exemption->value, &list, NULL) == 0 &&
			cidr_list_has_text(&list, suggestion->value))
			return true;
	}
	return false;
}

static int by_what(const void *a, const void *b)
{
	const struct suggestion *one = a, *other = b;

	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	if (one->local != other->local)
		return one->local ? 1 : -1;
	return strcmp(one->value, other->value);
}

static int by_count(const void *a, const void *b)
{
	const struct suggestion *one = a, *other = b;

	if (one->count != other->count)
		return one->count > other->count ? -1 : 1;
	return by_what(a, b);
}

static void sort_suggestions(
	struct suggestion *items, size_t n, int (*compare)(const void *a, const void *b))
{
	if (n > 0)
		qsort(items, n, sizeof(*items), compare);
}

/* Merges equal suggestions. Anybody on this host can make many of them, so they are sorted first: a
 * linear search for each would take quadratic time. */
static void merge_suggestions(struct suggest_list *list)
{
	size_t n = 0;

	sort_suggestions(list->items, list->n, by_what);
	for (size_t i = 0; i < list->n; i++) {
		struct suggestion *item = &list->items[i], *last;

		if (n == 0 || by_what(&list->items[n - 1], item) != 0) {
			list->items[n++] = *item;
			continue;
		}
		last = &list->items[n - 1];
		last->count += item->count;
		if (last->last_us < item->last_us)
			last->last_us = item->last_us;
		free(item->value);
	}
	list->n = n;
}

int suggest_read(
	struct db *db, const struct domain *domain, struct suggest_list *list_r, struct err *err)
{
	/* Leaves out the mail recorded while another company owned the domain. */
	const struct refusal_scope scope = {
		.domain = domain->name, .company_id = domain->company_id};
	struct suggest_list list = {0};
	const struct page page = {.limit = EXEMPTIONS_MAX};
	struct exemption_list exemptions;
	struct refusal_list refusals;
	size_t n = 0;

	/* The newest exemptions. What an older one covers may be suggested again. */
	if (store_exemption_list(db, NULL, domain->name, &page, &exemptions, NULL, err) < 0)
		return -1;
	if (store_refusal_list(db, &scope, REFUSALS_MAX, &refusals, err) < 0) {
		store_exemption_list_free(&exemptions);
		return -1;
	}
	for (size_t i = 0; i < refusals.n; i++)
		add_suggestion(&list, domain, &refusals.items[i]);
	store_refusal_list_free(&refusals);
	merge_suggestions(&list);
	for (size_t i = 0; i < list.n; i++) {
		if (is_exempt(&exemptions, &list.items[i])) {
			free(list.items[i].value);
			continue;
		}
		list.items[n] = list.items[i];
		list.items[n++].domain = mem_strdup(domain->name);
	}
	list.n = n;
	store_exemption_list_free(&exemptions);
	sort_suggestions(list.items, list.n, by_count);
	*list_r = list;
	return 0;
}
