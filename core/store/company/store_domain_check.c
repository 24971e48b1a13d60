/*
 * store_domain_check: the rows of the table domain_check. The checks are not audited, because
 * nobody changes anything by them.
 */
#include "core/store/company/store_domain_check.h"

#include "core/store/row.h"

static const struct row_field check_fields[] = {
	ROW_FIELD(domain_check, domain_id, ROW_ID),
	ROW_FIELD(domain_check, checked_us, ROW_TIME),
	ROW_FIELD(domain_check, records, ROW_TEXT),
};
static const struct row_type check_type = ROW_TYPE(domain_check, check_fields);

int store_domain_check_get(
	struct db *db, const char *domain_id, struct domain_check *check_r, struct err *err)
{
	static const char sql_get[] =
		"SELECT domain_id, checked_us, records FROM domain_check WHERE domain_id = $id";

	return row_get(
		db, sql_get, DB_PARAMS(DB_TEXT("$id", domain_id)), &check_type, check_r, err);
}

int store_domain_check_put(struct db *db, const struct domain_check *check, struct err *err)
{
	static const char sql_put[] =
		"INSERT INTO domain_check (domain_id, checked_us, records)"
		" VALUES ($domain_id, $checked_us, $records)"
		" ON CONFLICT (domain_id) DO UPDATE"
		" SET checked_us = excluded.checked_us, records = excluded.records";

	return row_write(db, sql_put, NULL, &check_type, check, err) < 0 ? -1 : 0;
}

void store_domain_check_clear(struct domain_check *check)
{
	row_clear(&check_type, check);
}
