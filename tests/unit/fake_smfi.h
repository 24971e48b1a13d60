/*
 * fake_smfi: libmilter without threads and sockets, for tests.
 *
 * A test calls the callbacks that the filter has registered, as Postfix would
 * have them called, and looks at what the filter asked for.
 */
#ifndef POSTERN_TESTS_FAKE_SMFI_H
#define POSTERN_TESTS_FAKE_SMFI_H

#include <stdbool.h> /* before mfapi.h, which else makes a bool of its own */
#include <libmilter/mfapi.h>

#include "core/base/strv.h"

/* One connection; stands for libmilter's context. */
struct fake_smfi {
	void *private;
	const char *queue_id; /* the macros */
	const char *login;
	const char *daemon;
	bool chgheader_fails;
	bool quarantine_fails;
	struct strv deleted;         /* "name#index" of header fields taken off */
	struct strv added;           /* "name: value" */
	struct strv recipients;      /* "+<address>" added, "-<address>" deleted */
	const char *recipient_fails; /* the change, as above; NULL: none */
	char held[512];              /* why it is held; "": it is not */
	char code[8];                /* the last reply; "" for none */
	char status[16];
	char text[512];
};

/* What the filter registered. */
extern struct smfiDesc fake_smfi_callbacks;
/* The macros that it named, "stage:list" each. */
extern struct strv fake_smfi_macros;
/* What smfi_setconn() got. */
extern char fake_smfi_address[256];

/* As libmilter has it, an opaque pointer. */
SMFICTX *fake_smfi_ctx(struct fake_smfi *fake);

void fake_smfi_clear(struct fake_smfi *fake);

#endif
