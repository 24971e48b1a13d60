/*
 * cmd_audit: who changed what.
 */
#include <jansson.h>
#include <string.h>

#include "cli/cmd.h"
#include "core/base/str.h"
#include "core/store/store_audit.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 10000 };

/* What became different in an object that is there before and after, as
 * `policy learn -> exclusive`; "" for others. A new string. */
static char *tell_change(const struct audit *audit)
{
	json_t *before = audit->before ? json_loads(audit->before, 0, NULL) : NULL;
	json_t *after = audit->after ? json_loads(audit->after, 0, NULL) : NULL;
	struct buf out = BUF_INIT;
	const char *name;
	json_t *was;

	json_object_foreach(before, name, was) {
		const json_t *is = json_object_get(after, name);
		_cleanup_free_ char *old = NULL;
		_cleanup_free_ char *new = NULL;

		if (is == NULL || json_equal(was, is))
			continue;
		old = json_dumps(was, JSON_ENCODE_ANY);
		new = json_dumps(is, JSON_ENCODE_ANY);
		buf_printf(&out, "%s%s %s -> %s", out.len ? ", " : "", name,
			json_is_string(was) ? json_string_value(was) : old,
			json_is_string(is) ? json_string_value(is) : new);
	}
	json_decref(before);
	json_decref(after);
	return buf_take(&out);
}

static void fill_change(struct report *report, size_t column, const void *item)
{
	_cleanup_free_ char *change = tell_change(item);

	report_text(report, column, *change ? change : NULL);
}

static const struct column columns[] = {
	{"id", NULL, COLUMN_TEXT, COLUMN_OF(audit, id)},
	{"at", "TIME", COLUMN_TIME, COLUMN_OF(audit, at_us)},
	{"actor", "BY", COLUMN_TEXT, .spare = 2, COLUMN_OF(audit, actor)},
	{"actor_id", NULL, COLUMN_TEXT, COLUMN_OF(audit, actor_id)},
	{"actor_name", "WHO", COLUMN_TEXT, 30, COLUMN_OF(audit, actor_name)},
	{"origin", "FROM", COLUMN_TEXT, 40, .spare = 1, COLUMN_OF(audit, origin)},
	{"company_id", NULL, COLUMN_TEXT, COLUMN_OF(audit, company_id)},
	{"action", "ACTION", COLUMN_TEXT, COLUMN_OF(audit, action)},
	{"object_id", NULL, COLUMN_TEXT, COLUMN_OF(audit, object_id)},
	{"object_name", "OBJECT", COLUMN_TEXT, 60, COLUMN_OF(audit, object_name)},
	{"change", "CHANGE", COLUMN_TEXT, 80, .fill = fill_change},
	{"before", NULL, COLUMN_JSON, COLUMN_OF(audit, before)},
	{"after", NULL, COLUMN_JSON, COLUMN_OF(audit, after)},
	{0},
};

static int run_list(const struct call *call, struct report *report, struct err *err)
{
	char company_id[ID_SIZE];
	struct audit_scope scope = {.object = call_option(call, OPTION_OBJECT)};
	struct page page = {0};
	struct audit_list list;
	struct page_end end = {.more = true};
	int64_t n = LIMIT_DEFAULT;

	if (call_number_option(call, OPTION_LIMIT, LIMIT_MAX, &n, err) < 0)
		return -1;
	if (call_time_option(call, OPTION_SINCE, &scope.since_us, err) < 0)
		return -1;
	if (call_id_option(call, OPTION_COMPANY, company_id, err) < 0)
		return -1;
	/* Also of one that is removed. */
	scope.company_id = *company_id ? company_id : NULL;
	/* A page may have looked at many and found few. */
	while (n > 0 && (end.more || end.next[0])) {
		page.limit = (int)(n < REPORT_ROWS ? n : REPORT_ROWS);
		if (store_audit_page(call->db, &scope, &page, &list, &end, err) <= 0)
			return call_page_lost(err);
		for (size_t i = 0; i < list.n; i++) {
			report_add(report, &list.items[i]);
			memcpy(page.after, list.items[i].id, ID_SIZE);
		}
		if (end.next[0])
			memcpy(page.after, end.next, ID_SIZE);
		n -= (int64_t)list.n;
		store_audit_list_free(&list);
		if (report_flush(report, err) < 0)
			return -1;
	}
	return 0;
}

const struct verb cmd_audit_list = {
	.noun = "audit",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.options = {{OPTION_SINCE, false,
			    "Only what happened since then: 2026-11-21, 2026-11-21T14:30 (UTC), or "
			    "how long ago, as 2h or 7d."},
		{OPTION_OBJECT, false,
			"Only changes of what has this id or name: a company, domain, key, user, "
			"or who is exempt."},
		{OPTION_COMPANY, false, "Only what is, or was, of this company."},
		{OPTION_LIMIT, false, "How many, from 1 to 10000. Without this, 100."}},
	.help = "Lists who changed what, newest first: every change of companies, domains, "
		"exemptions, keys and users, whether by this command or over HTTP. With "
		"--json each has the object as it was before and after.",
	.run = run_list,
};
