/*
 * store_return: one row of email, for postern-intake.
 */
#include "core/store/email/store_return.h"

#include "core/store/row.h"

static const struct row_field return_fields[] = {
	ROW_FIELD(return_email, seq, ROW_INT64),
	ROW_FIELD(return_email, id, ROW_ID),
	ROW_FIELD(return_email, company_id, ROW_ID),
	ROW_FIELD(return_email, nonce, ROW_ID),
	ROW_FIELD(return_email, domain, ROW_TEXT),
};
static const struct row_type return_type = ROW_TYPE(return_email, return_fields);

int store_return_email(struct db *db, const char *id, struct return_email *email_r, struct err *err)
{
	static const char sql_email[] =
		"SELECT seq, id, company_id, nonce, domain"
		" FROM email"
		" WHERE id = $id AND state = 'sent'";

	return row_get(db, sql_email, DB_PARAMS(DB_TEXT("$id", id)), &return_type, email_r, err);
}

void store_return_email_clear(struct return_email *email)
{
	row_clear(&return_type, email);
}

int store_return_is_message(struct db *db, int64_t email, const char *queue_id, struct err *err)
{
	static const char sql_message[] =
		"SELECT EXISTS (SELECT 1"
		"   FROM email"
		"   WHERE seq = $email AND queue_id = $id)"
		" OR EXISTS (SELECT 1"
		"   FROM queue_message"
		"   WHERE email = $email AND queue_id = $id)";
	int64_t is_one = 0;

	if (row_number(db, sql_message,
		    DB_PARAMS(DB_INT("$email", email), DB_TEXT("$id", queue_id)), &is_one, err) < 0)
		return -1;
	return is_one != 0;
}
