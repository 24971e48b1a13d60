/*
 * dkim: the public key that a selector has in the DNS (RFC 6376 3.6).
 */
#ifndef POSTERN_DNS_DKIM_H
#define POSTERN_DNS_DKIM_H

#include "core/dns/dns.h"

/* A key that the signer has. */
struct dkim_key_public {
	const char *selector;
	const char *key;   /* base64 of a SubjectPublicKeyInfo, as in p= */
	const char *state; /* in words, for people; "": it signs */
};

/* What receivers make of a record. */
enum dkim_record {
	DKIM_RECORD_KEY,
	DKIM_RECORD_NONE,    /* the text is no such record */
	DKIM_RECORD_INVALID, /* it is one that receivers ignore */
	DKIM_RECORD_REVOKED, /* p= is empty */
};

/* Reads one record. *key_r gets the text of p= without blanks and padding, or stays NULL; the
 * caller frees it. */
enum dkim_record dkim_record_parse(const char *text, char **key_r);

/* `SELECTOR._domainkey.DOMAIN`, and the record for the key; new strings. */
char *dkim_record_name(const char *domain, const char *selector);
char *dkim_record_value(const char *key);

/* What the DNS has for the key. */
enum dkim_result {
	DKIM_SAME,
	DKIM_MISSING,
	DKIM_OTHER,   /* another key */
	DKIM_REVOKED, /* no key any more */
	DKIM_INVALID, /* what receivers ignore, or several records */
	DKIM_UNKNOWN, /* the DNS does not tell */
};
enum dkim_result dkim_check(struct dns *dns, const char *domain, const struct dkim_key_public *key);

#endif
