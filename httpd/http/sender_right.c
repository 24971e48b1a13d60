/*
 * sender_right: collects the facts for the sending rules.
 *
 * Threads: the worker's.
 */
#include "httpd/http/sender_right.h"

#include "core/store/store_domain.h"

static int find_standing(struct db *db, const struct key *key, const char *name,
	enum domain_standing *standing_r, struct err *err)
{
	struct domain domain;
	int found = store_domain_find_own(db, key->company_id, name, &domain, err);

	if (found < 0)
		return -1;
	*standing_r = DOMAIN_NOT_OWN;
	if (found == 0)
		return 0;
	*standing_r = domain.active ? DOMAIN_ACTIVE : DOMAIN_INACTIVE;
	store_domain_clear(&domain);
	return 0;
}

int sender_right_find(struct db *db, const struct key *key,
	const char *domain, enum send_decision *decision_r, struct err *err)
{
	struct send_facts facts = {
		.key_may_send = key->scopes & KEY_SENDING,
		.key_domain = key->domain,
		.from_domain = domain,
	};

	if (find_standing(db, key, domain, &facts.standing, err) < 0)
		return -1;
	*decision_r = send_rules_check(&facts);
	return 0;
}
