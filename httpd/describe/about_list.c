/*
 * about_list: the what all routes that list have in common.
 *
 * Threads: any; the tables are constant.
 */
#include <stddef.h>

#include "httpd/describe/about.h"

const struct field_about about_page_query[] = {
	{
		.name = "limit",
		.shape = SHAPE_INTEGER,
		.help = "How many items to answer, 1 to 100; else 20.",
	},
	{
		.name = "after",
		.shape = SHAPE_UUID,
		.help = "Only items that come after the one with this id.",
	},
	{
		.name = "before",
		.shape = SHAPE_UUID,
		.help = "Only items that come before the one with this id; not "
			"together with `after`.",
	},
	{0},
};

static const struct field_about fields[] = {
	{
		.name = "object",
		.shape = SHAPE_ONE_OF,
		.values = (const char *const[]){"list", NULL},
		.required = true,
	},
	{
		.name = "has_more",
		.shape = SHAPE_BOOLEAN,
		.required = true,
		.help = "Whether the list goes on behind this page.",
	},
	{0},
};

const struct schema_about about_list = {.fields = fields};
