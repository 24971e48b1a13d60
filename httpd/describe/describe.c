/*
 * describe: what follows from the tables of routes and schemas.
 *
 * Threads: any; holds no state.
 */
#include "httpd/describe/describe.h"

#include <assert.h>
#include <string.h>

#include "core/store/store_key.h"
#include "httpd/http/dialect.h"

static size_t count(const struct field_about *fields)
{
	size_t n = 0;

	while (fields && fields[n].name)
		n++;
	return n;
}

const struct field_about *describe_field(
	const struct schema_about *schema, size_t i)
{
	const struct field_about *first = schema->base ? schema->base->fields
						       : NULL;
	size_t first_n = count(first);

	if (i < first_n)
		return &first[i];
	i -= first_n;
	return i < count(schema->fields) ? &schema->fields[i] : NULL;
}

static void add_schema(struct schema_set *set, const struct schema_about *schema)
{
	const struct field_about *field;

	if (schema == NULL)
		return;
	for (size_t i = 0; i < set->n; i++)
		if (set->items[i] == schema)
			return;
	assert(set->n < DESCRIBE_SCHEMAS_MAX);
	set->items[set->n++] = schema;
	for (size_t i = 0; (field = describe_field(schema, i)) != NULL; i++)
		add_schema(set, field->schema);
}

void describe_schemas(const struct route *routes, struct schema_set *set_r)
{
	set_r->n = 0;
	for (const struct route *route = routes; route->method; route++) {
		add_schema(set_r, route->about->request);
		add_schema(set_r, route->about->answer);
	}
	add_schema(set_r, &about_error);
	add_schema(set_r, &about_form_error);
}

/* What follows from the columns that the admission reads. */
static void mark_by_columns(const struct route *route, bool marked[PROBLEM_KINDS])
{
	marked[PROBLEM_INTERNAL] = true;
	marked[PROBLEM_TOO_LARGE] = true;
	if (route->auth == AUTH_NONE)
		return;
	marked[PROBLEM_MISSING_KEY] = marked[PROBLEM_INVALID_KEY] = true;
	marked[PROBLEM_RATE] = marked[PROBLEM_UNAVAILABLE] = true;
	if (route->scopes != KEY_ALL)
		marked[PROBLEM_RESTRICTED_KEY] = true;
	if (route->names_domain)
		marked[PROBLEM_DOMAIN] = marked[PROBLEM_NOT_FOUND] = true;
	if (route->idempotent)
		marked[PROBLEM_IDEMPOTENCY_KEY] = marked[PROBLEM_OTHER_PAYLOAD] =
			marked[PROBLEM_CONCURRENT] = true;
	if (route->body != BODY_IGNORED)
		marked[PROBLEM_BAD_REQUEST] = marked[PROBLEM_MEDIA_TYPE] =
			marked[PROBLEM_VALIDATION] = true;
}

void describe_problems(const struct route *route,
	enum problem_kind kinds_r[static PROBLEM_KINDS])
{
	const enum problem_kind *own = route->about->problems;
	bool marked[PROBLEM_KINDS] = {false};
	size_t n = 0;

	mark_by_columns(route, marked);
	for (; own && *own != PROBLEM_NONE; own++)
		marked[*own] = true;
	for (int kind = PROBLEM_NONE + 1; kind < PROBLEM_KINDS; kind++)
		if (marked[kind])
			kinds_r[n++] = (enum problem_kind)kind;
	kinds_r[n] = PROBLEM_NONE;
}

int describe_status(const struct route *route, enum problem_kind kind)
{
	int status = problem_status(&(struct problem){.kind = kind});

	return dialect_status(route, status);
}

const char *describe_reason(int status)
{
	static const struct {
		int status;
		const char *text;
	} reasons[] = {
		{400, "The request cannot be read."},
		{401, "There is no valid key."},
		{403, "The key, or the state of the domain, does not allow "
		      "it."},
		{404, "There is no such thing, or it is another company's."},
		{405, "The path does not take the method; see Allow."},
		{408, "The request did not arrive in time."},
		{409, "It is at odds with another request or thing."},
		{413, "The request or its message is too large."},
		{415, "The body is of a media type that is not taken here."},
		{417, "What is expected in Expect cannot be done."},
		{422, "Something in the request is missing or wrong."},
		{429, "Too many requests; see Retry-After."},
		{431, "The head of the request is too large."},
		{500, "A fault of the service; its log has the details."},
		{501, "The request needs something of HTTP that is not there."},
		{503, "The service cannot take it now; see Retry-After."},
		{505, "The request is not HTTP/1.0 or 1.1."},
	};

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return NULL;
}

void describe_path(const struct route *route, struct buf *out)
{
	const char *hole = strstr(route->pattern, "{}");

	if (hole == NULL) {
		buf_add_str(out, route->pattern);
		return;
	}
	buf_add(out, route->pattern, (size_t)(hole - route->pattern));
	buf_printf(out, "{%s}%s", route->about->param->name, hole + 2);
}
