/*
 * cmd_company: companies.
 */
#include <string.h>

#include "cli/cmd.h"
#include "core/store/store_audit.h"
#include "core/store/store_company.h"
#include "core/store/store_domain.h"
#include "core/store/store_key.h"

static const struct column columns[] = {
	{"id", "ID", COLUMN_TEXT, COLUMN_OF(company, id)},
	{"name", "NAME", COLUMN_TEXT, 60, COLUMN_OF(company, name)},
	{"created_at", "CREATED", COLUMN_TIME, .spare = 1, COLUMN_OF(company, created_us)},
	{0},
};

enum { REMOVED_ID, REMOVED_NAME, REMOVED, REMOVED_DOMAINS, REMOVED_KEYS };

static const struct column removed_columns[] = {
	[REMOVED_ID] = {"id", "ID", .type = COLUMN_TEXT},
	[REMOVED_NAME] = {"name", "NAME", .type = COLUMN_TEXT},
	[REMOVED] = {"removed", "REMOVED", .type = COLUMN_FLAG},
	[REMOVED_DOMAINS] = {"domains", "DOMAINS", .type = COLUMN_INT},
	[REMOVED_KEYS] = {"keys", "KEYS", .type = COLUMN_INT},
	{0},
};

static int run_add(const struct call *call, struct report *report, struct err *err)
{
	struct company company;

	if (store_company_add(call->db, call_argument(call), call->now_us, &company, err) < 0)
		return -1;
	report_add(report, &company);
	store_company_clear(&company);
	return 0;
}

static int run_list(const struct call *call, struct report *report, struct err *err)
{
	struct page page = CALL_FIRST_PAGE;
	struct page_end end = {.more = true};
	struct company_list companies;

	while (end.more) {
		if (store_company_list(call->db, &page, &companies, &end, err) <= 0)
			return call_page_lost(err);
		for (size_t i = 0; i < companies.n; i++) {
			report_add(report, &companies.items[i]);
			memcpy(page.after, companies.items[i].id, ID_SIZE);
		}
		store_company_list_free(&companies);
		if (report_flush(report, err) < 0)
			return -1;
	}
	return 0;
}

static int remove_one(
	struct db *db, const struct company *company, struct report *report, struct err *err)
{
	int64_t domains, keys;
	int removed;

	if (store_domain_count(db, company->id, &domains, err) < 0 ||
		store_key_count(db, company->id, NULL, &keys, err) < 0)
		return -1;
	while ((removed = store_company_remove(db, company->id, err)) == STORE_MORE)
		call_pause();
	if (removed < 0)
		return -1;
	report_add_row(report);
	report_text(report, REMOVED_ID, company->id);
	report_text(report, REMOVED_NAME, company->name);
	report_number(report, REMOVED, true);
	report_number(report, REMOVED_DOMAINS, domains);
	report_number(report, REMOVED_KEYS, keys);
	report_note(report, "company %s (%s) removed, with its domains (%lld) and keys (%lld)",
		company->id, company->name, (long long)domains, (long long)keys);
	return 0;
}

static int run_remove(const struct call *call, struct report *report, struct err *err)
{
	char id[ID_SIZE];
	struct company company;
	int result;

	if (call_id_argument(call, id, err) < 0 || call_company(call, id, &company, err) < 0)
		return -1;
	result = remove_one(call->db, &company, report, err);
	store_company_clear(&company);
	return result;
}

const struct verb cmd_company_add = {
	.noun = "company",
	.name = "add",
	.argument = "NAME",
	.access = VERB_WRITES,
	.shape = VERB_RECORD,
	.columns = columns,
	.help = "Adds a company and prints its id. No two companies have the same name.",
	.run = run_add,
};

const struct verb cmd_company_list = {
	.noun = "company",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.help = "Lists all companies, by name.",
	.run = run_list,
};

const struct verb cmd_company_remove = {
	.noun = "company",
	.name = "remove",
	.argument = "ID",
	.access = VERB_STEPS,
	.shape = VERB_NOTE,
	.columns = removed_columns,
	.help = "Removes a company with its domains, keys and users. Its emails stay on "
		"record. It takes small steps, so that emails are sent meanwhile; "
		"interrupted, it is to be run again.",
	.run = run_remove,
};
