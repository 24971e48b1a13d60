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

/* Whether it signs only what comes from an address that is its own: not what comes by a Unix-domain
 * socket, as by the service postern. */
bool dkim_signer_needs_address(const struct dkim_signer *signer);

/* What a shell has to run so that Postfix asks it behind all that its two lists have; NULL when
 * both have it, or Postfix cannot be asked. A new string of lines. */
char *dkim_signer_wiring(const struct dkim_signer *signer, const char *postfix_config);

/* Makes a key of 2048 bits for the selector of the domain, and its file, which only the signer's
 * user may read, in the folder of keys, which is made if it is not there; with replace in the place
 * of one that is there. *public_r gets what p= has; the caller frees it. */
int dkim_signer_make_key(struct dkim_signer *signer, const char *domain, const char *selector,
	bool replace, char **public_r, struct err *err);
/* The same with a private RSA key that exists, in the file at path, of which the folder of keys
 * gets a copy. Nothing is written if that folder has the same key under this name. */
int dkim_signer_import_key(struct dkim_signer *signer, const char *domain, const char *selector,
	const char *path, char **public_r, struct err *err);
/* Removes the file, if it is there. */
int dkim_signer_remove_key(
	struct dkim_signer *signer, const char *domain, const char *selector, struct err *err);

/* The files of keys that Postern made and that are none of these: files of such names as it
 * chooses, and files that its lines in the tables name. Those of one domain, or all for NULL. 0 or
 * -1. */
struct dkim_file {
	char *domain;
	char *path;
};
struct dkim_file_list {
	struct dkim_file *items;
	size_t n;
};
int dkim_signer_leftovers(struct dkim_signer *signer, const struct dkim_key_list *keys,
	const char *domain, struct dkim_file_list *files_r, struct err *err);
void dkim_file_list_free(struct dkim_file_list *files);
#define _cleanup_dkim_files_ __attribute__((cleanup(dkim_file_list_free)))
/* Removes such a file. 0 or -1. */
int dkim_file_remove(const struct dkim_file *file, struct err *err);

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
