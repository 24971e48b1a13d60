/*
 * store_limit: how many of a kind a company may have.
 */
#include "core/store/store_limit.h"

#include "core/store/row.h"

/* Counts one more than may be: the rows beyond are nobody's time. */
#define COUNT(rows) "SELECT count(*) FROM (SELECT 1 FROM " rows " LIMIT $max)"

static const char sql_keys[] = COUNT("api_key WHERE company_id = $owner AND revoked_us = 0");
static const char sql_domains[] = COUNT("domain WHERE company_id = $owner AND pending = 0");
static const char sql_pending[] = COUNT("domain WHERE company_id = $owner AND pending = 1");
static const char sql_exemptions[] = COUNT("exemption WHERE company_id = $owner");
static const char sql_users[] = COUNT("admin_user WHERE company_id = $owner");
static const char sql_tokens[] = COUNT("admin_session WHERE user_id = $owner AND kind = 'token'");

static const struct {
	const char *sql;
	const char *setting;
	const char *owner;
	const char *what;
	const char *advice;
} limits[LIMITS] = {
	[LIMIT_KEYS] = {sql_keys, "keys", "company", "API keys", "revoke those that nobody needs"},
	[LIMIT_DOMAINS] = {sql_domains, "domains", "company", "domains",
		"remove those that nobody needs"},
	[LIMIT_PENDING_DOMAINS] = {sql_pending, "pending_domains", "company",
		"domains that wait for an operator", "remove those that nobody needs"},
	[LIMIT_EXEMPTIONS] = {sql_exemptions, "exemptions", "company", "exemptions",
		"remove those that nobody needs"},
	[LIMIT_USERS] = {sql_users, "users", "company", "users", "remove those that nobody needs"},
	[LIMIT_TOKENS] = {sql_tokens, "tokens", "user", "tokens", "revoke those that nobody needs"},
};

int store_limit_check(
	struct db *db, enum store_limit limit, const char *owner, int64_t max, struct err *err)
{
	int64_t count = 0;

	if (row_number(db, limits[limit].sql,
		    DB_PARAMS(DB_TEXT("$owner", owner), DB_INT("$max", max + 1)), &count, err) < 0)
		return -1;
	if (count <= max)
		return 0;
	return err_set(err, ERR_INVALID,
		"the %s has %lld %s, as many as it may have (limits.%s): %s", limits[limit].owner,
		(long long)max, limits[limit].what, limits[limit].setting, limits[limit].advice);
}
