/*
 * cmd_hosts: the hosts that share the database.
 */
#include "cli/cmd.h"
#include "core/ops/op_host.h"

static const struct column columns[] = {
	{"name", "HOST", .type = COLUMN_TEXT, .width = 40},
	{"state", "STATE", .type = COLUMN_TEXT},
	{"seen_at", "SEEN", .type = COLUMN_TIME},
	{"version", "VERSION", COLUMN_TEXT, .spare = 1},
	{"first_at", "SINCE", COLUMN_TIME, .spare = 2},
	{"taken", "TAKEN OVER", COLUMN_INT, .spare = 3},
	{"problem", "PROBLEM", .type = COLUMN_TEXT, .width = 80},
	{0},
};

static const struct column removed_columns[] = {
	{"name", "HOST", .type = COLUMN_TEXT},
	{"removed", "REMOVED", .type = COLUMN_FLAG},
	{0},
};

const struct verb cmd_hosts = {
	.noun = "hosts",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.help = "Lists the hosts that share the database, with their state: well, trouble (the "
		"problem says why), or lost: its postern-httpd has written no heartbeat for 15 "
		"seconds. A few seconds later the others take over its outbox. With a SQLite "
		"file, which one host uses, the list is empty.",
	.operation = &op_host_list,
};

const struct verb cmd_hosts_remove = {
	.noun = "hosts",
	.name = "remove",
	.argument = "HOST",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = removed_columns,
	.help = "Forgets a host that does not come back, and the mail that it held. The others take "
		"over all of its outbox. What its milter has recorded counts as sent, because its "
		"Postfix has it. Its programs must have stopped 15 seconds ago. If it comes back "
		"after all, it joins again by itself.",
	.operation = &op_host_remove,
	.note = "host {name} removed",
};
