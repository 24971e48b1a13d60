/*
 * store_exemption: the rows of the table exemption. Invariant: values are stored in the form in
 * which store_claim compares them.
 */
#include "core/store/company/store_exemption.h"

#include <assert.h>
#include <string.h>

#include "core/base/cidr.h"
#include "core/base/str.h"
#include "core/store/row.h"
#include "core/store/store_audit.h"

static const char *const kinds[EXEMPTION_KINDS + 1] = {
	[EXEMPT_LOGIN] = "login",
	[EXEMPT_CLIENT] = "client",
	[EXEMPT_SENDER] = "sender",
	[EXEMPTION_KINDS] = "unknown",
};

const struct row_words store_exemption_kinds = {kinds, EXEMPTION_KINDS, true};

static const struct row_field exemption_fields[] = {
	ROW_FIELD(exemption, id, ROW_ID),
	ROW_FIELD(exemption, company_id, ROW_ID),
	ROW_FIELD(exemption, domain, ROW_TEXT),
	ROW_WORD(exemption, kind, ROW_ENUM, "kind", &store_exemption_kinds),
	ROW_FIELD(exemption, value, ROW_TEXT),
	ROW_FIELD(exemption, local, ROW_BOOL),
	ROW_FIELD(exemption, created_us, ROW_TIME),
};
const struct row_type store_exemption_type = ROW_TYPE(exemption, exemption_fields);

#define EXEMPTION_SELECT                                                                           \
	"SELECT x.id, d.company_id, d.name AS domain, x.kind, x.value,"                            \
	" x.created_us, x.reach = 'local' AS local"                                                \
	" FROM exemption x"                                                                        \
	" JOIN domain d ON d.id = x.domain_id"

const char *store_exemption_kind_name(enum exemption_kind kind)
{
	assert(kind <= EXEMPTION_KINDS);
	return kinds[kind];
}

/* Each of these converts the given value into *value_r, which the caller frees. */

static int read_login(const struct exemption_spec *spec, char **value_r, struct err *err)
{
	if (str_empty(spec->value))
		return err_set(err, ERR_INVALID, "the login is empty");
	if (row_check_name("the login", spec->value, err) < 0)
		return -1;
	*value_r = mem_strdup(spec->value);
	return 0;
}

static int read_client(const struct exemption_spec *spec, char **value_r, struct err *err)
{
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;
	struct err why = ERR_INIT;
	char text[CIDR_TEXT_SIZE];

	if (cidr_list_parse(spec->value, &list, &why) < 0)
		return err_set(err, ERR_INVALID, "%s", why.text);
	if (list.n != 1 || spec->value[strcspn(spec->value, ", \t\r\n")])
		return err_set(
			err, ERR_INVALID, "\"%s\" is not one address or network", spec->value);
	cidr_format(&list.items[0], text);
	*value_r = mem_strdup(text);
	return 0;
}

/* An address of another domain is useless: the rules ignore it. */
static int read_sender(const struct exemption_spec *spec, char **value_r, struct err *err)
{
	const char *at = strrchr(spec->value, '@');

	if (at <= spec->value || !str_within_domain(at + 1, spec->domain, true))
		return err_set(
			err, ERR_INVALID, "\"%s\" is no address of %s", spec->value, spec->domain);
	*value_r = mem_strdup(spec->value);
	return 0;
}

/* Returns the stored form of the value, the same for all spellings. */
static int read_exempt_value(const struct exemption_spec *spec, char **value_r, struct err *err)
{
	static int (*const reads[EXEMPTION_KINDS])(
		const struct exemption_spec *spec, char **value_r, struct err *err) = {
		[EXEMPT_LOGIN] = read_login,
		[EXEMPT_CLIENT] = read_client,
		[EXEMPT_SENDER] = read_sender,
	};

	return reads[spec->kind](spec, value_r, err);
}

int store_exemption_add(struct db *db, const struct exemption_spec *spec, int64_t now_us,
	struct exemption *exemption_r, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO exemption (id, company_id, domain_id, kind, value, reach,"
		"   created_us)"
		" SELECT $id, d.company_id, d.id, $kind, $value,"
		" CASE WHEN $local <> 0 THEN 'local' ELSE 'anywhere' END, $created_us"
		" FROM domain d"
		" WHERE d.name = $domain AND d.pending = 0";
	struct exemption exemption = {
		.kind = spec->kind, .local = spec->local, .created_us = now_us};
	static const char sql_owner[] =
		"SELECT company_id FROM domain WHERE name = $domain AND pending = 0";
	struct exemption owner;
	struct err why = ERR_INIT;
	int added;

	if (spec->local && spec->kind != EXEMPT_SENDER)
		return err_set(err, ERR_INVALID, "only a sender can be exempt for this host alone");
	if (read_exempt_value(spec, &exemption.value, err) < 0)
		return -1;
	id_new(exemption.id);
	exemption.domain = mem_strdup(spec->domain);
	added = row_get(db, sql_owner, DB_PARAMS(DB_TEXT("$domain", spec->domain)),
		&store_exemption_type, &owner, &why);
	if (added > 0) {
		memcpy(exemption.company_id, owner.company_id, ID_SIZE);
		added = audit_change(db,
			&(struct audit_change){.action = "exemption.add",
				.type = &store_exemption_type,
				.name = "value",
				.sql = sql_insert,
				.item = &exemption},
			&why);
	}
	if (added > 0) {
		*exemption_r = exemption;
		return 0;
	}
	if (added == 0)
		err_set(err, ERR_NOT_FOUND, "there is no domain %s", spec->domain);
	else if (why.code == ERR_EXISTS)
		err_set(err, ERR_EXISTS,
			"the %s %s is exempt for %s already; remove that to make it another one",
			kinds[spec->kind], exemption.value, spec->domain);
	else
		err_copy(err, &why);
	store_exemption_clear(&exemption);
	return -1;
}

int store_exemption_find(
	struct db *db, const struct exemption_spec *spec, char id[static ID_SIZE], struct err *err)
{
	static const char sql_find[] =
		"SELECT x.id"
		" FROM domain d"
		" JOIN exemption x ON x.domain_id = d.id AND x.kind = $kind AND x.value = $value"
		" WHERE d.name = $domain AND d.pending = 0";
	_cleanup_free_ char *value = NULL;
	struct exemption exemption;
	int found;

	if (read_exempt_value(spec, &value, err) < 0)
		return -1;
	found = row_get(db, sql_find,
		DB_PARAMS(DB_TEXT("$kind", kinds[spec->kind]), DB_TEXT("$value", value),
			DB_TEXT("$domain", spec->domain)),
		&store_exemption_type, &exemption, err);
	if (found == 1)
		memcpy(id, exemption.id, ID_SIZE);
	return found;
}

int store_exemption_list(struct db *db, const char *company_id, const char *domain,
	const struct page *page, struct exemption_list *list_r, struct page_end *end_r,
	struct err *err)
{
#define PLACE "SELECT x.created_us FROM exemption x WHERE x.id = $id"
/* clang-format off */
#define PAGE(condition)                                                         \
	EXEMPTION_SELECT                                                        \
	" WHERE " condition "(x.created_us, x.id) < ($created, $id)"            \
	" ORDER BY x.created_us DESC, x.id DESC"                                \
	" LIMIT $limit"
/* clang-format on */
#define OF_COMPANY "x.company_id = $company"
#define OF_DOMAIN                                                                                  \
	"x.domain_id = (SELECT o.id"                                                               \
	"   FROM domain o"                                                                         \
	"   WHERE o.name = $domain"                                                                \
	"   AND o.pending = 0"                                                                     \
	"   AND ($company IS NULL OR o.company_id = $company))"
	static const char sql_place[] = PLACE;
	static const char sql_all[] = PAGE("");
	static const char sql_place_company[] = PLACE " AND " OF_COMPANY;
	static const char sql_company[] = PAGE(OF_COMPANY " AND ");
	static const char sql_place_domain[] = PLACE " AND " OF_DOMAIN;
	static const char sql_domain[] = PAGE(OF_DOMAIN " AND ");
#undef OF_DOMAIN
#undef OF_COMPANY
#undef PAGE
#undef PLACE
	struct row_pager pager = {sql_place, sql_all, NULL, ROW_BY_CREATED};

	if (domain) {
		pager.cursor = sql_place_domain;
		pager.older = sql_domain;
	} else if (company_id) {
		pager.cursor = sql_place_company;
		pager.older = sql_company;
	}
	return row_page(db,
		ROW_LIST(.pager = &pager,
			.params = domain ? DB_PARAMS(DB_TEXT("$domain", domain),
						   DB_TEXT("$company", company_id))
					 : DB_PARAMS(DB_GIVEN_TEXT("$company", company_id)),
			.type = &store_exemption_type, .page = page, ROW_INTO(list_r),
			.end_r = end_r),
		err);
}

int store_exemption_remove(struct db *db, const char *id, struct err *err)
{
	static const char sql_get[] = EXEMPTION_SELECT " WHERE x.id = $id";
	static const char sql_remove[] = "DELETE FROM exemption WHERE id = $id";

	return audit_change(db,
		&(struct audit_change){.action = "exemption.remove",
			.type = &store_exemption_type,
			.name = "value",
			.sql = sql_remove,
			.params = DB_PARAMS(DB_TEXT("$id", id)),
			.sql_get = sql_get,
			.key = DB_PARAMS(DB_TEXT("$id", id))},
		err);
}

int store_exemption_remove_some(
	struct db *db, const char *company_id, const char *domain_id, int *left, struct err *err)
{
	static const char sql_of_company[] = EXEMPTION_SELECT
		" WHERE x.company_id = $company LIMIT $limit";
	static const char sql_of_domain[] = EXEMPTION_SELECT
		" WHERE x.domain_id = $domain LIMIT $limit";
	static const char sql_remove[] = "DELETE FROM exemption WHERE id = $id";

	return audit_remove(db,
		&(struct audit_change){.action = "exemption.remove",
			.type = &store_exemption_type,
			.name = "value",
			.sql = sql_remove,
			.sql_get = domain_id ? sql_of_domain : sql_of_company,
			.key = DB_PARAMS(DB_GIVEN_TEXT("$company", company_id),
				DB_GIVEN_TEXT("$domain", domain_id))},
		left, err);
}

void store_exemption_clear(struct exemption *exemption)
{
	row_clear(&store_exemption_type, exemption);
}

void store_exemption_list_free(struct exemption_list *list)
{
	row_list_free(&store_exemption_type, list->items, list->n);
	*list = (struct exemption_list){0};
}
