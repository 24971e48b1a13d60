/*
 * in_hand: an array of the companies that have emails in hand. They are few, so it is searched
 * from end to end.
 *
 * Invariant: `all` is the sum of the companies, and each of them has an email.
 */
#include "httpd/outbox/in_hand.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/base/str.h"

void in_hand_clear(struct in_hand *in_hand)
{
	free(in_hand->companies);
	*in_hand = (struct in_hand){0};
}

void in_hand_set_limits(struct in_hand *in_hand, int64_t max_pending, int64_t max_inflight_bytes)
{
	int64_t part = max_inflight_bytes / IN_HAND_PART;

	in_hand->limits = (struct in_hand_limits){
		.emails = max_pending,
		.bytes = part < IN_HAND_BYTES ? part : IN_HAND_BYTES,
	};
}

static struct in_hand_company *find_company(const struct in_hand *in_hand, const char *company_id)
{
	for (size_t i = 0; i < in_hand->n; i++)
		if (str_eq(in_hand->companies[i].id, company_id))
			return &in_hand->companies[i];
	return NULL;
}

/* A company may have one more while it has fewer than are free. */
static bool fits(int64_t most, int64_t all, int64_t own)
{
	return own < most - all;
}

static bool may_enter(const struct in_hand *in_hand, const struct in_hand_company *own)
{
	return fits(in_hand->limits.emails, in_hand->all.emails, own->emails) &&
	       fits(in_hand->limits.bytes, in_hand->all.bytes, own->bytes);
}

static void count_company(
	struct in_hand_company *to, int64_t emails, int64_t bytes, bool from_store)
{
	to->emails += emails;
	to->bytes += emails * bytes;
	to->from_store += from_store ? emails : 0;
}

bool in_hand_enter(struct in_hand *in_hand, const char *company_id, int64_t bytes, bool from_store)
{
	static const struct in_hand_company none = {0};
	struct in_hand_company *own = find_company(in_hand, company_id);

	if (!may_enter(in_hand, own ? own : &none))
		return false;
	if (own == NULL) {
		in_hand->companies = mem_append(
			in_hand->companies, in_hand->n, sizeof(*in_hand->companies));
		own = &in_hand->companies[in_hand->n++];
		*own = none;
		snprintf(own->id, sizeof(own->id), "%s", company_id);
	}
	count_company(own, 1, bytes, from_store);
	count_company(&in_hand->all, 1, bytes, from_store);
	in_hand->emails = in_hand->all.emails;
	return true;
}

void in_hand_leave(struct in_hand *in_hand, const char *company_id, int64_t bytes, bool from_store)
{
	struct in_hand_company *own = find_company(in_hand, company_id);

	assert(own);
	count_company(own, -1, bytes, from_store);
	count_company(&in_hand->all, -1, bytes, from_store);
	in_hand->emails = in_hand->all.emails;
	if (own->emails == 0)
		*own = in_hand->companies[--in_hand->n];
}

bool in_hand_has_room(const struct in_hand *in_hand)
{
	static const struct in_hand_company none = {0};

	return may_enter(in_hand, &none);
}

void in_hand_full(const struct in_hand *in_hand, struct buf *ids)
{
	for (size_t i = 0; i < in_hand->n; i++) {
		const struct in_hand_company *own = &in_hand->companies[i];

		if (!may_enter(in_hand, own) ||
			!fits(IN_HAND_FROM_STORE, in_hand->all.from_store, own->from_store))
			buf_add_str(ids, own->id);
	}
}

int64_t in_hand_emails(struct in_hand *in_hand)
{
	return in_hand->emails;
}
