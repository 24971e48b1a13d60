/*
 * op_company: companies.
 */
#include "core/ops/op_company.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/store_audit.h"
#include "core/store/company/store_company.h"
#include "core/store/company/store_domain.h"
#include "core/store/company/store_key.h"
#include "core/store/outbox/store_outbox.h"

static const struct op_field fields[] = {
	{OP_FIELD(op_company, name, OP_TEXT), .required = true},
	{0},
};

static int add_company(struct op *op, const void *arg, struct err *err)
{
	const struct op_company *input = arg;
	struct company company;

	if (store_company_add(op->db, input->name, op->now_us, &company, err) < 0)
		return -1;
	op_give(op, &store_company_type, &company);
	return 1;
}

/* Members see only their own company. */
static int get_company(struct op *op, const void *arg, struct err *err)
{
	struct company company;
	int found;

	(void)arg;
	if (op->company_id && !str_eq(op->company_id, op->object))
		return 0;
	found = store_company_get(op->db, op->object, &company, err);
	if (found <= 0)
		return found;
	if (store_company_count(op->db, company.id, &company.domains, &company.keys, err) < 0) {
		store_company_clear(&company);
		return -1;
	}
	op_give(op, &store_company_counted_type, &company);
	return 1;
}

static int list_companies(struct op *op, const void *arg, struct err *err)
{
	struct company_list companies = {0};
	struct page_end end = {0};
	int found = 1;

	(void)arg;
	if (op->company_id == NULL) {
		found = store_company_list(op->db, &op->page, &companies, &end, err);
	} else {
		companies.items = mem_new(struct company);
		if (store_company_get(op->db, op->company_id, companies.items, err) < 0)
			found = -1;
		else
			companies.n = 1;
	}
	op_give_page(op, &store_company_counted_type, companies.items, companies.n, &end);
	for (size_t i = 0; i < companies.n && found > 0; i++) {
		struct company *company = &companies.items[i];

		if (store_company_count(
			    op->db, company->id, &company->domains, &company->keys, err) < 0)
			found = -1;
	}
	return found;
}

/* Keys go first, so that no more emails come. Those that wait are canceled then; the milter would
 * refuse them only when they are due. */
static int remove_some(struct db *db, void *arg, struct err *err)
{
	struct op *op = arg;
	struct outbox_cancel waiting = {.company_id = op->object, .mark = op->mark};
	int left = STORE_REMOVE_STEP, result;

	if (store_key_remove_some(db, op->object, NULL, &left, err) < 0)
		return -1;
	if (left == 0)
		return STORE_MORE;
	result = store_outbox_cancel_some(db, &waiting, op->now_us, err);
	if (result == STORE_MORE)
		op->mark = waiting.mark;
	return result == 1 ? store_company_remove(db, op->object, err) : result;
}

static int remove_step(struct op *op, const void *arg, struct err *err)
{
	struct company company;
	int found;

	(void)arg;
	/* Domains and keys are counted before the first step. */
	if (op->result.type == NULL) {
		found = store_company_get(op->db, op->object, &company, err);
		if (found <= 0)
			return found;
		op_give(op, &store_company_counted_type, &company);
		json_object_set_new(op_more(op), "removed", json_true());
		if (store_domain_count(op->db, company.id, &company.domains, err) < 0 ||
			store_key_count(op->db, company.id, NULL, &company.keys, err) < 0)
			return -1;
		memcpy(op->result.rows.items, &company, sizeof(company));
	}
	return db_atomic(op->db, remove_some, op, err);
}

const struct operation op_company_add = {fields, sizeof(struct op_company), .run = add_company};
const struct operation op_company_list = {.list = OP_SEARCH, .run = list_companies};
const struct operation op_company_get = {.run = get_company};
const struct operation op_company_remove = {.run = remove_step};
