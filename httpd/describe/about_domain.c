/*
 * about_domain: the routes /domains.
 *
 * Threads: any; the tables are constant.
 */
#include <stddef.h>

#include "httpd/describe/about.h"

/* What this service shows of settings that have no meaning here. */
#define NO_MEANING "Has no meaning here."

static const char *const enabled[] = {"enabled", NULL};
static const char *const disabled[] = {"disabled", NULL};

static const struct field_about capability_fields[] = {
	{
		.name = "sending",
		.shape = SHAPE_ONE_OF,
		.values = enabled,
		.required = true,
	},
	{
		.name = "receiving",
		.shape = SHAPE_ONE_OF,
		.values = disabled,
		.required = true,
	},
	{0},
};

static const struct schema_about capabilities = {
	.name = "Capabilities",
	.help = "What a domain can do here: send.",
	.fields = capability_fields,
};

static const struct field_about name_fields[] = {
	{
		.name = "object",
		.shape = SHAPE_ONE_OF,
		.values = (const char *const[]){"domain", NULL},
		.required = true,
	},
	{.name = "id", .shape = SHAPE_UUID, .required = true},
	{0},
};

static const struct schema_about named = {
	.name = "DomainId",
	.help = "A domain, by its id.",
	.fields = name_fields,
};

static const struct field_about removed_fields[] = {
	{.name = "deleted", .shape = SHAPE_TRUE, .required = true},
	{0},
};

static const struct schema_about removed = {
	.name = "DomainRemoved",
	.help = "A domain that is there no more.",
	.base = &named,
	.fields = removed_fields,
};

static const struct field_about item_fields[] = {
	{
		.name = "object",
		.shape = SHAPE_ONE_OF,
		.values = (const char *const[]){"domain", NULL},
		.required = true,
	},
	{.name = "id", .shape = SHAPE_UUID, .required = true},
	{.name = "name", .shape = SHAPE_STRING, .required = true},
	{
		.name = "status",
		.shape = SHAPE_ONE_OF,
		.values = (const char *const[]){"verified", "pending",
			"not_started", NULL},
		.required = true,
		.help = "`verified`: active for sending. `pending`: asked for, "
			"not yet active. `not_started`: an operator has "
			"deactivated it.",
	},
	{.name = "created_at", .shape = SHAPE_TIME, .required = true},
	{
		.name = "region",
		.shape = SHAPE_STRING,
		.required = true,
		.help = NO_MEANING,
	},
	{
		.name = "open_tracking",
		.shape = SHAPE_BOOLEAN,
		.required = true,
		.help = "Always `false`.",
	},
	{
		.name = "click_tracking",
		.shape = SHAPE_BOOLEAN,
		.required = true,
		.help = "Always `false`.",
	},
	{
		.name = "capabilities",
		.shape = SHAPE_OBJECT,
		.schema = &capabilities,
		.required = true,
	},
	{0},
};

static const struct schema_about item = {
	.name = "DomainItem",
	.help = "A sending domain in a list.",
	.fields = item_fields,
};

static const struct field_about domain_fields[] = {
	{
		.name = "records",
		.shape = SHAPE_EMPTY,
		.required = true,
		.help = "No DNS records are asked for.",
	},
	{0},
};

static const struct schema_about domain = {
	.name = "Domain",
	.help = "A sending domain of the company.",
	.base = &item,
	.fields = domain_fields,
};

static const struct field_about list_fields[] = {
	{
		.name = "data",
		.shape = SHAPE_OBJECTS,
		.schema = &item,
		.required = true,
	},
	{0},
};

static const struct schema_about list = {
	.name = "DomainList",
	.help = "Domains of the company.",
	.base = &about_list,
	.fields = list_fields,
};

static const struct field_about settings_fields[] = {
	{
		.name = "open_tracking",
		.shape = SHAPE_BOOLEAN,
		.help = "Only `false`.",
	},
	{
		.name = "click_tracking",
		.shape = SHAPE_BOOLEAN,
		.help = "Only `false`.",
	},
	{
		.name = "tls",
		.shape = SHAPE_ONE_OF,
		.values = (const char *const[]){"opportunistic", NULL},
		.help = "Postfix decides about TLS.",
	},
	{
		.name = "capabilities",
		.shape = SHAPE_OBJECT,
		.schema = &capabilities,
	},
	{0},
};

static const struct schema_about settings = {
	.name = "DomainSettings",
	.help = "Settings that clients know. What is so anyway is accepted, "
		"anything else is refused.",
	.fields = settings_fields,
	.open = true,
};

static const struct field_about request_fields[] = {
	{
		.name = "name",
		.shape = SHAPE_STRING,
		.required = true,
		.help = "The domain.",
	},
	{
		.name = "region",
		.shape = SHAPE_ONE_OF,
		.values = (const char *const[]){"us-east-1", "eu-west-1",
			"sa-east-1", "ap-northeast-1", NULL},
		.help = NO_MEANING,
	},
	{0},
};

static const struct schema_about request = {
	.name = "DomainRequest",
	.help = "A domain that the company wants to send from. The fields of "
		"`PATCH /domains/{id}` may come too.",
	.fields = request_fields,
	.open = true,
};

static const struct field_about domain_id = {
	.name = "id",
	.shape = SHAPE_UUID,
	.required = true,
	.help = "The id of the domain.",
};

static const enum problem_kind create_problems[] = {
	PROBLEM_MISSING_FIELD,
	PROBLEM_REGION,
	PROBLEM_NONE,
};

static const enum problem_kind list_problems[] = {
	PROBLEM_PARAMETER,
	PROBLEM_NONE,
};

static const enum problem_kind one_problems[] = {
	PROBLEM_NOT_FOUND,
	PROBLEM_PARAMETER,
	PROBLEM_NONE,
};

static const enum problem_kind remove_problems[] = {
	PROBLEM_DOMAIN,
	PROBLEM_NOT_FOUND,
	PROBLEM_PARAMETER,
	PROBLEM_NONE,
};

#define ID "\"id\": \"5d2b6a1c-0a44-4f6e-8f0c-6c1c2f3b9d10\""

#define ITEM_EXAMPLE                                                           \
	"\"object\": \"domain\", " ID                                          \
	", \"name\": \"mail.example.org\", \"status\": \"pending\", "          \
	"\"created_at\": \"2026-11-21T02:43:18.123456+00:00\", "               \
	"\"region\": \"us-east-1\", \"open_tracking\": false, "                \
	"\"click_tracking\": false, \"capabilities\": "                        \
	"{\"sending\": \"enabled\", \"receiving\": \"disabled\"}"

#define NAMED_EXAMPLE "\"object\": \"domain\", " ID

const struct route_about about_domain_create = {
	.name = "createDomain",
	.summary = "Ask for a sending domain",
	.text = "It begins as `pending`. A domain that the company has "
		"already is refused.",
	.request = &request,
	.status = 201,
	.answer = &domain,
	.problems = create_problems,
	.example = "{\"name\": \"mail.example.org\"}",
	.example_answer = "{" ITEM_EXAMPLE ", \"records\": []}",
};

const struct route_about about_domain_list = {
	.name = "listDomains",
	.summary = "List the domains of the company",
	.text = "A key that is bound to a domain sees that one alone.",
	.query = about_page_query,
	.status = 200,
	.answer = &list,
	.problems = list_problems,
	.example_answer = "{\"object\": \"list\", \"has_more\": false, "
			  "\"data\": [{" ITEM_EXAMPLE "}]}",
};

const struct route_about about_domain_get = {
	.name = "getDomain",
	.summary = "Show a domain",
	.text = "Its `status` tells whether it can be sent from.",
	.param = &domain_id,
	.status = 200,
	.answer = &domain,
	.problems = one_problems,
	.example_param = "$DOMAIN_ID",
	.example_answer = "{" ITEM_EXAMPLE ", \"records\": []}",
};

const struct route_about about_domain_update = {
	.name = "updateDomain",
	.summary = "Ask for settings of a domain",
	.text = "Nothing changes: there is nothing to set.",
	.param = &domain_id,
	.request = &settings,
	.status = 200,
	.answer = &named,
	.problems = one_problems,
	.example_param = "$DOMAIN_ID",
	.example = "{\"tls\": \"opportunistic\"}",
	.example_answer = "{" NAMED_EXAMPLE "}",
};

const struct route_about about_domain_remove = {
	.name = "removeDomain",
	.summary = "Remove a domain",
	.text = "And the keys that are bound to it. One that an operator has "
		"deactivated stays.",
	.param = &domain_id,
	.status = 200,
	.answer = &removed,
	.problems = remove_problems,
	.example_param = "$DOMAIN_ID",
	.example_answer = "{" NAMED_EXAMPLE ", \"deleted\": true}",
};

const struct route_about about_domain_verify = {
	.name = "verifyDomain",
	.summary = "Ask that a pending domain becomes active",
	.text = "It does where companies may activate their domains "
		"themselves (`http.domain_activation`), unless another company "
		"has it, or has one above it that covers its subdomains, or "
		"the host itself has it. Else "
		"it stays pending until an operator activates it.",
	.param = &domain_id,
	.status = 200,
	.answer = &named,
	.problems = one_problems,
	.example_param = "$DOMAIN_ID",
	.example_answer = "{" NAMED_EXAMPLE "}",
};
