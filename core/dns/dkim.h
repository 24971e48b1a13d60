/*
 * dkim: checks the public key that a selector has in DNS (RFC 6376 3.6).
 */
#ifndef POSTERN_DNS_DKIM_H
#define POSTERN_DNS_DKIM_H

#include "core/dns/dns.h"

/* A key of the signer. */
struct dkim_key_public {
	const char *selector;
	const char *key;   /* base64 of a SubjectPublicKeyInfo, as in p= */
	const char *state; /* a remark for people; "" if the signer uses the key */
};

/* How receivers interpret a record. */
enum dkim_record {
	DKIM_RECORD_KEY,
	DKIM_RECORD_NONE,    /* the text is not a DKIM record */
	DKIM_RECORD_INVALID, /* a record that receivers ignore */
	DKIM_RECORD_REVOKED, /* p= is empty */
};

/* Parses one record. *key_r gets the value of p= without blanks and padding if the result is
 * DKIM_RECORD_KEY, otherwise it is unchanged. The caller frees it. */
enum dkim_record dkim_record_parse(const char *text, char **key_r);

/* Return `SELECTOR._domainkey.DOMAIN`, and the record for the key. The caller frees them. */
char *dkim_record_name(const char *domain, const char *selector);
char *dkim_record_value(const char *key);

/* What DNS has for the key. */
enum dkim_result {
	DKIM_SAME,
	DKIM_MISSING,
	DKIM_OTHER,   /* another key is published */
	DKIM_REVOKED, /* the key was revoked */
	DKIM_INVALID, /* a record that receivers ignore, or several records */
	DKIM_UNKNOWN, /* DNS gives no answer */
};
enum dkim_result dkim_check(struct dns *dns, const char *domain, const struct dkim_key_public *key);

#endif
