/*
 * dkim_signer: the milter that signs with DKIM, OpenDKIM or rspamd: its private keys, its tables,
 * and its reload.
 *
 * The store decides which keys sign. The tables get them as a block between two comments; all other
 * lines are kept. Keys are created by openssl(1), which every Debian with TLS certificates has;
 * opendkim-genkey, from a different package than OpenDKIM, only calls it.
 */
#ifndef POSTERN_CLI_DKIM_SIGNER_H
#define POSTERN_CLI_DKIM_SIGNER_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/store/company/store_dkim.h"

struct conf;
struct dkim_signer;

/* Finds the signer that the settings name, or that is installed, and reads its configuration.
 * ERR_CONFIG if there is none, or its configuration is one that must not be changed. */
int dkim_signer_open(const struct conf *conf, struct dkim_signer **signer_r, struct err *err);
void dkim_signer_close(struct dkim_signer *signer);
DEFINE_CLEANUP(dkim_signer, dkim_signer_close)

/* Such as `OpenDKIM`. */
const char *dkim_signer_name(const struct dkim_signer *signer);

/* True if it signs only mail from its list of client addresses, and so no mail that arrives by a
 * Unix-domain socket, such as from the service postern. */
bool dkim_signer_needs_address(const struct dkim_signer *signer);

/* Returns the shell commands that add the signer at the end of Postfix's two milter lists; NULL if
 * both have it, or Postfix cannot be asked. The caller frees it. */
char *dkim_signer_wiring(const struct dkim_signer *signer, const char *postfix_config);

/* Creates a 2048-bit key for the selector of the domain. Its file, which only the signer's user may
 * read, is in the folder of keys, which is created if missing; with replace it replaces an existing
 * file. *public_r is the value of p=; the caller frees it. */
int dkim_signer_make_key(struct dkim_signer *signer, const char *domain, const char *selector,
	bool replace, char **public_r, struct err *err);
/* The same with an existing private RSA key in the file at path, which is copied into the folder of
 * keys. Nothing is written if that folder has the same key under this name. */
int dkim_signer_import_key(struct dkim_signer *signer, const char *domain, const char *selector,
	const char *path, char **public_r, struct err *err);
/* Removes the file, if it exists. */
int dkim_signer_remove_key(
	struct dkim_signer *signer, const char *domain, const char *selector, struct err *err);

/* Lists key files that Postern created and that are not in `keys`: files with names as it chooses
 * them, and files in its lines of the tables. Of one domain, or all (NULL). Returns 0 or -1. */
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

/* Returns 1 if the file of a key exists and nobody else may read it; 0 with the reason, which the
 * caller frees; -1 on error. */
int dkim_signer_check_key(
	struct dkim_signer *signer, const struct dkim_key *key, char **why_r, struct err *err);

/* Returns 1 if the tables contain exactly the signing ones of these keys, 0 if not, -1 on error. */
int dkim_signer_check(
	struct dkim_signer *signer, const struct dkim_key_list *keys, struct err *err);
/* Writes the tables, if they differ, and reloads the signer. *note_r says what remains to be done,
 * or is NULL; the caller frees it. */
int dkim_signer_use(struct dkim_signer *signer, const struct dkim_key_list *keys, char **note_r,
	struct err *err);

#endif
