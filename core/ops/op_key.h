/*
 * op_key: API keys.
 *
 * A key that is restricted to a domain manages only those that are restricted to it as well, so
 * that it cannot get itself more than it has. Who manages keys over the public API sees the valid
 * ones alone.
 */
#ifndef POSTERN_OPS_OP_KEY_H
#define POSTERN_OPS_OP_KEY_H

#include "core/ops/op.h"

struct op_key {
	const char *company_id;
	const char *name;
	const char *scopes;    /* words, with commas between; NULL: sending and reading */
	const char *domain;    /* restricted to this one: its name, */
	const char *domain_id; /* or its id; NULL: to none */
	enum op_flag valid;    /* of a list: the valid ones alone */
	const char *id;        /* one of several, */
	struct op_items keys;  /* which these are */
};

enum { OP_KEYS_MAX = 1000 };

/* Gives the key, with its `token`, which is shown only now. */
extern const struct operation op_key_create;
/* Gives keys, the newest first. */
extern const struct operation op_key_list;
extern const struct operation op_key_get;
/* Gives the key. */
extern const struct operation op_key_rename;
/* Gives the key. */
extern const struct operation op_key_revoke;
/* Revokes several keys, given by their ids. The command names a company instead, and perhaps a
 * domain: then all valid keys of it are revoked, in steps. A key that is not there, or was revoked
 * before, is skipped. Gives how many were revoked, as `revoked`. */
extern const struct operation op_key_revoke_all;

#endif
