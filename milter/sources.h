/*
 * sources: whom a message could be said to come from, by its envelope and by
 * each reading of its header.
 */
#ifndef POSTERN_MILTER_SOURCES_H
#define POSTERN_MILTER_SOURCES_H

#include "milter/session.h"

enum { SOURCES_DOMAINS = 200 }; /* a message that names more is not checked */

struct sources {
	struct strv domains; /* each once, and at most one more than that */
	char *from;          /* the one author, `local@domain`; NULL when
			      * fields or readings name several, or none */
	bool unclear;        /* readings of the header can differ */
};

/* The caller clears them. */
void sources_find(
	const struct session_message *message, struct sources *sources_r);
void sources_clear(struct sources *sources);
#define _cleanup_sources_ __attribute__((cleanup(sources_clear)))

#endif
