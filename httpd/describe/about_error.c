/*
 * about_error: what every error looks like, in each dialect.
 *
 * Threads: any; the tables are constant.
 */
#include <stddef.h>

#include "httpd/describe/about.h"

static const struct field_about error_fields[] = {
	{
		.name = "statusCode",
		.shape = SHAPE_INTEGER,
		.required = true,
		.help = "The status of the answer.",
	},
	{
		.name = "message",
		.shape = SHAPE_STRING,
		.required = true,
		.help = "What is wrong, for people.",
	},
	{
		.name = "name",
		.shape = SHAPE_STRING,
		.required = true,
		.help = "What is wrong, for programs.",
	},
	{0},
};

const struct schema_about about_error = {
	.name = "Error",
	.help = "Why a request is not done.",
	.fields = error_fields,
};

static const struct field_about form_error_fields[] = {
	{
		.name = "message",
		.shape = SHAPE_STRING,
		.required = true,
		.help = "What is wrong, for people.",
	},
	{0},
};

const struct schema_about about_form_error = {
	.name = "FormError",
	.help = "Why a request of the form dialect is not done.",
	.fields = form_error_fields,
};
