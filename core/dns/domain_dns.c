/*
 * domain_dns: compares DNS records with their expected values.
 */
#include "core/dns/domain_dns.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/cidr.h"
#include "core/base/span.h"
#include "core/base/str.h"
#include "core/dns/spf.h"

#define OFFLINE "the DNS gives no answer"
#define UNKNOWN_HOST                                                                               \
	", and what it has to say is not known: set dns.addresses to the addresses from which "    \
	"mail goes out, or give this host a name with a domain"

const char *dns_status_name(enum dns_status status)
{
	static const char *const names[] = {
		[DNS_STATUS_VERIFIED] = "verified",
		[DNS_STATUS_MISSING] = "missing",
		[DNS_STATUS_WRONG] = "wrong",
		[DNS_STATUS_UNKNOWN] = "unknown",
	};

	return names[status];
}

void dns_records_clear(struct dns_records *records)
{
	for (size_t i = 0; i < records->n; i++) {
		free(records->items[i].name);
		free(records->items[i].value);
		free(records->items[i].text);
	}
	free(records->items);
	*records = (struct dns_records){0};
}

/* Takes ownership of name and value. */
static struct dns_record *add_dns_record(
	struct dns_records *records, const char *kind, const char *type, char *name, char *value)
{
	struct dns_record *record;

	records->items = mem_append(records->items, records->n, sizeof(*records->items));
	record = &records->items[records->n++];
	*record = (struct dns_record){.kind = kind, .type = type, .name = name, .value = value};
	return record;
}

/* Makes untrusted text one line of at most TEXT_MAX bytes. */
static void make_short_line(char *text)
{
	enum { TEXT_MAX = 1000 };

	str_make_line(text);
	text[str_utf8_cut(text, TEXT_MAX)] = '\0';
}

__attribute__((format(printf, 3, 4))) static void judge(
	struct dns_record *record, enum dns_status status, const char *format, ...)
{
	va_list args;

	record->status = status;
	va_start(args, format);
	record->text = mem_vprintf(format, args);
	va_end(args);
	make_short_line(record->text);
}

char *domain_dns_proof(const char *id)
{
	return mem_printf("postern-domain=%s", id);
}

/* Checks the TXT record that proves the request for the domain. */
static void check_proof(
	struct dns *dns, const char *domain, const char *proof, struct dns_records *records)
{
	struct dns_record *record = add_dns_record(
		records, "PROOF", "TXT", mem_printf("_postern.%s", domain), mem_strdup(proof));
	_cleanup_strv_ struct strv texts = STRV_INIT;
	int found = dns_txt(dns, record->name, &texts);

	if (found < 0)
		judge(record, DNS_STATUS_UNKNOWN, OFFLINE);
	else if (strv_has(&texts, proof))
		judge(record, DNS_STATUS_VERIFIED, "%s", proof);
	else if (found == 0)
		judge(record, DNS_STATUS_MISSING, "there is no such record");
	else
		judge(record, DNS_STATUS_WRONG, "there is another one: %s", texts.items[0]);
}

/* True if the key is published, and the signer uses it. */
static bool check_dkim(struct dns *dns, const char *domain, const struct dkim_key_public *key,
	struct dns_records *records)
{
	static const struct {
		enum dns_status status;
		const char *words;
	} results[] = {
		[DKIM_SAME] = {DNS_STATUS_VERIFIED, "the key of the signer"},
		[DKIM_MISSING] = {DNS_STATUS_MISSING, "there is no key"},
		[DKIM_OTHER] = {DNS_STATUS_WRONG,
			"another key than the signer has: signatures "
			"are not valid"},
		[DKIM_REVOKED] = {DNS_STATUS_WRONG, "the key is revoked (p= is empty)"},
		[DKIM_INVALID] = {DNS_STATUS_WRONG,
			"no valid record: another one beside it, or a "
			"tag that receivers do not take"},
		[DKIM_UNKNOWN] = {DNS_STATUS_UNKNOWN, OFFLINE},
	};
	struct dns_record *record = add_dns_record(records, "DKIM", "TXT",
		dkim_record_name(domain, key->selector), dkim_record_value(key->key));
	enum dkim_result result = dkim_check(dns, domain, key);

	judge(record, results[result].status, "%s%s%s", results[result].words,
		str_empty(key->state) ? "" : "; ", key->state ? key->state : "");
	return result == DKIM_SAME && str_empty(key->state);
}

/* True if the DNS can have the name: one without a domain, or in localdomain, which Postfix adds to
 * such a name, is known to this host alone. */
static bool is_full_name(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot && dot[1] && !str_eq_nocase(dot, ".localdomain");
}

/* Returns the record that lets this host send and leaves all others at softfail; NULL if neither
 * its addresses are known nor a name that others can look up. */
static char *spf_value(const struct dns_host *host)
{
	struct buf value = BUF_INIT;

	if (host->addresses->n == 0 && !is_full_name(host->helo))
		return NULL;
	buf_add_str(&value, "v=spf1");
	for (size_t i = 0; i < host->addresses->n; i++)
		buf_printf(&value, " %s:%s", strchr(host->addresses->items[i], ':') ? "ip6" : "ip4",
			host->addresses->items[i]);
	if (host->addresses->n == 0)
		buf_printf(&value, " a:%s", host->helo);
	buf_add_str(&value, " ~all");
	return buf_take(&value);
}

static void check_spf(struct dns *dns, const char *domain, const struct dns_host *host,
	struct dns_records *records)
{
	struct dns_record *record = add_dns_record(
		records, "SPF", "TXT", mem_strdup(domain), spf_value(host));
	_cleanup_free_ char *found = NULL;
	const char *address;
	enum spf_result result;
	size_t i = 0;

	do {
		free(found);
		address = host->addresses->n ? host->addresses->items[i] : "0.0.0.0";
		result = spf_check(dns, domain, address, &found);
	} while (result == SPF_PASS && ++i < host->addresses->n);
	if (result == SPF_NONE) {
		judge(record, DNS_STATUS_MISSING, "there is no SPF record%s",
			record->value ? "" : UNKNOWN_HOST);
	} else if (result == SPF_PERMERROR) {
		judge(record, DNS_STATUS_WRONG,
			"not valid: several records, more than 10 look-ups, or a term "
			"that nobody knows%s%s",
			found ? ": " : "", found ? found : "");
	} else if (found == NULL) {
		judge(record, DNS_STATUS_UNKNOWN, OFFLINE);
	} else if (host->addresses->n == 0) {
		judge(record, DNS_STATUS_UNKNOWN,
			"from which address mail goes out is not known (dns.addresses): %s", found);
	} else if (result == SPF_PASS) {
		judge(record, DNS_STATUS_VERIFIED, "%s", found);
	} else if (result == SPF_UNKNOWN) {
		judge(record, DNS_STATUS_UNKNOWN, "it cannot be told for %s: %s", address, found);
	} else {
		/* A second record would make both invalid: this host's mechanisms go to the front
		 * of the published one. */
		_cleanup_free_ char *own = TAKE_PTR(record->value);
		const char *terms = own + strlen("v=spf1");

		judge(record, DNS_STATUS_WRONG, "%s for %s: %s", spf_result_name(result), address,
			found);
		record->value = mem_printf("v=spf1%.*s%s", (int)(strlen(terms) - strlen(" ~all")),
			terms, found + strlen("v=spf1"));
		make_short_line(record->value);
	}
}

/* Returns the value of p= in `v=DMARC1; p=none`; "" if it is missing. */
static struct span dmarc_policy(const char *record)
{
	struct span rest = {record, strlen(record)};

	while (rest.len > 0) {
		struct span value = span_cut(&rest, ';');

		if (span_is(span_trim(span_cut(&value, '=')), "p"))
			return span_trim(value);
	}
	return rest;
}

/* Finds the DMARC record of the domain, or of the nearest domain above it. (RFC 7489 6.6.3 goes
 * to the organizational domain directly, which is one of these.) */
static int find_dmarc(struct dns *dns, const char *domain, char **record_r, const char **where_r)
{
	for (const char *name = domain; name && strchr(name, '.'); name = strchr(name, '.') + 1) {
		_cleanup_free_ char *at = mem_printf("_dmarc.%s", name);
		_cleanup_strv_ struct strv texts = STRV_INIT;

		if (dns_txt(dns, at, &texts) < 0)
			return -1;
		for (size_t i = 0; i < texts.n; i++) {
			if (!str_starts(texts.items[i], "v=DMARC1"))
				continue;
			*record_r = mem_strdup(texts.items[i]);
			*where_r = name;
			return 1;
		}
	}
	return 0;
}

static void check_dmarc(
	struct dns *dns, const char *domain, bool passes, struct dns_records *records)
{
	struct dns_record *record = add_dns_record(records, "DMARC", "TXT",
		mem_printf("_dmarc.%s", domain), mem_strdup("v=DMARC1; p=none"));
	_cleanup_free_ char *text = NULL;
	const char *where = NULL;
	struct span policy;
	int found = find_dmarc(dns, domain, &text, &where);

	if (found <= 0) {
		judge(record, found < 0 ? DNS_STATUS_UNKNOWN : DNS_STATUS_MISSING, "%s",
			found < 0 ? OFFLINE : "there is no DMARC record");
		return;
	}
	policy = dmarc_policy(text);
	/* The checks are of the domain itself, so they are aligned, even strictly. */
	if (!span_is(policy, "none") && !passes)
		judge(record, DNS_STATUS_WRONG,
			"p=%.*s, and neither SPF passes nor is a key of the signer published (DKIM): "
			"receivers refuse mail: %s",
			(int)policy.len, policy.data, text);
	else
		judge(record, DNS_STATUS_VERIFIED, "%s (of %s)", text, where);
}

static void check_mx(struct dns *dns, const char *domain, const struct dns_host *host,
	struct dns_records *records)
{
	struct dns_record *record = add_dns_record(records, "MX", "MX", mem_strdup(domain),
		is_full_name(host->helo) ? mem_printf("10 %s", host->helo) : NULL);
	_cleanup_strv_ struct strv hosts = STRV_INIT, addresses = STRV_INIT;
	int found = dns_mx(dns, domain, &hosts);

	if (found == 0)
		found = dns_addresses(dns, domain, &addresses);
	if (found < 0) {
		judge(record, DNS_STATUS_UNKNOWN, OFFLINE);
	} else if (found == 0) {
		judge(record, DNS_STATUS_MISSING, "nobody receives mail there: bounces are lost");
	} else if (hosts.n == 1 && hosts.items[0][0] == '\0') {
		judge(record, DNS_STATUS_WRONG,
			"a null MX: the domain receives no mail, and some receivers refuse mail "
			"from it");
	} else {
		_cleanup_free_ char *names = strv_join(&hosts, ", ");

		judge(record, DNS_STATUS_VERIFIED, "%s", hosts.n ? names : "no MX, but an address");
	}
}

void domain_dns_check(struct dns *dns, const struct dns_domain *domain, const struct dns_host *host,
	struct dns_records *records)
{
	size_t first;
	bool passes;

	if (domain->proof)
		check_proof(dns, domain->name, domain->proof, records);
	first = records->n;
	check_spf(dns, domain->name, host, records);
	passes = records->items[first].status == DNS_STATUS_VERIFIED;
	for (size_t i = 0; i < domain->keys_n; i++)
		passes |= check_dkim(dns, domain->name, &domain->keys[i], records);
	check_dmarc(dns, domain->name, passes, records);
	check_mx(dns, domain->name, host, records);
}

static void check_ptr(struct dns *dns, const char *address, const struct dns_host *host,
	struct dns_records *records)
{
	struct dns_record *record = add_dns_record(records, "PTR", "PTR", mem_strdup(address),
		is_full_name(host->helo) ? mem_strdup(host->helo) : NULL);
	_cleanup_strv_ struct strv names = STRV_INIT;
	int found = dns_names(dns, address, &names);

	if (found <= 0) {
		judge(record, found < 0 ? DNS_STATUS_UNKNOWN : DNS_STATUS_MISSING, "%s",
			found < 0 ? OFFLINE
				  : "the address has no name: large receivers refuse its mail");
		return;
	}
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_strv_ struct strv addresses = STRV_INIT;

		found = dns_addresses(dns, names.items[i], &addresses);
		if (found < 0) {
			judge(record, DNS_STATUS_UNKNOWN, OFFLINE);
			return;
		}
		if (strv_has(&addresses, address)) {
			judge(record, DNS_STATUS_VERIFIED, "%s, which has that address",
				names.items[i]);
			return;
		}
	}
	judge(record, DNS_STATUS_WRONG, "%s, which does not have that address", names.items[0]);
}

void host_dns_check(struct dns *dns, const struct dns_host *host, struct dns_records *records)
{
	_cleanup_strv_ struct strv addresses = STRV_INIT;
	struct dns_record *record;
	int found;

	for (size_t i = 0; i < host->addresses->n; i++)
		check_ptr(dns, host->addresses->items[i], host, records);
	record = add_dns_record(records, "HELO", "A", mem_strdup(host->helo),
		host->addresses->n ? mem_strdup(host->addresses->items[0]) : NULL);
	found = dns_addresses(dns, host->helo, &addresses);
	if (found < 0) {
		judge(record, DNS_STATUS_UNKNOWN, OFFLINE);
		return;
	}
	for (size_t i = 0; i < host->addresses->n; i++)
		if (strv_has(&addresses, host->addresses->items[i])) {
			judge(record, DNS_STATUS_VERIFIED, "%s", host->addresses->items[i]);
			return;
		}
	if (found == 0)
		judge(record, DNS_STATUS_MISSING, "the name that Postfix says has no address");
	else if (host->addresses->n == 0)
		judge(record, DNS_STATUS_UNKNOWN,
			"from which address mail goes out is not known (dns.addresses)");
	else
		judge(record, DNS_STATUS_WRONG, "%s, and mail goes out from %s", addresses.items[0],
			host->addresses->items[0]);
}
