/*
 * send_rules: may this key send as this domain? Facts in, decision out.
 */
#ifndef POSTERN_POLICY_SEND_RULES_H
#define POSTERN_POLICY_SEND_RULES_H

#include <stdbool.h>

/* How the domain of the header From stands to the company of the key. */
enum domain_status {
	DOMAIN_NOT_OWN,  /* the company has none of the name */
	DOMAIN_INACTIVE, /* or only asked for */
	DOMAIN_ACTIVE,
};

struct send_facts {
	bool key_may_send;      /* the scope sending */
	const char *key_domain; /* restricted to it; NULL: to none */
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

/* The rules of the interface, in this order: the domain is the company's, the
 * key may send, it is not bound to another domain, the domain is active. */
enum send_decision send_rules_check(const struct send_facts *facts);

/* Why an email from the domain is refused, in the words of all ways to send; a new
 * string. Not for RULES_ALLOWED. */
char *send_rules_text(enum send_decision decision, const char *domain);

#endif
