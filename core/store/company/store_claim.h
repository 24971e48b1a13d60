/*
 * store_claim: what applies to a message that claims a domain: the registered domain, this one or
 * one above it, with its policy, and whether the sender is exempt.
 */
#ifndef POSTERN_STORE_STORE_CLAIM_H
#define POSTERN_STORE_STORE_CLAIM_H

#include "core/store/company/store_domain.h"

enum { STORE_CLAIM_DOMAIN_SIZE = 254 }; /* RFC 1035 2.3.4, and a NUL */

/* The properties of a sender that exemptions refer to. */
struct claim_sender {
	const char *login;  /* SASL login; NULL for none */
	const char *client; /* address of the SMTP client; NULL for sendmail(1) */
	const char *sender; /* envelope sender without <>, "" the null sender */
	/* `local@domain` of the single header From; NULL if it is ambiguous, or another field
	 * names a different author. */
	const char *from;
	bool local; /* submitted on this host */
};

struct claim {
	char domain[STORE_CLAIM_DOMAIN_SIZE]; /* the registered one */
	enum domain_policy policy;
	bool exempt;
};

/* Finds the nearest registered domain that has this name or covers it. Returns 1, 0 if there is
 * none, -1 on error. The name is normalized as by addr_domain_normalize().
 *
 * An exempt login or client covers any message. An exempt sender address covers a message that uses
 * no other address of the domain: each of envelope sender and From is exempt or of another domain,
 * at least one is exempt, and neither is empty or ambiguous. A local exemption applies only to mail
 * that is submitted on this host. */
int store_claim_read(struct db *db, const char *name, const struct claim_sender *sender,
	struct claim *claim_r, struct err *err);

#endif
