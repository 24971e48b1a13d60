/*
 * postconf: what the local Postfix is configured to: its parameters, and the
 * domains that it has as its own.
 *
 * Each question runs a program of Postfix, postconf(1) or postmap(1), and
 * blocks until its end, for ten seconds at most: for commands, start and reload
 * only. config_dir is the configuration folder of the Postfix instance; "" or
 * NULL: Postfix's default.
 */
#ifndef POSTERN_POSTFIX_POSTCONF_H
#define POSTERN_POSTFIX_POSTCONF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/strv.h"

/* The values of n parameters, with what they refer to put in (postconf -x).
 * Those that Postfix does not know are "". The caller frees each value.
 * ERR_CONFIG when there is no Postfix, or no such configuration. */
int postconf_read(const char *config_dir, const char *const *names, size_t n, char **values_r,
	struct err *err);

/* Where Postfix asks postern-milter: sets milter.socket, if it is empty, to
 * postern/milter.sock in the queue folder of submission.postfix_config. When
 * Postfix cannot be asked it is the usual queue folder, and -1. */
struct conf;
int postconf_find_milter_socket(struct conf *conf, struct err *err);
/* Where Postfix asks postern-auth: the same, and sets auth.socket, if it is empty, to
 * auth.sock beside it. */
int postconf_find_auth_socket(struct conf *conf, struct err *err);

/* All values of n parameters that are not empty: of main.cf, and where a
 * service in master.cf has its own. Appended to the list of each. */
int postconf_values(const char *config_dir, const char *const *names, size_t n, struct strv *values,
	struct err *err);

/* Where services in master.cf have parameters of their own, of those that the n
 * patterns name (`SERVICE/TYPE/NAME`, each of which may be `*`): lines of
 * `service/type/name = value`, appended. */
int postconf_services(const char *config_dir, const char *const *patterns, size_t n,
	struct strv *lines, struct err *err);

/* The next item of a list, without `!` before it, which turns *excepted; the
 * text moves on behind it. NULL at its end. What is in braces is one item. The
 * caller frees it. */
char *postconf_item(const char **text, bool *excepted);

/* What the first of the tables that has the key says: 1 and a new string, 0, or
 * -1 when a table before that cannot be asked. */
int postconf_look_up(const char *config_dir, const char *tables, const char *key, char **answer_r,
	struct err *err);

/* The domains of Postfix: those in mydestination, myorigin, and the virtual and
 * relay domains, in the files and tables that they name. In a list the first
 * item that fits decides, and `!` excepts what fits (postconf(5),
 * mydestination). Names are compared in the form of addr_domain_normalize(). */
struct postconf_domains;

/* Reads the lists, with the errors of postconf_read(). Where a list cannot be
 * read to its end, whatever asks about the rest fails. */
int postconf_domains_read(
	const char *config_dir, struct postconf_domains **domains_r, struct err *err);
void postconf_domains_free(struct postconf_domains *domains);
DEFINE_CLEANUP(postconf_domains, postconf_domains_free)

/* Whether the normalized name is one of them: 1, and *parameter_r names the
 * list; 0; or -1 when a file or a table cannot be asked. */
int postconf_domains_find(const struct postconf_domains *domains, const char *name,
	const char **parameter_r, struct err *err);

/* The same of a Postfix that may not be there, which has none: who may add a
 * domain that is Postfix's own has to say its policy, since people and programs
 * may be sending as it. */
int postconf_has_domain(
	const char *config_dir, const char *name, const char **parameter_r, struct err *err);

/* All of them in a new string, for postconf_names_have(). ERR_CONFIG when they
 * are not known by their names: a list has a table or a pattern, or cannot be
 * read. */
int postconf_domains_names(const struct postconf_domains *domains, char **names_r, struct err *err);

/* Whether the name is among names, which blanks and commas separate: in the
 * letter case of either, or normalized. */
bool postconf_names_have(const char *names, const char *name);

#endif
