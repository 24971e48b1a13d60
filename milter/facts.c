/*
 * facts: everything a verdict depends on.
 *
 * External mail is not judged, so it needs no query and flows even while the store is
 * unavailable. For all other mail the ticket is looked up, and every domain that a receiver
 * could take for the sender's.
 *
 * Threads: any. A read handle is borrowed from the pool only inside facts_read().
 */
#include "milter/facts.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/address/addr_field.h"
#include "core/address/addr_header.h"
#include "core/base/cidr.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/compose/tag_fields.h"
#include "core/policy/ticket.h"
#include "core/store/company/store_claim.h"
#include "core/store/company/store_domain.h"
#include "milter/key_email.h"

/*
 * sources: collects the senders that readers can see in a message's fields.
 */

static void add_domains(struct strv *domains, const struct strv *more)
{
	for (size_t i = 0; i < more->n; i++) {
		if (domains->n > SOURCES_DOMAINS)
			return;
		if (!strv_has(domains, more->items[i]))
			strv_add(domains, more->items[i]);
	}
}

/* addr_header_read() finds every reading of an unusual address, because Postfix may rewrite it. */
static void add_envelope(struct sources *sources, const char *address)
{
	_cleanup_addr_header_ struct addr_header header;

	addr_header_read(address, &header);
	add_domains(&sources->senders, &header.domains);
}

void sources_find(const struct session_message *message, struct sources *sources_r)
{
	const struct strv *froms = &message->froms.values, *others = &message->others.values;
	struct sources *sources = sources_r;

	*sources = (struct sources){0};
	add_envelope(sources, message->sender);
	if (message->resolved && !str_eq(message->resolved, message->sender))
		add_envelope(sources, message->resolved);
	for (size_t i = 0; i < froms->n; i++) {
		_cleanup_addr_header_ struct addr_header header;

		addr_header_read(froms->items[i], &header);
		add_domains(&sources->domains, &header.domains);
		sources->unclear |= header.unclear || froms->n > 1;
		if (froms->n > 1)
			continue;
		sources->mailbox = header.unclear ? NULL : mem_strdup(header.mailbox);
		sources->from = TAKE_PTR(header.mailbox);
	}
	/* A field like Sender that names another mailbox than From leaves the message without a
	 * clear author. */
	for (size_t i = 0; i < others->n; i++) {
		_cleanup_addr_header_ struct addr_header header;

		addr_header_read(others->items[i], &header);
		add_domains(&sources->senders, &header.domains);
		sources->senders_unclear |= header.unclear;
		if (sources->from && header.mailbox && str_eq(sources->from, header.mailbox))
			continue;
		free(sources->from);
		sources->from = NULL;
	}
	add_domains(&sources->domains, &sources->senders);
	sources->unclear |= sources->senders_unclear;
}

void sources_clear(struct sources *sources)
{
	strv_free(&sources->domains);
	strv_free(&sources->senders);
	free(sources->from);
	free(sources->mailbox);
	*sources = (struct sources){0};
}

static const enum ticket_state ticket_states[] = {
	[EMAIL_STAGED] = TICKET_STAGED,
	[EMAIL_SENT] = TICKET_SENT,
	[EMAIL_REFUSED] = TICKET_REFUSED,
};

/* Local parts are compared exactly (RFC 5321 2.4), domains without regard to case. */
static bool same_address(const char *a, const char *b)
{
	const char *a_at = strrchr(a, '@'), *b_at = strrchr(b, '@');

	if (a_at == NULL || b_at == NULL || a_at - a != b_at - b)
		return false;
	return memcmp(a, b, (size_t)(a_at - a)) == 0 && str_eq_nocase(a_at, b_at);
}

/* True if there is one From field with the address of the staged one, which is `Name <address>` or
 * a bare address. Display names are not compared: Postfix may re-encode them, and they may hold
 * anything. So only the end of the staged field counts. */
static bool from_matches(const struct strv *froms, const char *staged)
{
	_cleanup_addr_ struct addr addr = {0};
	_cleanup_free_ char *line = NULL, *address = NULL, *end = NULL;
	size_t len, staged_len = strlen(staged);

	if (froms->n != 1)
		return false;
	line = str_unfolded(froms->items[0]);
	if (addr_parse(line, &addr, NULL) < 0)
		return false;
	address = addr_spec(&addr);
	end = mem_printf(" <%s>", address);
	len = strlen(end);
	return str_eq(staged, address) ||
	       (staged_len > len && str_eq(staged + staged_len - len, end));
}

/* True if the message has the nonce of its email or probe. Those of versions without nonces have
 * none. */
static bool nonce_is(const char *nonce, const char *staged)
{
	return *staged == '\0' || str_eq(nonce, staged);
}

static bool is_other_way(const struct milter_session *session, enum email_way way)
{
	bool by_sendmail = session->origin == ORIGIN_LOCAL;

	return way == EMAIL_WAY_AUTH || (way == EMAIL_WAY_SENDMAIL && !by_sendmail) ||
	       (way == EMAIL_WAY_SMTP && by_sendmail);
}

/* Compares the message with the email of its ticket. */
static void compare_with_ticket(const struct milter_session *session, struct facts *facts)
{
	const struct session_message *message = &session->message;
	const struct email_ticket *ticket = &facts->ticket;
	struct verdict_facts *verdict = &facts->verdict;

	verdict->ticket = ticket->spent ? TICKET_SPENT : ticket_states[ticket->state];
	verdict->other_way = is_other_way(session, ticket->way) || ticket->elsewhere;
	verdict->sender_matches = same_address(ticket->sender, message->sender);
	verdict->from_matches = from_matches(&message->froms.values, ticket->from);
	verdict->nonce_matches = nonce_is(message->nonce, ticket->nonce);
	verdict->content_matches = verdict->from_matches && verdict->nonce_matches &&
				   strv_has(&message->message_ids, ticket->message_id);
	verdict->trace_matches = !verdict->other_way && verdict->nonce_matches &&
				 str_eq(message->trace, ticket->id);
	verdict->key_valid = ticket->key_valid;
	verdict->domain_owned = ticket->domain_owned;
	verdict->domain_active = ticket->domain_active;
}

/* Finds a message without a ticket that carries the id and the nonce of a staged email. Other
 * messages with an id of ours are normal: emails go out with it and can come back. The id alone
 * proves nothing, since clients and logs show it. */
static int read_lost(struct db *db, const struct milter_session *session, struct facts *facts)
{
	const struct session_message *message = &session->message;
	int found;

	if (message->trace[0] == '\0' || !session->submits || message->login)
		return 0;
	found = store_email_ticket_staged(db, message->trace, &facts->ticket, &facts->err);
	if (found <= 0)
		return found;
	facts->ticket_found = true;
	if (!nonce_is(message->nonce, facts->ticket.nonce)) {
		store_email_ticket_clear(&facts->ticket);
		facts->ticket_found = false;
		return 0;
	}
	compare_with_ticket(session, facts);
	facts->verdict.ticket = TICKET_LOST;
	facts->verdict.ticket_submitted = true;
	facts->domain = mem_strdup(facts->ticket.domain);
	return 0;
}

static int read_probe(
	struct db *db, const struct milter_session *session, struct facts *facts, struct err *err)
{
	const struct session_message *message = &session->message;
	_cleanup_free_ char *message_id = ticket_message_id(message->ticket);
	struct probe probe;
	int found = store_probe_get(db, message->ticket, &probe, err);

	if (found <= 0)
		return found;
	facts->probe_through = probe.through;
	facts->verdict.other_way = is_other_way(session, probe.way);
	facts->verdict.nonce_matches = nonce_is(message->nonce, probe.nonce);
	if (!strv_has(&message->message_ids, message_id))
		facts->probe_changed = PROBE_OTHER_ID;
	/* Only the local part of From is compared. Postfix settings that rewrite the host's domain
	 * keep it, and a host name without a dot is not a domain for addr_parse(). */
	else if (message->froms.values.n != 1 ||
		 !strstr(message->froms.values.items[0], TICKET_PROBE_FROM "@"))
		facts->probe_changed = PROBE_OTHER_FROM;
	store_probe_clear(&probe);
	facts->verdict.ticket = TICKET_PROBE;
	return 0;
}

static int read_ticket(struct db *db, const struct milter_session *session, struct facts *facts)
{
	const struct session_message *message = &session->message;
	struct verdict_facts *verdict = &facts->verdict;
	int found;

	if (!message->for_ticket)
		return read_lost(db, session, facts);
	if (message->ticket[0] == '\0')
		return 0;
	found = store_email_ticket(db, message->ticket, &facts->ticket, &facts->err);
	if (found < 0)
		return -1;
	facts->ticket_found = found > 0;
	if (!facts->ticket_found)
		return read_probe(db, session, facts, &facts->err);
	if (facts->ticket.superseded) {
		verdict->ticket = TICKET_SUPERSEDED;
		return 0;
	}
	compare_with_ticket(session, facts);
	facts->domain = mem_strdup(facts->ticket.domain);
	/* The list is read only for a staged email: if Postfix presents it again, it goes to
	 * the same recipients as before. */
	return facts->ticket.state == EMAIL_STAGED && facts->ticket.suppresses
		       ? store_suppressed_read(db, facts->ticket.seq, facts->ticket.company_id,
				 facts->domain, &facts->suppressed, &facts->err)
		       : 0;
}

/* An exemption does not count while the sender is unclear. */
static enum domain_claim rule_of(const struct claim *claim, bool unclear)
{
	static const enum domain_claim rules[POLICIES] = {
		[POLICY_EXCLUSIVE] = CLAIM_EXCLUSIVE,
		[POLICY_LEARN] = CLAIM_LEARN,
		[POLICY_SHARED] = CLAIM_SHARED,
	};

	if (claim->exempt && !unclear && claim->policy != POLICY_SHARED)
		return CLAIM_EXEMPT;
	return rules[claim->policy];
}

/* Reads the claim to each domain. The strictest one decides, and without a ticket of ours its
 * domain becomes the domain of the message. */
static int read_claims(struct db *db, const struct milter_session *session,
	const struct sources *sources, struct facts *facts)
{
	const struct claim_sender sender = {
		.login = session->message.login,
		.client = session->client,
		.sender = session->message.sender,
		.from = sources->from,
		/* A client without an Internet address does not count: its location is unknown. */
		.local = session->origin == ORIGIN_LOCAL ||
			 (session->client && cidr_is_loopback(session->client)),
	};
	struct verdict_facts *verdict = &facts->verdict;

	for (size_t i = 0; i < sources->domains.n; i++) {
		const char *domain = sources->domains.items[i];
		enum domain_claim rule;
		struct claim claim;
		int found;

		/* The message may use it by its ticket, whatever the policy of the domain is. */
		if (facts->ticket_found && facts->ticket.domain_owned &&
			str_eq(domain, facts->ticket.domain))
			continue;
		found = store_claim_read(db, domain, &sender, &claim, &facts->err);
		if (found < 0)
			return -1;
		if (found == 0)
			continue;
		rule = rule_of(&claim, verdict->from_unclear);
		if (facts->ticket_found && !facts->ticket.superseded)
			verdict->other_claim |= rule != CLAIM_SHARED &&
						!str_eq(claim.domain, facts->ticket.domain);
		if (rule <= verdict->claim)
			continue;
		verdict->claim = rule;
		if (facts->ticket_found)
			continue;
		free(facts->domain);
		facts->domain = mem_strdup(claim.domain);
	}
	return 0;
}

/* Decides if the key may send as a domain of this status. */
static enum send_decision decide_as(
	const struct facts *facts, const char *domain, bool owned, bool active)
{
	const struct send_facts send = {
		.key_may_send = facts->login.scopes & KEY_SENDING,
		.key_domain = facts->login.key_domain,
		.from_domain = domain,
		.status = !owned   ? DOMAIN_NOT_OWN
			  : active ? DOMAIN_ACTIVE
				   : DOMAIN_INACTIVE,
	};

	return send_rules_check(&send);
}

/* Decides if the key may send as this domain. Returns 0, or -1 on error. */
static int decide_sender(
	struct db *db, const char *domain, enum send_decision *decision_r, struct facts *facts)
{
	struct domain own;
	int found = store_domain_find_own(db, facts->login.company_id, domain, &own, &facts->err);

	if (found < 0)
		return -1;
	*decision_r = decide_as(facts, domain, found > 0, found > 0 && own.active);
	if (found > 0)
		store_domain_clear(&own);
	return 0;
}

/* Checks the domain of another sender than From. Notes the first one that the key may not send as.
 * Returns 0, or -1 on error. */
static int check_sender(struct db *db, const char *domain, struct facts *facts)
{
	struct verdict_facts *verdict = &facts->verdict;

	if (verdict->sender != RULES_ALLOWED)
		return 0;
	if (decide_sender(db, domain, &verdict->sender, facts) < 0)
		return -1;
	if (verdict->sender == RULES_ALLOWED)
		return 0;
	free(facts->domain);
	facts->domain = mem_strdup(domain);
	return 0;
}

/* Checks a domain that some reading of From sees beside the mailbox, as in a display name. A
 * registered domain that is not shared may be named only by a key that may send as it. An email
 * with a ticket is checked in the same way, but against the one domain of the ticket. Returns
 * 0, or -1 on error. */
static int check_named(struct db *db, const char *domain, struct facts *facts)
{
	static const struct claim_sender nobody = {.sender = ""};
	enum send_decision decision;
	struct claim claim;
	int found = store_claim_read(db, domain, &nobody, &claim, &facts->err);

	if (found <= 0 || claim.policy == POLICY_SHARED)
		return found < 0 ? -1 : 0;
	if (decide_sender(db, claim.domain, &decision, facts) < 0)
		return -1;
	facts->verdict.other_claim |= decision != RULES_ALLOWED;
	return 0;
}

/* Sets the mailbox of From, its domain and from_one, if all readers agree on it, or the field has
 * the form that the HTTP API accepts, whose name may contain an address. */
static void read_from(
	const struct session_message *message, const struct sources *sources, struct facts *facts)
{
	_cleanup_addr_ struct addr addr = {0};
	_cleanup_free_ char *mailbox = NULL, *line = NULL;
	const char *at;
	struct err err = ERR_INIT;

	if (message->froms.values.n != 1 || sources->senders_unclear)
		return;
	if (sources->mailbox) {
		mailbox = mem_strdup(sources->mailbox);
	} else {
		line = str_unfolded(message->froms.values.items[0]);
		if (addr_field_check((struct span){line, strlen(line)}, NULL) == 0 &&
			addr_parse(line, &addr, NULL) == 0)
			mailbox = addr_spec(&addr);
	}
	at = mailbox ? strrchr(mailbox, '@') : NULL;
	if (at == NULL || addr_domain_normalize(at + 1, &facts->domain, &err) < 0)
		return;
	facts->mailbox = TAKE_PTR(mailbox);
	facts->verdict.from_one = true;
}

/* In characters; the same limit as over HTTP. */
enum { IDEMPOTENCY_KEY_MAX = 256 };

/* Reads the fields that are addressed to us: the Idempotency-Key, under either of its names, tags
 * and variables. Returns 0, or -1 with field_err set. */
static int read_own_fields(const struct session_message *message, struct facts *facts)
{
	const struct tag_fields fields = {message->own[OWN_TAG].values,
		message->own[OWN_NAMED_TAG].values, message->own[OWN_VARIABLES].values};
	const struct strv *keys = &message->own[OWN_IDEMPOTENCY].values;
	const struct strv *resend_keys = &message->own[OWN_RESEND_IDEMPOTENCY].values;

	if (message->unsupported)
		return err_set(&facts->field_err, ERR_INVALID,
			"The field %s is not supported over SMTP.", message->unsupported);
	for (size_t i = 0; i < OWN_FIELDS; i++)
		if (message->own[i].overflow)
			return err_set(&facts->field_err, ERR_INVALID,
				"The field %s is too long, or is there too often.",
				session_own_names[i]);
	if (keys->n + resend_keys->n > 1)
		return err_set(&facts->field_err, ERR_INVALID,
			"The field Idempotency-Key must stand once, under one name.");
	if (keys->n == 0)
		keys = resend_keys;
	if (keys->n > 0) {
		_cleanup_free_ char *line = str_unfolded(keys->items[0]);
		_cleanup_free_ char *key = str_trim(line, strlen(line));
		size_t n = str_utf8_count(key, strlen(key));

		if (n == 0 || n > IDEMPOTENCY_KEY_MAX)
			return err_set(&facts->field_err, ERR_INVALID,
				"The field Idempotency-Key must have between 1 and %d characters.",
				IDEMPOTENCY_KEY_MAX);
		facts->has_idempotency = true;
		secret_hash(key, strlen(key), facts->idempotency.hash);
		memcpy(facts->idempotency.company_id, facts->login.company_id, ID_SIZE);
	}
	return tag_fields_read(&fields, &facts->tags, &facts->variables, &facts->field_err);
}

/* Finds out if a message with this Idempotency-Key came before. */
static int read_repeat(
	struct db *db, const struct session_message *message, int64_t now_us, struct facts *facts)
{
	struct verdict_facts *verdict = &facts->verdict;
	enum email_arrival arrival;
	struct idempotency earlier;
	int found;

	key_email_hash(message, facts->tags, facts->variables, facts->payload);
	found = store_idempotency_find(db, &facts->idempotency, now_us, &earlier, &facts->err);
	if (found <= 0)
		return found;
	if (memcmp(earlier.payload, facts->payload, sizeof(facts->payload)) != 0) {
		verdict->repeat = REPEAT_OTHER;
	} else {
		id_parse(earlier.results.items[0], facts->earlier);
		found = store_email_arrival(db, facts->earlier, &arrival, &facts->err);
		if (found > 0 && arrival != EMAIL_ARRIVED)
			verdict->repeat = arrival == EMAIL_ARRIVAL_OPEN ? REPEAT_OPEN : REPEAT_NONE;
		else
			verdict->repeat = REPEAT_ARRIVED;
		facts->earlier_lost = verdict->repeat == REPEAT_NONE;
	}
	store_idempotency_clear(&earlier);
	return found < 0 ? -1 : 0;
}

/* The login of our SMTP service is the id of a key. Reads the key's current state: it may have
 * been revoked after the login. */
static int read_key_login(struct db *db, const struct milter_session *session,
	const struct sources *sources, struct facts *facts)
{
	const struct session_message *message = &session->message;
	struct verdict_facts *verdict = &facts->verdict;
	_cleanup_free_ char *from = NULL;
	const struct key_login *login = &facts->login;
	int found;

	read_from(message, sources, facts);
	found = store_key_login(db, message->login, facts->domain, &facts->login, &facts->err);
	if (found < 0)
		return -1;
	facts->key_found = verdict->key_valid = found > 0;
	verdict->too_many_recipients = message->too_many_recipients;
	if (!facts->key_found || !verdict->from_one)
		return 0;
	from = mem_strdup(facts->domain);
	verdict->sender = decide_as(facts, from, login->domain_owned, login->domain_active);
	for (size_t i = 0; i < sources->senders.n; i++)
		if (!str_eq(sources->senders.items[i], from) &&
			check_sender(db, sources->senders.items[i], facts) < 0)
			return -1;
	for (size_t i = 0; i < sources->domains.n; i++)
		if (!str_eq(sources->domains.items[i], from) &&
			!strv_has(&sources->senders, sources->domains.items[i]) &&
			check_named(db, sources->domains.items[i], facts) < 0)
			return -1;
	if (verdict->sender != RULES_ALLOWED || verdict->other_claim)
		return 0;
	verdict->bad_field = read_own_fields(message, facts) < 0;
	verdict->no_room = message->no_room;
	if (verdict->bad_field || verdict->no_room)
		return 0;
	verdict->paused = login->paused;
	if (!facts->has_idempotency)
		return 0;
	return read_repeat(db, message, clock_now_us(&clock_system), facts);
}

static int read_store(struct db_pool *pool, const struct milter_session *session,
	const struct sources *sources, struct facts *facts)
{
	struct db *db;
	int result;

	if (db_pool_take(pool, &db, &facts->err) < 0)
		return -1;
	if (facts->verdict.key_login) {
		result = read_key_login(db, session, sources, facts);
		db_pool_give(pool, db, result == 0);
		return result;
	}
	result = read_ticket(db, session, facts);
	if (result == 0 && !facts->verdict.too_many_fields)
		result = read_claims(db, session, sources, facts);
	db_pool_give(pool, db, result == 0);
	return result;
}

/* Traces and nonces are counted only where they would have to be removed. */
static bool has_too_many(const struct session_message *message, const struct sources *sources)
{
	return message->froms.overflow || message->others.overflow ||
	       sources->domains.n > SOURCES_DOMAINS ||
	       ((message->for_ticket || message->key_login) &&
		       (message->traces > SESSION_TRACE_FIELDS ||
			       message->nonces > SESSION_TRACE_FIELDS));
}

void facts_read(struct db_pool *pool, const struct milter_session *session, struct facts *facts_r)
{
	const struct session_message *message = &session->message;
	struct verdict_facts *verdict = &facts_r->verdict;
	_cleanup_sources_ struct sources sources = {0};

	*facts_r = (struct facts){.err = ERR_INIT, .field_err = ERR_INIT};
	verdict->origin = session_origin(session);
	verdict->key_login = message->key_login && !message->for_ticket;
	if (message->for_ticket) {
		verdict->ticket = TICKET_UNKNOWN; /* until the look-up finds it */
		verdict->ticket_alone = !message->for_others;
		verdict->ticket_submitted = session->submits && message->login == NULL;
		if (!verdict->ticket_submitted)
			return;
	}
	if (verdict->origin == ORIGIN_EXTERNAL)
		return;
	sources_find(message, &sources);
	verdict->from_unclear = sources.unclear;
	verdict->too_many_fields = has_too_many(message, &sources);
	if (verdict->too_many_fields && !message->for_ticket)
		return;
	if (read_store(pool, session, &sources, facts_r) < 0)
		verdict->store_failed = true;
}

/* A message with the id of an email may be one that lost its ticket: only the store can say. */
void facts_read_known(struct known_domains *known, int64_t max_age_ms,
	const struct milter_session *session, struct facts *facts)
{
	_cleanup_sources_ struct sources sources = {0};

	if (!facts->verdict.store_failed || session->message.trace[0] != '\0')
		return;
	sources_find(&session->message, &sources);
	facts->verdict.unclaimed = !has_too_many(&session->message, &sources) &&
				   known_domains_exclude(known, &sources.domains, max_age_ms);
}

void facts_clear(struct facts *facts)
{
	if (facts->ticket_found)
		store_email_ticket_clear(&facts->ticket);
	store_suppressed_free(&facts->suppressed);
	if (facts->key_found)
		store_key_login_clear(&facts->login);
	free(facts->tags);
	free(facts->variables);
	free(facts->mailbox);
	free(facts->domain);
	*facts = (struct facts){.err = ERR_INIT};
}
