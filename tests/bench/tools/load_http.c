/*
 * load_http: requests over a connection that is kept open. An item is a whole
 * request; 200 is a yes.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/bench/tools/load.h"

static int http_greet(struct session *session, const void *arg)
{
	(void)arg;
	(void)session;
	return 0;
}

static size_t length_in(const char *line)
{
	static const char name[] = "Content-Length:";

	if (strncasecmp(line, name, sizeof(name) - 1) != 0)
		return 0;
	return strtoul(line + sizeof(name) - 1, NULL, 10);
}

static int http_exchange(
	struct session *session, const struct load_item *item, const void *arg, int *done_r)
{
	size_t body = 0;
	const char *line;

	(void)arg;
	if (session_write(session, item->data, item->len) < 0)
		return -1;
	line = session_line(session);
	if (line == NULL)
		return -1;
	*done_r = strncmp(line, "HTTP/1.1 200", 12) == 0;
	while ((line = session_line(session)) != NULL && line[0] != '\0')
		body += length_in(line);
	return line ? session_skip(session, body) : -1;
}

const struct load_protocol load_http = {http_greet, http_exchange};
