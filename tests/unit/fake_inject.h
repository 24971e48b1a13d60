/*
 * fake_inject: an injector without Postfix. It keeps what it was given and
 * answers as it is told, in a later round of the event loop; on the way to
 * INJECT_QUEUED it can play the milter.
 */
#ifndef POSTERN_TESTS_FAKE_INJECT_H
#define POSTERN_TESTS_FAKE_INJECT_H

#include "core/base/secret.h"
#include "httpd/inject/inject.h"

struct db;

enum fake_milter { MILTER_AWAY, MILTER_RECORDS, MILTER_REFUSES };

struct fake_inject {
	struct inject inject; /* first */
	struct event_base *base;
	enum inject_result result;
	enum err_code code; /* with a result that is a failure */
	enum inject_obstacle obstacle;
	enum fake_milter milter;
	const char *only_to; /* all this happens to messages with this
			      * recipient, the others are recorded; NULL: to all */
	struct db *db;       /* the milter writes here */
	int submitted;
	char *message; /* the last one */
	char *sender;
	bool utf8;
	char ticket[SECRET_TICKET_SIZE];
};

/* Freed by inject_free(). */
struct fake_inject *fake_inject_new(struct event_base *base, struct db *db);

/* Answers after the milter's verdict from now on, as over SMTP: the milter
 * plays with every result. */
void fake_inject_verdict_first(struct fake_inject *fake);

#endif
