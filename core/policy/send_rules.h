/*
 * send_rules: may this key send as this domain? Facts in, decision out.
 */
#ifndef POSTERN_POLICY_SEND_RULES_H
#define POSTERN_POLICY_SEND_RULES_H

#include <stdbool.h>

/* The state of the From domain, seen from the key's company. */
enum domain_status {
	DOMAIN_NOT_OWN,  /* the company does not have this domain */
	DOMAIN_INACTIVE, /* inactive, or requested and not given yet */
	DOMAIN_ACTIVE,
};

struct send_facts {
	bool key_may_send;      /* the key has the sending scope */
	const char *key_domain; /* the key may only use this domain; NULL: any */
	const char *from_domain;
	enum domain_status status;
};

enum send_decision {
	RULES_ALLOWED,
	RULES_NOT_OWN,
	RULES_NO_SCOPE,
	RULES_INACTIVE,
	RULES_KEY_RESTRICTED,
};

/* Applies the sending rules in this order: the domain belongs to the company, the key may send,
 * the key is not restricted to another domain, the domain is active. */
enum send_decision send_rules_check(const struct send_facts *facts);

/* The text for a refused email, the same for all ways to send. The caller frees it. Not for
 * RULES_ALLOWED. */
char *send_rules_text(enum send_decision decision, const char *domain);

#endif
