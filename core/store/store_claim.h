/*
 * store_claim: what a message that uses a domain has to do with it: whether
 * the domain, or one above it, is registered, and what it lets pass.
 */
#ifndef POSTERN_STORE_STORE_CLAIM_H
#define POSTERN_STORE_STORE_CLAIM_H

#include "core/store/store_domain.h"

enum { STORE_CLAIM_DOMAIN_SIZE = 254 }; /* RFC 1035 2.3.4, and a NUL */

/* Who sends a message, as far as exemptions go. */
struct claim_sender {
	const char *login;  /* SASL login; NULL for none */
	const char *client; /* address of the SMTP client; NULL for sendmail(1) */
	const char *sender; /* envelope sender without <>, "" the null sender */
	const char *from;   /* `local@domain` of the one header From; NULL when
			     * it is not clear, or when another field names an
			     * author that is not the same */
	bool local;         /* it is submitted on this host */
};

struct claim {
	char domain[STORE_CLAIM_DOMAIN_SIZE]; /* the registered one */
	enum domain_policy policy;
	bool exempt;
};

/* The nearest registered domain that has this name, or covers it: 1, 0 none,
 * -1 cannot tell. The name is in the form that addr_domain_normalize() makes.
 *
 * A login or a client that is exempt covers whatever it sends. A sender that is
 * exempt covers a message that uses no other address of the domain: envelope
 * sender and From each are exempt or of elsewhere, one at least is exempt, and
 * neither is empty or unclear. What is exempt for this host alone counts only
 * for mail that is submitted on it. */
int store_claim_read(struct db *db, const char *name, const struct claim_sender *sender,
	struct claim *claim_r, struct err *err);

#endif
