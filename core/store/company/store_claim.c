/*
 * store_claim: one query on the tables domain and exemption for each domain that a message uses.
 *
 * It runs for every message. One statement walks up the labels of the name, each by one index
 * look-up. Networks are compared here, because there are few of them.
 */
#include "core/store/company/store_claim.h"

#include <string.h>

#include "core/base/cidr.h"
#include "core/base/str.h"
#include "core/store/row.h"

/* An address of the message, in relation to the domain. */
struct address {
	char *key;   /* in the form of exemptions; NULL if it is ambiguous */
	bool inside; /* the address belongs to the domain */
	bool exempt;
};

struct reading {
	const struct claim_sender *sender;
	struct address envelope, from;
	struct claim claim;
	bool covers;
	bool found;
	bool exempt; /* exempt by login or client */
};

/* True if the domain is in plain form. In any other form it might be read as the registered one. */
static bool plain_domain(const char *domain)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
	size_t len = strlen(domain);

	return len > 0 && domain[strspn(domain, letters)] == '\0' && domain[0] != '.' &&
	       domain[len - 1] != '.';
}

/* Returns the address with the local part unchanged (RFC 5321 2.4) and the domain in lower case;
 * NULL if it has no such form. The caller frees it. */
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

static void place_address(struct address *address, const struct reading *reading)
{
	address->inside = str_within_domain(
		strrchr(address->key, '@') + 1, reading->claim.domain, reading->covers);
}

static void note_sender(struct address *address, const char *value)
{
	if (address->key && str_eq(address->key, value))
		address->exempt = true;
}

static bool is_harmless(const struct address *address)
{
	return !address->inside || address->exempt;
}

/* True if each address is exempt or of another domain, and at least one is of this domain. */
static bool exempt_by_sender(struct reading *reading)
{
	struct address *envelope = &reading->envelope, *from = &reading->from;

	if (envelope->key == NULL || from->key == NULL)
		return false;
	place_address(envelope, reading);
	place_address(from, reading);
	return (envelope->inside || from->inside) && is_harmless(envelope) && is_harmless(from);
}

/* A row of the statement below. */
struct claim_row {
	char *domain;
	enum domain_policy policy;
	bool covers_subdomains;
	char *kind; /* NULL: no exemption */
	char *value;
};

static const struct row_field claim_fields[] = {
	ROW_FIELD(claim_row, domain, ROW_TEXT),
	ROW_WORD(claim_row, policy, ROW_ENUM, "policy", &store_domain_policies),
	ROW_WORD(claim_row, covers_subdomains, ROW_FLAG, "subdomains", &store_domain_subdomains),
	ROW_FIELD(claim_row, kind, ROW_TEXT),
	ROW_FIELD(claim_row, value, ROW_TEXT),
};
static const struct row_type claim_type = ROW_TYPE(claim_row, claim_fields);

/* False if the row is about a domain further up than the nearest one. */
static bool note_row(struct reading *reading, const struct claim_row *row)
{
	if (!reading->found) {
		reading->found = true;
		*stpncpy(reading->claim.domain, row->domain, STORE_CLAIM_DOMAIN_SIZE - 1) = '\0';
		reading->claim.policy = row->policy;
		reading->covers = row->covers_subdomains;
	} else if (!str_eq(row->domain, reading->claim.domain)) {
		return false;
	}
	if (row->kind == NULL)
		return true;
	if (str_eq(row->kind, "login")) {
		/* The statement returns no login but that of the message. */
		reading->exempt = true;
	} else if (str_eq(row->kind, "client")) {
		_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;

		if (cidr_list_parse(row->value, &list, NULL) == 0 &&
			cidr_list_has_text(&list, reading->sender->client))
			reading->exempt = true;
	} else {
		note_sender(&reading->envelope, row->value);
		note_sender(&reading->from, row->value);
	}
	return true;
}

int store_claim_read(struct db *db, const char *name, const struct claim_sender *sender,
	struct claim *claim_r, struct err *err)
{
	/* SQLite looks up the exemptions by the ids of the subquery; the CAST prevents any other
	 * plan. PostgreSQL would try the subquery on every exemption: the conditions on domain_id,
	 * kind and value restrict it to the few candidates. */
	static const char sql_claim[] =
		"WITH RECURSIVE up (name) AS ( SELECT $name"
		"   UNION ALL SELECT substr(name, instr(name, '.') + 1)"
		"   FROM up"
		"   WHERE instr(name, '.') > 0)"
		" SELECT d.name AS domain, d.policy, d.subdomains, e.kind, e.value"
		" FROM up"
		" CROSS JOIN domain d  ON d.name = up.name AND d.pending = 0"
		" LEFT JOIN exemption e ON e.id IN ( "
		"   SELECT id"
		"   FROM exemption "
		"   WHERE domain_id = d.id AND kind = 'client' "
		"   UNION ALL SELECT id"
		"   FROM exemption "
		"   WHERE domain_id = d.id AND kind = 'login' AND value = $login "
		"   UNION ALL SELECT id"
		"   FROM exemption "
		"   WHERE domain_id = d.id"
		"   AND kind = 'sender'  "
		"   AND value IN ($sender, $from)  "
		"   AND (reach = 'anywhere' OR $local <> 0))"
		" AND CAST(e.domain_id AS TEXT) = d.id"
		" AND (e.kind = 'client' OR e.value IN ($login, $sender, $from))"
		" WHERE d.name = $name OR d.subdomains = 'covered'"
		" ORDER BY length(d.name) DESC";
	_cleanup_free_ char *envelope = address_key(sender->sender);
	_cleanup_free_ char *from = address_key(sender->from);
	struct reading reading = {
		.sender = sender,
		.envelope.key = envelope,
		.from.key = from,
	};
	struct db_stmt *stmt;
	struct claim_row row;
	bool goes_on = true;
	int result;

	if (db_start(db, sql_claim,
		    DB_PARAMS(DB_TEXT("$name", name), DB_TEXT("$login", sender->login),
			    DB_TEXT("$sender", envelope), DB_TEXT("$from", from),
			    DB_INT("$local", sender->local)),
		    &stmt, err) != 0)
		return -1;
	while (goes_on && (result = db_step(stmt, err)) == 1) {
		if (row_read(stmt, &claim_type, &row, err) < 0)
			return -1;
		goes_on = note_row(&reading, &row);
		row_clear(&claim_type, &row);
	}
	if (!goes_on)
		db_reset(stmt);
	if (result < 0 || !reading.found)
		return result < 0 ? -1 : 0;
	reading.claim.exempt = reading.exempt || exempt_by_sender(&reading);
	*claim_r = reading.claim;
	return 1;
}
