/*
 * markdown: the HTTP API for people.
 */
#ifndef POSTERN_TOOLS_MARKDOWN_H
#define POSTERN_TOOLS_MARKDOWN_H

#include <stdbool.h>

#include "core/base/buf.h"

struct route;

/* Appends a section of doc/HTTP-API.md: `json` and `form`, those of the
 * routes that speak a dialect, `objects`, what they answer, `errors`. False
 * when there is no such section. */
bool markdown_section(
	const char *name, const struct route *routes, struct buf *out);

#endif
