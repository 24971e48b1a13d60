/*
 * store_claim: one look at the tables domain and exemption for each name that a
 * message uses.
 *
 * Asked for every message: one statement walks up the labels of the name, each
 * a look-up in an index. Networks are compared here; there are few of them.
 *
 * Threads: a handle is used by one thread at a time; holds no state.
 */
#include "core/store/store_claim.h"

#include <string.h>

#include "core/base/cidr.h"
#include "core/base/str.h"
#include "core/store/store_domain_private.h"

/* How an address of the message stands to the domain. */
struct address {
	char *key;   /* as exemptions have it; NULL when it is unclear */
	bool inside; /* it is of the domain */
	bool exempt;
};

struct reading {
	const struct claim_sender *sender;
	struct address envelope, from;
	struct claim claim;
	bool covers;
	bool found;
	bool exempt; /* by login or client */
};

/* A domain in any other form might be read as the registered one. */
static bool plain_domain(const char *domain)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
	size_t len = strlen(domain);

	return len > 0 && domain[strspn(domain, letters)] == '\0' &&
	       domain[0] != '.' && domain[len - 1] != '.';
}

/* The local part as it stands (RFC 5321 2.4), the domain in lower case; NULL
 * when there is no such thing. */
static char *address_key(const char *address)
{
	char *key = mem_strdup(address);
	char *at = key ? strrchr(key, '@') : NULL;

	if (at && at > key) {
		str_lower(at);
		if (plain_domain(at + 1))
			return key;
	}
	free(key);
	return NULL;
}

static void place(struct address *address, const struct reading *reading)
{
	const char *of = strrchr(address->key, '@') + 1;
	size_t len = strlen(reading->claim.domain), of_len = strlen(of);

	if (of_len < len || !str_eq(of + of_len - len, reading->claim.domain))
		return;
	address->inside = of_len == len ||
			  (reading->covers && of[of_len - len - 1] == '.');
}

static bool has_client(const char *network, const char *client)
{
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;

	return cidr_list_parse(network, &list, NULL) == 0 &&
	       cidr_list_has_text(&list, client);
}

static void note_sender(struct address *address, const char *value)
{
	if (address->key && str_eq(address->key, value))
		address->exempt = true;
}

/* The statement gives no login but that of the message. */
static void note_exemption(
	struct reading *reading, const char *kind, const char *value)
{
	if (str_eq(kind, "login")) {
		reading->exempt = true;
	} else if (str_eq(kind, "client")) {
		if (has_client(value, reading->sender->client))
			reading->exempt = true;
	} else {
		note_sender(&reading->envelope, value);
		note_sender(&reading->from, value);
	}
}

static bool harmless(const struct address *address)
{
	return !address->inside || address->exempt;
}

static bool exempt_by_sender(struct reading *reading)
{
	struct address *envelope = &reading->envelope, *from = &reading->from;

	if (envelope->key == NULL || from->key == NULL)
		return false;
	place(envelope, reading);
	place(from, reading);
	return (envelope->inside || from->inside) && harmless(envelope) &&
	       harmless(from);
}

static int read_domain(
	struct db_stmt *stmt, struct reading *reading, struct err *err)
{
	struct domain_rules rules;

	if (store_domain_read_rules(stmt, 1, &rules, err) < 0)
		return -1;
	reading->found = true;
	*stpncpy(reading->claim.domain, db_text(stmt, 0),
		STORE_CLAIM_DOMAIN_SIZE - 1) = '\0';
	reading->claim.policy = rules.policy;
	reading->covers = rules.covers_subdomains;
	return 0;
}

/* One exemption of the domain, or none: 1; 0 when the row is of another domain,
 * one further up; -1. */
static int read_row(struct db_stmt *stmt, struct reading *reading, struct err *err)
{
	const char *kind = db_text(stmt, 3);

	if (!reading->found) {
		if (read_domain(stmt, reading, err) < 0)
			return -1;
	} else if (!str_eq(db_text(stmt, 0), reading->claim.domain)) {
		db_reset(stmt);
		return 0;
	}
	if (kind)
		note_exemption(reading, kind, db_text(stmt, 4));
	return 1;
}

static int read_rows(struct db *db, const char *name, struct reading *reading,
	struct err *err)
{
	static const char sql_claim[] =
		"WITH RECURSIVE up (name) AS ("
		" SELECT $name"
		" UNION ALL"
		" SELECT substr(name, instr(name, '.') + 1) FROM up"
		" WHERE instr(name, '.') > 0)"
		" SELECT d.name, d.policy, d.subdomains, e.kind, e.value"
		" FROM up CROSS JOIN domain d"
		"  ON d.name = up.name AND d.pending = 0"
		" LEFT JOIN exemption e ON e.domain_id = d.id"
		"  AND (e.kind = 'client'"
		"   OR (e.kind = 'login' AND e.value = $login)"
		"   OR (e.kind = 'sender' AND e.value IN ($sender, $from)))"
		" WHERE d.name = $name OR d.subdomains = 'covered'"
		" ORDER BY length(d.name) DESC";
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_claim, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$name", name);
	db_bind_text(stmt, "$login", reading->sender->login);
	db_bind_text(stmt, "$sender", reading->envelope.key);
	db_bind_text(stmt, "$from", reading->from.key);
	do
		result = db_step(stmt, err);
	while (result == 1 && (result = read_row(stmt, reading, err)) == 1);
	return result < 0 ? -1 : reading->found;
}

int store_claim_read(struct db *db, const char *name,
	const struct claim_sender *sender, struct claim *claim_r, struct err *err)
{
	_cleanup_free_ char *envelope = address_key(sender->sender);
	_cleanup_free_ char *from = address_key(sender->from);
	struct reading reading = {
		.sender = sender,
		.envelope.key = envelope,
		.from.key = from,
	};
	int result = read_rows(db, name, &reading, err);

	if (result != 1)
		return result;
	reading.claim.exempt = reading.exempt || exempt_by_sender(&reading);
	*claim_r = reading.claim;
	return 1;
}
