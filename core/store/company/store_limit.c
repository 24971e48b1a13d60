/*
 * store_limit: checks how many objects of a kind a company has.
 */
#include "core/store/company/store_limit.h"

#include "core/store/row.h"

/* Triggers maintain the counts of a company. Tokens of a user are counted up to one more than
 * allowed. */
static const char sql_company[] =
	"SELECT coalesce((SELECT count"
	"   FROM company_count"
	"   WHERE company_id = $owner AND kind = $kind), 0)";
static const char sql_tokens[] =
	"SELECT count(*)"
	" FROM (SELECT 1"
	"   FROM admin_session"
	"   WHERE user_id = $owner AND kind = 'token'"
	"   LIMIT $max) few";

static const struct {
	const char *setting;
	const char *owner;
	const char *what;
	const char *advice;
} limits[LIMITS] = {
	[LIMIT_KEYS] = {"keys", "company", "API keys", "revoke those that nobody needs"},
	[LIMIT_DOMAINS] = {"domains", "company", "domains", "remove those that nobody needs"},
	[LIMIT_PENDING_DOMAINS] = {"pending_domains", "company",
		"domains that wait for an operator", "remove those that nobody needs"},
	[LIMIT_EXEMPTIONS] = {"exemptions", "company", "exemptions",
		"remove those that nobody needs"},
	[LIMIT_USERS] = {"users", "company", "users", "remove those that nobody needs"},
	[LIMIT_TOKENS] = {"tokens", "user", "tokens", "revoke those that nobody needs"},
	[LIMIT_WEBHOOKS] = {"webhooks", "company", "webhooks", "remove those that nobody needs"},
	[LIMIT_SUPPRESSIONS] = {"suppressions", "company", "suppressed addresses",
		"remove those that nobody needs"},
};

int store_limit_check(
	struct db *db, enum store_limit limit, const char *owner, int64_t max, struct err *err)
{
	bool of_user = limit == LIMIT_TOKENS;
	int64_t count = 0;

	if (row_number(db, of_user ? sql_tokens : sql_company,
		    of_user ? DB_PARAMS(DB_TEXT("$owner", owner), DB_INT("$max", max + 1))
			    : DB_PARAMS(DB_TEXT("$owner", owner),
				      DB_TEXT("$kind", limits[limit].setting)),
		    &count, err) < 0)
		return -1;
	if (count <= max)
		return 0;
	return err_set(err, ERR_INVALID,
		"the %s has %lld %s, as many as it may have (limits.%s): %s", limits[limit].owner,
		(long long)max, limits[limit].what, limits[limit].setting, limits[limit].advice);
}
