/*
 * cmd_audit: the audit log.
 */
#include "cli/cmd.h"
#include "core/base/buf.h"
#include "core/ops/op_audit.h"

/* Adds the differences between before and after, such as `policy learn -> exclusive`. */
static void add_change(json_t *item)
{
	json_t *after = json_object_get(item, "after"), *was;
	struct buf out = BUF_INIT;
	const char *name;

	json_object_foreach(json_object_get(item, "before"), name, was) {
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
	if (out.len > 0)
		json_object_set_new(item, "change", json_string(buf_str(&out)));
	buf_free(&out);
}

static const struct column columns[] = {
	{"id", NULL, .type = COLUMN_TEXT},
	{"at", "TIME", .type = COLUMN_TIME},
	{"actor", "BY", COLUMN_TEXT, .spare = 2},
	{"actor_id", NULL, .type = COLUMN_TEXT},
	{"actor_name", "WHO", .type = COLUMN_TEXT, .width = 30},
	{"origin", "FROM", COLUMN_TEXT, .width = 40, .spare = 1},
	{"company_id", NULL, .type = COLUMN_TEXT},
	{"action", "ACTION", .type = COLUMN_TEXT},
	{"object_id", NULL, .type = COLUMN_TEXT},
	{"object_name", "OBJECT", .type = COLUMN_TEXT, .width = 60},
	{"change", "CHANGE", .type = COLUMN_TEXT, .width = 80},
	{"before", NULL, .type = COLUMN_JSON},
	{"after", NULL, .type = COLUMN_JSON},
	{0},
};

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
	.operation = &op_audit_list,
	.add = add_change,
	.limit = 100,
	.limit_max = 10000,
};
