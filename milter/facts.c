/*
 * facts: what a verdict needs to know of a message.
 *
 * Mail from elsewhere is not judged, so nothing is asked about it: it flows
 * also while the store is away. For all other mail the ticket is looked up,
 * and every domain that the message could be said to come from.
 *
 * Threads: any; a reading handle is borrowed inside facts_read() only.
 */
#include "milter/facts.h"

#include <string.h>

#include "core/base/str.h"
#include "core/mail/addr.h"
#include "core/mail/addr_header.h"
#include "core/store/store_domain.h"

static const enum ticket_state ticket_states[] = {
	[EMAIL_STAGED] = TICKET_STAGED,
	[EMAIL_SENT] = TICKET_SENT,
	[EMAIL_REFUSED] = TICKET_REFUSED,
};

/* Local parts are compared as they stand (RFC 5321 2.4), domains in any letter
 * case. */
static bool same_address(const char *a, const char *b)
{
	const char *a_at = strrchr(a, '@'), *b_at = strrchr(b, '@');

	if (a_at == NULL || b_at == NULL || a_at - a != b_at - b)
		return false;
	return memcmp(a, b, (size_t)(a_at - a)) == 0 && str_eq_nocase(a_at, b_at);
}

/* The value of a folded field in one line (RFC 5322 2.2.3). */
static char *unfold(const char *value)
{
	char *line = mem_strdup(value);

	for (char *p = line; *p; p++)
		if (*p == '\r' || *p == '\n' || *p == '\t')
			*p = ' ';
	return line;
}

/* Whether the staged `Name <address>` or bare address is of this address. The
 * name may hold anything, so it is not parsed: what counts is the end. */
static bool staged_from_is(const char *staged, const char *address)
{
	_cleanup_free_ char *end = mem_printf(" <%s>", address);
	size_t len = strlen(end), staged_len = strlen(staged);

	if (str_eq(staged, address))
		return true;
	return staged_len > len && str_eq(staged + staged_len - len, end);
}

/* Display names are not compared: Postfix may encode them anew. */
static bool from_matches(const struct strv *froms, const char *staged)
{
	_cleanup_addr_ struct addr addr = {0};
	_cleanup_free_ char *line = NULL;
	_cleanup_free_ char *address = NULL;

	if (froms->n != 1)
		return false;
	line = unfold(froms->items[0]);
	if (addr_parse(line, &addr, NULL) < 0)
		return false;
	address = addr_spec(&addr);
	return staged_from_is(staged, address);
}

static int read_ticket(struct db *db, const struct session_message *message,
	struct facts *facts, struct err *err)
{
	struct verdict_facts *verdict = &facts->verdict;
	int found;

	if (message->tickets == 0)
		return 0;
	found = store_email_ticket(db, message->ticket, &facts->ticket, err);
	if (found < 0)
		return -1;
	facts->ticket_found = found > 0;
	if (!facts->ticket_found) {
		verdict->ticket = TICKET_UNKNOWN;
		return 0;
	}
	if (facts->ticket.superseded) {
		verdict->ticket = TICKET_SUPERSEDED;
		return 0;
	}
	verdict->ticket = ticket_states[facts->ticket.state];
	verdict->one_ticket = message->tickets == 1;
	verdict->sender_matches = same_address(
		facts->ticket.sender, message->sender);
	verdict->from_matches = from_matches(&message->froms, facts->ticket.from);
	verdict->key_valid = facts->ticket.key_valid;
	verdict->domain_owned = facts->ticket.domain_owned;
	verdict->domain_active = facts->ticket.domain_active;
	facts->domain = mem_strdup(facts->ticket.domain);
	return 0;
}

static void add_domains(
	const struct session_message *message, struct strv *domains)
{
	char *domain = addr_envelope_domain(message->sender);

	if (domain)
		strv_take(domains, domain);
	for (size_t i = 0; i < message->froms.n; i++) {
		_cleanup_addr_header_ struct addr_header header;

		addr_header_read(message->froms.items[i], &header);
		for (size_t j = 0; j < header.domains.n; j++)
			if (!strv_has(domains, header.domains.items[j]))
				strv_add(domains, header.domains.items[j]);
	}
}

/* Looks for the first of the domains that is registered. What a company has
 * only asked for claims nothing: it must not stop the mail of others. */
static int read_claim(struct db *db, const struct strv *domains,
	struct facts *facts, struct err *err)
{
	for (size_t i = 0; i < domains->n; i++) {
		struct domain domain = {0};
		int found = store_domain_find(
			db, domains->items[i], &domain, err);

		if (found < 0)
			return -1;
		if (found == 0)
			continue;
		store_domain_clear(&domain);
		facts->verdict.claims_domain = true;
		if (facts->domain == NULL)
			facts->domain = mem_strdup(domains->items[i]);
		return 0;
	}
	return 0;
}

static int read_store(struct db_pool *pool, const struct session_message *message,
	const struct strv *domains, struct facts *facts)
{
	struct db *db;
	int result;

	if (db_pool_take(pool, &db, &facts->err) < 0)
		return -1;
	result = read_ticket(db, message, facts, &facts->err);
	if (result == 0)
		result = read_claim(db, domains, facts, &facts->err);
	db_pool_give(pool, db, result == 0);
	return result;
}

void facts_read(struct db_pool *pool, const struct session *session,
	struct facts *facts_r)
{
	const struct session_message *message = &session->message;
	struct verdict_facts *verdict = &facts_r->verdict;
	_cleanup_strv_ struct strv domains = STRV_INIT;

	*facts_r = (struct facts){.err = ERR_INIT};
	verdict->origin = session_origin(session);
	verdict->too_many_fields = message->tickets > SESSION_TICKET_FIELDS;
	if (verdict->origin == ORIGIN_EXTERNAL || verdict->too_many_fields)
		return;
	add_domains(message, &domains);
	verdict->too_many_fields = message->from_overflow ||
				   domains.n > FACTS_DOMAINS;
	if (verdict->too_many_fields)
		return;
	if (read_store(pool, message, &domains, facts_r) < 0)
		verdict->store_failed = true;
}

void facts_clear(struct facts *facts)
{
	if (facts->ticket_found)
		store_email_ticket_clear(&facts->ticket);
	free(facts->domain);
	*facts = (struct facts){.err = ERR_INIT};
}
