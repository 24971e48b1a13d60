/*
 * op_key: API keys.
 *
 * A key that is restricted to a domain manages only keys that are restricted to the same domain, so
 * it cannot extend its own rights. Over the public API only valid keys are visible.
 */
#ifndef POSTERN_OPS_OP_KEY_H
#define POSTERN_OPS_OP_KEY_H

#include "core/ops/op.h"

struct op_key {
	const char *company_id;
	const char *name;
	const char *scopes;    /* comma-separated words; NULL: sending and reading */
	const char *domain;    /* restricted to this domain: its name, */
	const char *domain_id; /* id of the domain; NULL: unrestricted */
	enum op_flag valid;    /* for a list: only valid keys */
	const char *idle;      /* for a list: only valid keys that are "unused" or "forgotten" */
	const char *id;        /* in `keys`: the id of one key */
	struct op_items keys;  /* several keys */
};

enum {
	OP_KEYS_MAX = 1000,
	OP_KEY_UNUSED_DAYS = 30,     /* after so long, a key that was never used is unused, */
	OP_KEY_FORGOTTEN_DAYS = 180, /* and one that was used before is forgotten */
};

/* Gives the key, with its `token`, which is shown only once. */
extern const struct operation op_key_create;
/* Gives keys, newest first. */
extern const struct operation op_key_list;
extern const struct operation op_key_get;
/* Gives the key. */
extern const struct operation op_key_rename;
/* Gives the key. */
extern const struct operation op_key_revoke;
/* Revokes several keys, given by ids. The command gives a company instead, and perhaps a domain:
 * then all its valid keys are revoked, in steps. Missing and already revoked keys are skipped.
 * Gives the number of revoked keys as `revoked`. */
extern const struct operation op_key_revoke_all;

#endif
