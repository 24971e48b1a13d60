/*
 * dkim_signer: the milter that signs (DKIM): OpenDKIM or rspamd. Its private keys, its tables, and
 * having it read them.
 *
 * The store is the truth about which keys sign: the tables get what is there, as a block of their
 * own between two comments, and keep all other lines. Keys are made by openssl(1), which every
 * Debian with TLS certificates has; opendkim-genkey, of another package than OpenDKIM, only calls
 * it.
 */
#ifndef POSTERN_CLI_DKIM_SIGNER_H
#define POSTERN_CLI_DKIM_SIGNER_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/store/store_dkim.h"

struct conf;
struct dkim_signer;

/* Finds the signer that the settings name, or that is there, and reads how it is set up.
 * ERR_CONFIG when there is none, or it is set up in a way that is not to be touched. */
int dkim_signer_open(const struct conf *conf, struct dkim_signer **signer_r, struct err *err);
void dkim_signer_close(struct dkim_signer *signer);
DEFINE_CLEANUP(dkim_signer, dkim_signer_close)

/* As `OpenDKIM`. */
const char *dkim_signer_name(const struct dkim_signer *signer);

/* Makes a key of 2048 bits for the selector of the domain, and its file, which only the signer's
 * user may read; with replace in the place of one that is there. *public_r gets what p= has; the
 * caller frees it. */
int dkim_signer_make_key(struct dkim_signer *signer, const char *domain, const char *selector,
	bool replace, char **public_r, struct err *err);
/* Removes the file, if it is there. */
int dkim_signer_remove_key(
	struct dkim_signer *signer, const char *domain, const char *selector, struct err *err);

/* Whether the file of a key is there and nobody else may read it: 1; 0 and why, which the caller
 * frees; -1. */
int dkim_signer_check_key(
	struct dkim_signer *signer, const struct dkim_key *key, char **why_r, struct err *err);

/* Whether the tables have these keys, those that sign: 1, 0 or -1. */
int dkim_signer_check(
	struct dkim_signer *signer, const struct dkim_key_list *keys, struct err *err);
/* Writes the tables, if they are not so, and has the signer read them. *note_r says what is left to
 * be done, or is NULL; the caller frees it. */
int dkim_signer_use(struct dkim_signer *signer, const struct dkim_key_list *keys, char **note_r,
	struct err *err);

#endif
