/*
 * gen_api: prints the HTTP API from the tables of httpd/describe.
 *
 *   gen_api openapi     the OpenAPI document
 *   gen_api markdown    copies doc/HTTP-API.md from standard input, with its
 *                       sections made anew
 *
 * A section stands between the lines `<!-- begin NAME -->` and `<!-- end -->`.
 */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/describe/openapi.h"
#include "httpd/routes.h"
#include "tools/markdown.h"

static const char end[] = "<!-- end -->\n";

/* The line begins a section: appends it. 0, or -1: there is no such one. */
static int add_section(const char *line, struct buf *out)
{
	char name[32];

	if (sscanf(line, "<!-- begin %31s -->", name) != 1)
		return 0;
	buf_add_char(out, '\n');
	if (markdown_section(name, routes, out))
		return 0;
	fprintf(stderr, "gen_api: no section %s\n", name);
	return -1;
}

static int markdown(struct buf *out)
{
	_cleanup_free_ char *line = NULL;
	bool inside = false;
	size_t size = 0;

	while (getline(&line, &size, stdin) >= 0) {
		inside = inside && !str_eq(line, end);
		if (inside)
			continue;
		buf_add_str(out, line);
		if (add_section(line, out) < 0)
			return -1;
		inside = str_starts_nocase(line, "<!-- begin ");
	}
	return 0;
}

static int openapi(struct buf *out)
{
	json_t *document = openapi_document(routes);
	_cleanup_free_ char *text = json_dumps(document, JSON_INDENT(2));

	json_decref(document);
	buf_printf(out, "%s\n", text);
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	int result = -1;

	if (argc == 2 && str_eq(argv[1], "openapi"))
		result = openapi(&out);
	else if (argc == 2 && str_eq(argv[1], "markdown"))
		result = markdown(&out);
	else
		fputs("usage: gen_api openapi|markdown\n", stderr);
	if (result < 0)
		return EX_USAGE;
	if (fwrite(buf_str(&out), 1, out.len, stdout) < out.len ||
		fflush(stdout) != 0) {
		perror("gen_api");
		return EX_IOERR;
	}
	return 0;
}
